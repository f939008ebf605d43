import type { CoreEvent } from '@svc/core'
import { type api, type Endpoint, EVENTS, LIMITS } from '@svc/core/contract'
import { type DecodedCore, requireCapability } from '@svc/core/operate'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Authenticator, Identity } from '../admission/authenticator.ts'
import { tooBusy } from '../failures.ts'
import type { Handlers } from './mount.ts'

/** All requests of a process that wait. Each counts as load of the service. */
const WAITING_MAX = 500

interface Waiter {
  workspace_id: string
  /** The API key or session that asks. */
  credential: string
  ending: AbortController
}

/** An event in JSON, as lists and streams have it. */
export function eventJson({ event, data, id, created_at }: CoreEvent) {
  const schema: { encode(data: never): unknown } = EVENTS[event].data
  return { id, event, data: schema.encode(data as never) as Record<string, unknown>, created_at }
}

/** The handlers of the list of events. All waits end before the app closes. */
export function eventRoutes(
  app: FastifyInstance,
  core: DecodedCore,
  authenticator: Authenticator,
): Handlers<typeof api.events> {
  const waiting = new Set<Waiter>()
  app.addHook('preClose', async () => {
    for (const { ending } of waiting) ending.abort()
  })

  function assertRoom({ workspace_id, credential }: Omit<Waiter, 'ending'>): void {
    const ofWorkspace = [...waiting].filter((one) => one.workspace_id === workspace_id)
    const ofCredential = ofWorkspace.filter((one) => one.credential === credential)
    if (
      waiting.size >= WAITING_MAX ||
      ofWorkspace.length >= LIMITS.events_waiting_per_workspace ||
      ofCredential.length >= LIMITS.events_waiting_per_key
    ) {
      throw tooBusy()
    }
  }

  /** A credential that ended while its request waited gets no events. */
  async function assertHolds(request: FastifyRequest): Promise<void> {
    const { endpoint } = request.routeOptions.config
    const identity = await authenticator.identityOf(request, endpoint as Endpoint)
    if (identity?.kind === 'session') requireCapability(identity.role, 'read')
  }

  return {
    async list({ viewer, workspace_id, identity, query: { after, wait }, reply }) {
      const page = await core.eventPage(viewer, { after })
      if (wait === 0 || after === undefined || page.events.length > 0) return answerOf(page)
      const waiter = { workspace_id, credential: nameOf(identity), ending: new AbortController() }
      assertRoom(waiter)
      const { signal } = waiter.ending
      const end = () => waiter.ending.abort()
      const timer = setTimeout(end, wait * 1000)
      waiting.add(waiter)
      reply.raw.once('close', end)
      try {
        const found = await core.eventPage(viewer, { after: page.next_after, signal })
        if (found.events.length > 0) await assertHolds(reply.request)
        return answerOf(found)
      } finally {
        clearTimeout(timer)
        reply.raw.off('close', end)
        waiting.delete(waiter)
      }
    },
  }
}

function answerOf({ events, next_after }: { events: CoreEvent[]; next_after: string }) {
  return { events: events.map(eventJson), next_after }
}

function nameOf(identity: Identity | null): string {
  if (identity?.kind === 'api_key') return identity.api_key_id
  return identity?.kind === 'session' ? identity.session_hash : ''
}
