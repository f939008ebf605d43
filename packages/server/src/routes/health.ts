import type { Core } from '@svc/core'
import type { api } from '@svc/core/contract'
import type { Handlers } from './mount.ts'

/** How long the database may take to answer before it counts as down. */
const PING_MAX_MS = 2_000

export function healthRoutes(
  core: Core,
  { isClosing, now }: { isClosing: () => boolean; now: () => number },
): Handlers<typeof api.health> {
  return {
    async check() {
      const database = await databaseState(core)
      const queue = queueState(core)
      const status = database === 'ok' && queue === 'ok' ? 'ok' : 'degraded'
      // Rate counters are the only cache: rows that servers share, or in this process, which is answering.
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

function queueState(core: Core): 'ok' | 'paused' | 'stopped' {
  if (!core.isDispatching()) return 'stopped'
  return core.dispatch.isPaused() ? 'paused' : 'ok'
}

async function databaseState(core: Core): Promise<'ok' | 'error'> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error('the database did not answer')), PING_MAX_MS)
  })
  try {
    await Promise.race([core.ping(), late])
    return 'ok'
  } catch {
    return 'error'
  } finally {
    clearTimeout(timer)
  }
}
