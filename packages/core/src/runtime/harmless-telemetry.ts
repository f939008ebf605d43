import type { Log, Runtime } from './runtime.ts'
import type { Telemetry } from './telemetry.ts'

const VERBS: Record<keyof Telemetry, true> = {
  accepted: true,
  replayed: true,
  refused: true,
  reached: true,
  refunded: true,
  committed: true,
  claimed: true,
  attempted: true,
  lookedUp: true,
  providerPaused: true,
  calledBack: true,
  received: true,
  deliveryAttempted: true,
  deliveryEnded: true,
  swept: true,
  threadDied: true,
}

/**
 * The runtime with a telemetry that cannot throw. It is told after commits, and between what a provider answered and
 * where that is written: whoever counts wrongly must not make of a stored message one that failed.
 */
export function withHarmlessTelemetry(runtime: Runtime): Runtime {
  const { telemetry, log } = runtime
  if (!telemetry) return runtime
  return {
    now: () => runtime.now(),
    elapsed: () => runtime.elapsed(),
    id: () => runtime.id(),
    bytes: (count) => runtime.bytes(count),
    random: () => runtime.random(),
    log,
    telemetry: harmless(telemetry, log),
  }
}

/** The first fault alone is logged: there may be thousands a second. */
function harmless(telemetry: Telemetry, log: Log): Telemetry {
  let isKnown = false
  const guarded =
    (verb: keyof Telemetry) =>
    (...told: unknown[]): void => {
      try {
        const tell = telemetry[verb] as (...told: unknown[]) => void
        tell.apply(telemetry, told)
      } catch (error) {
        if (!isKnown) log.error({ err: error, verb }, 'telemetry failed; it is not logged again')
        isKnown = true
      }
    }
  const verbs = Object.keys(VERBS) as (keyof Telemetry)[]
  return Object.fromEntries(verbs.map((verb) => [verb, guarded(verb)])) as unknown as Telemetry
}
