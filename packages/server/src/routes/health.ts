import type { api } from '@svc/core/contract'
import { type DecodedCore, within } from '@svc/core/operate'
import type { Handlers } from './mount.ts'

/** If the database does not answer within this time, it counts as down. */
const PING_MAX_MS = 2_000

export function healthRoutes(
  core: DecodedCore,
  { isClosing, now }: { isClosing: () => boolean; now: () => number },
): Handlers<typeof api.health> {
  return {
    async check() {
      const database = await databaseHealth(core)
      const queue = queueState(core)
      const status = database === 'ok' && queue === 'ok' ? 'ok' : 'degraded'
      // The rate counters are the only cache. They are in shared rows of the database, or in this process, which runs.
      const cache = core.sharesCounters ? database : 'ok'
      return { status, timestamp: new Date(now()), services: { database, cache, queue } }
    },
    live: () => ({ status: 'ok' }),
    async ready({ reply }) {
      const status = isClosing() ? 'stopping' : await databaseState(core)
      if (status !== 'ok') reply.code(503)
      return { status }
    },
  }
}

function queueState(core: DecodedCore): 'ok' | 'paused' | 'stopped' {
  if (!core.isDispatching()) return 'stopped'
  return core.dispatch.isPaused() ? 'paused' : 'ok'
}

/** A database that cannot write its log back still takes requests, so that only the operator must know. */
async function databaseHealth(core: DecodedCore): Promise<string> {
  const state = await databaseState(core)
  return state === 'ok' && core.databaseFault() !== null ? 'checkpoint_error' : state
}

async function databaseState(core: DecodedCore): Promise<'ok' | 'error'> {
  try {
    return await within<'ok' | 'error'>(
      PING_MAX_MS,
      core.ping().then(() => 'ok' as const),
      () => 'error',
    )
  } catch {
    return 'error'
  }
}
