import { existsSync } from 'node:fs'
import { pause } from '../crash/stage.ts'
import { healthOf } from './health.ts'
import type { Scenario, Scene } from './scenario.ts'

/** So many messages are accepted with a log that takes nothing: more lines than a pipe holds. */
const MESSAGES = { full: 1_500, short: 100 }
const ACCEPT_MAX_MS = 120_000

/** What happens when nothing takes the log. */
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
    title: 'the log goes into a pipe that is not read',
    service: { log_to: 'unread' },
    play: (scene) => workOn(scene, 'log-unread'),
  },
]

/** The service works on as if its log were read; SIGTERM, which follows, ends it in order. */
async function workOn(scene: Scene, name: string): Promise<void> {
  const { traffic, service, violations, short } = scene
  const stuck = violations.rule('a log that takes nothing stops nothing')
  const enough = traffic.accepted() + MESSAGES[short ? 'short' : 'full']
  const until = performance.now() + ACCEPT_MAX_MS
  while (traffic.accepted() < enough && performance.now() < until) await pause(20)
  if (traffic.accepted() < enough) stuck(`${name}: requests are not accepted any more`)
  const health = await healthOf(service().url)
  if (health?.status !== 'ok') stuck(`${name}: /health says ${health?.status ?? 'nothing'}`)
}
