import type { IncomingMessage } from 'node:http'
import type { CallbackReading } from '@svc/core'
import { invalid, SvcError } from '@svc/core/contract'
import type { DecodedCore } from '@svc/core/operate'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Admission } from '../admission/admission.ts'
import { createTurns, type Turns } from '../admission/gate.ts'
import { clientKey, type State } from '../admission/rate-limiter.ts'
import { acceptRaw } from '../routes/mount.ts'

/**
 * The routes that providers call to report receipts, to deliver messages of recipients, and to verify this service. A
 * callback is never refused for load or by a limit, because many providers do not repeat it. A wrong signature counts
 * in the bucket of requests without credentials; after the bucket is used up, the client's bodies wait for turns. Each
 * provider has its own route, so that a body is read only for an existing provider, up to this provider's limit.
 */
export function serveCallbacks(
  app: FastifyInstance,
  admission: Admission,
  { providers }: DecodedCore,
  { public_url, now }: { public_url: () => string; now: () => number },
): void {
  const bodies = createUnfinishedBodies()
  const forging = createForgingClients(now)
  app.register(async (scope) => {
    acceptRaw(scope)
    for (const [provider, bytes] of providers.callbackLimits()) {
      scope.route({
        method: ['GET', 'POST'],
        // A GET of a provider may report a receipt, and HEAD must change nothing.
        exposeHeadRoute: false,
        url: `/callbacks/${provider}`,
        config: { page: 'exempt' },
        bodyLimit: bytes,
        onRequest: (request, reply) => admission.admitVisitor('exempt', request, reply),
        async preParsing(request, _reply, payload) {
          await forging.turn(clientKey(request))
          const { 'content-length': length = bytes } = request.headers
          const reserved = request.method === 'GET' ? 0 : Math.min(Number(length), bytes)
          bodies.reserve(request.raw, clientKey(request), reserved)
          return payload
        },
        handler: async (request, reply) => {
          const body = request.body instanceof Uint8Array ? request.body : new Uint8Array()
          const url = public_url() + request.url
          const headers = plainHeaders(request)
          const method = request.method as 'GET' | 'POST'
          const reading = await admission.during(() =>
            providers.callback(provider, { method, url, headers, body }),
          )
          if (reading.type === 'forged') {
            forging.note(clientKey(request), await admission.noteBadSignature(request, reply))
          }
          return answer(reading, reply)
        },
      })
    }
    scope.route({
      method: ['GET', 'POST'],
      exposeHeadRoute: false,
      url: '/callbacks/:provider',
      config: { page: 'exempt' },
      async onRequest(request, reply) {
        await admission.admitVisitor('exempt', request, reply)
        throw new SvcError('not_found', 'There is no such provider')
      },
      handler: () => {},
    })
  })
}

function answer(reading: CallbackReading, reply: FastifyReply): FastifyReply {
  switch (reading.type) {
    case 'forged':
      throw new SvcError('forbidden', 'The signature does not match')
    case 'unreadable':
      throw invalid('', `The callback could not be read: ${reading.reason}`)
    case 'read':
      return reading.answer
        ? reply.type(reading.answer.content_type).send(reading.answer.body)
        : reply.code(200).send()
  }
}

/** Leaves out repeated headers, because a signature check must not depend on the choice between two values. */
function plainHeaders({ headers }: FastifyRequest): Record<string, string | undefined> {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [
      name,
      typeof value === 'string' ? value : undefined,
    ]),
  )
}

/** The maximum number of remembered clients. One more client replaces the oldest. */
const CLIENTS_MAX = 10_000

/**
 * The clients whose bad signatures used up their bucket of requests without credentials. Until the bucket's window ends,
 * one body of such a client is read and checked in each turn of the event loop, so that forged bodies delay other requests
 * by at most one check. No request is refused: the provider itself may call from the same address, for example through one
 * proxy, and often reports an event only once.
 */
interface ForgingClients {
  /** Records a bad signature, with the state of the client's bucket after it. */
  note(client: string, bucket: Pick<State, 'remaining' | 'reset_s'>): void
  /** Resolves when the body of a request of this client may be read; undefined if it may be read at once. */
  turn(client: string): Promise<void> | undefined
}

/** @param now time in milliseconds */
function createForgingClients(now: () => number): ForgingClients {
  const forging = new Map<string, { turns: Turns; until: number }>()
  return {
    note(client, { remaining, reset_s }) {
      if (remaining > 0) return
      const until = now() + reset_s * 1000
      const known = forging.get(client)
      if (known) {
        known.until = until
        return
      }
      const [oldest] = forging.keys()
      if (forging.size >= CLIENTS_MAX && oldest !== undefined) forging.delete(oldest)
      forging.set(client, { turns: createTurns({ per_turn: 1 }), until })
    },
    turn(client) {
      const found = forging.get(client)
      if (!found) return undefined
      if (found.until > now()) return found.turns.next()
      forging.delete(client)
      return undefined
    },
  }
}

const MB = 1024 * 1024

/** The maximum number of bytes that the unfinished bodies of one client, and of all clients, may hold. */
const BOUNDS = { client: 8 * MB, all: 64 * MB }

interface Unfinished {
  request: IncomingMessage
  client: string
  bytes: number
}

/**
 * Bounds the memory that bodies hold while they arrive, on routes that refuse no request for load. When a new body
 * would exceed the bounds of its client or of all clients, the connections with the oldest bodies are closed: the body
 * of a working client arrives within milliseconds, so the oldest body has stalled.
 */
function createUnfinishedBodies(bounds = BOUNDS): {
  /** Reserves room for a body of at most `bytes`, until it has arrived or its connection is closed. */
  reserve(request: IncomingMessage, client: string, bytes: number): void
} {
  // In the order of arrival, oldest first.
  const unfinished = new Set<Unfinished>()

  function cutBeyond(max: number, isCounted: (one: Unfinished) => boolean): void {
    const counted = [...unfinished].filter(isCounted)
    let held = counted.reduce((sum, { bytes }) => sum + bytes, 0)
    for (const one of counted) {
      if (held <= max) return
      held -= one.bytes
      unfinished.delete(one)
      one.request.destroy()
    }
  }

  return {
    reserve(request, client, bytes) {
      const one = { request, client, bytes }
      const finish = () => unfinished.delete(one)
      request.once('end', finish).once('close', finish)
      cutBeyond(bounds.client - bytes, (other) => other.client === client)
      cutBeyond(bounds.all - bytes, () => true)
      unfinished.add(one)
    },
  }
}
