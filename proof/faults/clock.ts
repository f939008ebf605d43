import { setTimeout as pause } from 'node:timers/promises'
import { ask } from '../stage/ask.ts'
import { until } from '../stage/until.ts'
import { healthOf } from './health.ts'
import { injectionMissing } from './inject.ts'
import type { Scenario, Scene } from './scenario.ts'

const HOUR_MS = 3_600_000
/** An Idempotency-Key is valid for 24 hours of the clock: a step of a whole day forward would end it. */
const DAY_MS = 23 * HOUR_MS

/** The limit for requests without credentials, which the traffic does not use. */
const LIMIT = { max: 20, window_s: 2 }
const WORK_MS = { full: 15_000, short: 500 }
const FINISH_MAX_MS = 60_000

/** Faults of the machine's clock. */
export const CLOCK: readonly Scenario[] = [
  jump('clock-hour-back', 'the clock is set back by an hour', -HOUR_MS),
  jump('clock-hour-forward', 'the clock is set forward by an hour', HOUR_MS),
  jump('clock-day-back', 'the clock is set back by a day', -24 * HOUR_MS),
  jump('clock-day-forward', 'the clock is set forward by 23 hours', DAY_MS),
]

function jump(name: string, title: string, ms: number): Scenario {
  return {
    name,
    title,
    missing: injectionMissing,
    injects: true,
    service: { env: { SVC_RATE_LIMIT_ANONYMOUS: `${LIMIT.max}/${LIMIT.window_s}` } },
    async play(scene) {
      await exhaust(scene, name)
      scene.injection.shiftClock(ms)
      await limitEnds(scene, name)
      await messagesEnd(scene, name)
      const { short, service, violations } = scene
      await pause(WORK_MS[short ? 'short' : 'full'])
      const health = await healthOf(service().url)
      const well = violations.rule('/health is ok on a working service')
      if (health?.status !== 'ok') well(`${name}: ${health?.status ?? 'no answer'}`)
    },
  }
}

function anonymous({ service }: Scene) {
  return ask(`${service().url}/api/v1/billing/packages`)
}

/** The bursts until one falls into a single window of the limit. */
const BURSTS_MAX = 20

/** Uses up a rate limit: with one request after another, a busy machine would spread them over several windows. */
async function exhaust(scene: Scene, name: string): Promise<void> {
  const limited = scene.violations.rule('a rate limit refuses requests above it')
  for (let i = 0; i < BURSTS_MAX; i++) {
    const burst = Array.from({ length: LIMIT.max + 1 }, () => anonymous(scene))
    if ((await Promise.all(burst)).some(({ status }) => status === 429)) return
  }
  limited(name)
}

/** A used-up limit ends with its window, for any step of the clock. */
async function limitEnds(scene: Scene, name: string): Promise<void> {
  const { violations, note } = scene
  const late = violations.rule('a rate limit ends after its window, for any step of the clock')
  const wrong = violations.rule('Retry-After is within the window of its limit')
  const from = performance.now()
  // Twice, because another window may have begun when the clock was set.
  const hasEnded = async () => {
    const reply = await anonymous(scene)
    const after = Number(reply.headers['retry-after'] ?? 0)
    if (after > LIMIT.window_s) wrong(`${name}: Retry-After: ${after}`)
    return reply.status === 200
  }
  const max_ms = 2_000 * LIMIT.window_s + 1_000
  if (!(await until(hasEnded, { max_ms, every_ms: 200 }))) return late(name)
  note(`the rate limit ended after ${Math.round(performance.now() - from)} ms`)
}

/** Messages accepted after the step reach their final status, and webhooks report it. */
async function messagesEnd(scene: Scene, name: string): Promise<void> {
  const { receiver, violations, short, note } = scene
  const stuck = violations.rule('messages are sent and reported, for any step of the clock')
  const enough = receiver.finished() + (short ? 20 : 200)
  const from = performance.now()
  const isEnough = () => receiver.finished() >= enough
  if (!(await until(isEnough, { max_ms: FINISH_MAX_MS, every_ms: 20 }))) {
    return stuck(`${name}: ${enough - receiver.finished()} of ${short ? 20 : 200} are missing`)
  }
  note(`messages continued within ${Math.round(performance.now() - from)} ms`)
}
