import type { Log, Runtime } from './runtime.ts'
import type { Telemetry } from './telemetry.ts'

const VERBS: Record<keyof Telemetry, true> = {
  accepted: true,
  replayed: true,
  refused: true,
  codeStarted: true,
  codeRefused: true,
  codeChecked: true,
  codeApproved: true,
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
 * The runtime with a telemetry that cannot throw. The service calls telemetry after commits, and between a provider's
 * answer and the commit of that answer. An error in telemetry must not fail a stored message.
 */
export function withHarmlessTelemetry(runtime: Runtime): Runtime {
  const { telemetry, log, network } = runtime
  if (!telemetry) return runtime
  return {
    now: () => runtime.now(),
    elapsed: () => runtime.elapsed(),
    id: () => runtime.id(),
    bytes: (count) => runtime.bytes(count),
    random: () => runtime.random(),
    log,
    telemetry: harmless(telemetry, log),
    network,
  }
}

/** Logs only the first error, because there may be thousands a second. */
function harmless(telemetry: Telemetry, log: Log): Telemetry {
  let isKnown = false
  const guarded =
    (verb: keyof Telemetry) =>
    (...parameters: unknown[]): void => {
      try {
        const report = telemetry[verb] as (...parameters: unknown[]) => void
        report.apply(telemetry, parameters)
      } catch (error) {
        if (!isKnown) log.error({ err: error, verb }, 'telemetry failed; it is not logged again')
        isKnown = true
      }
    }
  const verbs = Object.keys(VERBS) as (keyof Telemetry)[]
  return Object.fromEntries(verbs.map((verb) => [verb, guarded(verb)])) as unknown as Telemetry
}
