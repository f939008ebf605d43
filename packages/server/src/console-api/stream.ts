import { once } from 'node:events'
import { PassThrough } from 'node:stream'
import type { CoreEvent } from '@svc/core'
import { endpoint, mayDo, SvcError, uuid } from '@svc/core/contract'
import type { DecodedCore } from '@svc/core/operate'
import type { FastifyInstance, FastifyReply } from 'fastify'
import * as z from 'zod'
import type { Authenticator } from '../admission/authenticator.ts'
import { tooBusy } from '../failures.ts'
import { eventJson } from '../routes/events.ts'
import type { Handlers } from '../routes/mount.ts'
import { chosenMode } from './access.ts'

/** Far below the minute after which many proxies close a silent connection. The session is checked again each time. */
const HEARTBEAT_MS = 15_000
/** An event needs a check of the session that is not older than this. */
const CHECKED_MS = 1_000
/** How long a browser waits before it connects again. */
const RETRY_MS = 2_000
/** A person has a few tabs, a workspace a few people. More streams are a fault of a program. */
const STREAMS_PER_PERSON = 10
const STREAMS_PER_WORKSPACE = 30
/** All streams of a process: each waiting one needs about 20 kB. */
const STREAMS_MAX = 1_000

/** The live events of the console. EventSource sends no headers, so workspace and mode are in the query. */
export const streamEndpoints = {
  open: endpoint({
    method: 'GET',
    path: '/api/stream',
    auth: 'jwt',
    needs: 'read',
    rate: 'general',
    status: 200,
    in_pieces: true,
    query: z.object({ workspace: uuid.optional(), mode: z.enum(['live', 'test']).optional() }),
    data: z.object({}),
    summary: 'Stream the events of the workspace',
  }),
} as const

/** The handler that streams events; it ends all streams before the app closes. */
export function streamHandlers(
  app: FastifyInstance,
  core: DecodedCore,
  authenticator: Authenticator,
  { heartbeat_ms = HEARTBEAT_MS, checked_ms = CHECKED_MS, streams_max = STREAMS_MAX } = {},
): Handlers<typeof streamEndpoints> {
  /** The oldest first. */
  const open = new Map<PassThrough, StreamOwner>()
  app.addHook('preClose', async () => {
    for (const stream of open.keys()) stream.end()
  })

  /**
   * Makes room for a stream. In a full workspace the person with the most streams loses the oldest one, and in a full process so
   * does the workspace with the most, unless the new stream has as large a share. @throws SvcError 429.
   */
  function makeRoom(owner: StreamOwner): void {
    const all = [...open.values()]
    const ofWorkspace = all.filter(({ workspace_id }) => workspace_id === owner.workspace_id)
    const ofPerson = ofWorkspace.filter(({ user_id }) => user_id === owner.user_id)
    if (ofPerson.length >= STREAMS_PER_PERSON) throw tooBusy()
    if (ofWorkspace.length >= STREAMS_PER_WORKSPACE) {
      const most = largest(ofWorkspace, ({ user_id }) => user_id)
      if (most.length <= ofPerson.length + 1) throw tooBusy()
      endOldest(most)
    } else if (all.length >= streams_max) {
      const most = largest(all, ({ workspace_id }) => workspace_id)
      if (most.length <= ofWorkspace.length + 1) throw tooBusy()
      endOldest(largest(most, ({ user_id }) => user_id))
    }
  }

  function endOldest([oldest]: readonly StreamOwner[]): void {
    for (const [stream, owner] of open) {
      if (owner !== oldest) continue
      open.delete(stream)
      // The browser connects again.
      stream.end()
      return
    }
  }

  async function mayContinue({ request }: FastifyReply, workspaceId: string): Promise<boolean> {
    try {
      const credential = authenticator.consoleCredentialOf(request)
      const identity = credential && (await authenticator.identify(credential, request))
      if (identity?.kind !== 'session') return false
      return identity.workspace_id === workspaceId && mayDo(identity.role, 'read')
    } catch (error) {
      // A database that fails for a moment ends no stream; an ended session does.
      return !(error instanceof SvcError)
    }
  }

  return {
    open({ workspace_id, identity, reply }) {
      const user_id = identity?.kind === 'session' ? identity.user_id : ''
      const owner = { workspace_id, user_id }
      makeRoom(owner)
      const { request } = reply
      const stream = new PassThrough()
      const ending = new AbortController()
      open.set(stream, owner)
      stream.write(`retry: ${RETRY_MS}\n\n`)
      let checked_at = performance.now()
      /** Ends the stream of an ended session or a removed member; returns whether it continues. */
      async function check(): Promise<boolean> {
        checked_at = performance.now()
        const continues = await mayContinue(reply, workspace_id)
        if (!continues) stream.end()
        return continues && !stream.writableEnded
      }
      const heartbeat = setInterval(async () => {
        if (await check()) stream.write(': still here\n\n')
      }, heartbeat_ms)
      stream.once('close', () => {
        open.delete(stream)
        clearInterval(heartbeat)
        ending.abort()
      })
      stream.once('finish', () => ending.abort())
      const last = request.headers['last-event-id']
      const filter = {
        workspace_id,
        after: typeof last === 'string' && last !== '' ? last : undefined,
        isTest: chosenMode(request) === 'test',
        signal: ending.signal,
        mayWrite: async () => performance.now() - checked_at < checked_ms || check(),
      }
      pipe(core, stream, filter).catch((error) => {
        request.log.warn({ err: error, request_id: request.id }, 'a stream of events failed')
        // The browser connects again and continues behind the last event.
        stream.end()
      })
      reply.header('content-type', 'text/event-stream; charset=utf-8')
      reply.header('x-accel-buffering', 'no')
      return stream
    },
  }
}

/** The person and the workspace of a stream. */
interface StreamOwner {
  workspace_id: string
  user_id: string
}

/** The streams of the person or the workspace with the most of them. */
function largest(
  streams: readonly StreamOwner[],
  keyOf: (owner: StreamOwner) => string,
): readonly StreamOwner[] {
  const groups = new Map<string, StreamOwner[]>()
  for (const one of streams) groups.set(keyOf(one), [...(groups.get(keyOf(one)) ?? []), one])
  return [...groups.values()].reduce((a, b) => (b.length > a.length ? b : a), [])
}

interface Filter {
  workspace_id: string
  after: string | undefined
  isTest: boolean
  signal: AbortSignal
  /** Whether the person may still read events. */
  mayWrite: () => Promise<boolean>
}

/** Writes events as the client reads them: a slow client delays only itself, and the others wait in the database. */
async function pipe(
  core: DecodedCore,
  stream: PassThrough,
  { isTest, mayWrite, ...filter }: Filter,
): Promise<void> {
  const { signal } = filter
  try {
    for await (const event of core.events(filter)) {
      if (signal.aborted) return
      if (isTest && event.data.livemode) continue
      if (!(await mayWrite())) return
      if (!stream.write(textOf(event))) await once(stream, 'drain', { signal })
    }
  } catch (error) {
    if (signal.aborted) return
    if (!(error instanceof SvcError) || filter.after === undefined) throw error
    // Events behind the client's position are missing: its pages load again.
    stream.write('event: reset\ndata: {}\n\n')
    return pipe(core, stream, { ...filter, after: undefined, isTest, mayWrite })
  }
}

function textOf(event: CoreEvent): string {
  return `id: ${event.cursor}\nevent: event\ndata: ${JSON.stringify(eventJson(event))}\n\n`
}
