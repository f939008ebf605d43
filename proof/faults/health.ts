import { ask } from '../stage/ask.ts'
import { until } from '../stage/until.ts'
import type { Scene } from './scenario.ts'

const TELLS_MAX_MS = 30_000
const ASK_MAX_MS = 5_000

interface Health {
  status: string
  services: Record<string, string>
}

/** The body of `/health`; null without an answer. */
export async function healthOf(url: string): Promise<Health | null> {
  const reply = await ask(`${url}/health`, ASK_MAX_MS)
  return reply.status === 200 ? (JSON.parse(reply.text) as Health) : null
}

/** Waits until `/health` reports the given state of the database; a service that has ended is not checked. */
export async function expectHealth(
  { service, violations, note }: Scene,
  { database, name }: { database: 'ok' | 'error'; name: string },
): Promise<void> {
  const reported = violations.rule('/health reports whether the database takes writes')
  const from = performance.now()
  let last: Health | null = null
  const isTold = async () => {
    if (service().hasEnded()) return true
    last = await healthOf(service().url)
    return last !== null && (last.services.database === 'ok') === (database === 'ok')
  }
  const isReported = await until(isTold, { max_ms: TELLS_MAX_MS, every_ms: 100 })
  if (service().hasEnded()) return
  const said = (last as Health | null)?.services.database
  if (isReported) {
    return note(
      `/health said "database": "${said}" after ${Math.round(performance.now() - from)} ms`,
    )
  }
  reported(`${name}: "database" is ${said ?? 'not answered'}, not ${database}`)
}
