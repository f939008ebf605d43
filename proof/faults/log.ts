import { existsSync } from 'node:fs'
import { until } from '../stage/until.ts'
import { healthOf } from './health.ts'
import type { Scenario, Scene } from './scenario.ts'

/** Messages to accept without a log reader: they write more lines than a pipe can hold. */
const MESSAGES = { full: 1_500, short: 100 }
const ACCEPT_MAX_MS = 120_000

/** Faults of the log destination. */
export const LOG: readonly Scenario[] = [
  {
    name: 'log-full',
    title: 'the log goes to a full disk (svc serve > /dev/full)',
    missing: () => (existsSync('/dev/full') ? null : 'there is no /dev/full'),
    service: { log_to: 'full' },
    play: (scene) => workOn(scene, 'log-full'),
  },
  {
    name: 'log-unread',
    title: 'the log goes into a pipe without a reader',
    service: { log_to: 'unread' },
    play: (scene) => workOn(scene, 'log-unread'),
  },
]

/** The service continues as with a log reader; the SIGTERM that follows ends it cleanly. */
async function workOn(scene: Scene, name: string): Promise<void> {
  const { traffic, service, violations, short } = scene
  const stuck = violations.rule('a blocked log does not stop the service')
  const enough = traffic.accepted() + MESSAGES[short ? 'short' : 'full']
  const accepts = () => traffic.accepted() >= enough
  const isEnough = await until(accepts, { max_ms: ACCEPT_MAX_MS, every_ms: 20 })
  if (!isEnough) stuck(`${name}: requests are no longer accepted`)
  const health = await healthOf(service().url)
  if (health?.status !== 'ok') stuck(`${name}: /health is ${health?.status ?? 'not answered'}`)
}
