import type { CallbackReading } from '@svc/core'
import { invalid, SvcError } from '@svc/core/contract'
import type { DecodedCore } from '@svc/core/operate'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Admission } from '../admission/admission.ts'
import { clientKey } from '../admission/rate-limiter.ts'
import { acceptRaw } from '../requests/body-parsers.ts'
import { createForgingClients } from './forging-clients.ts'
import { createUnfinishedBodies } from './unfinished-bodies.ts'

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
