import type { Finding, Probe } from './conformance-probe.ts'
import { forge, type Mutation } from './mutations.ts'
import { type SignableEvent, type SignedDelivery, type SignOptions, sign } from './sign.ts'

/** One requirement on a receiver. */
export interface Check {
  readonly name: string
  /**
   * `must`: if it fails, events are lost, or forged events are accepted. `should`: if it fails,
   * the receiver works, but with a risk.
   */
  readonly level: 'must' | 'should'
  /** The requirement, in one sentence. */
  readonly description: string
  /** How to fix a failure, in one sentence. */
  readonly mend: string
  /** Later checks are skipped when a gate fails, because their findings would mean nothing. */
  readonly is_gate?: boolean
  /** The option that the check requires. */
  readonly needs?: 'previous_secret' | 'observe'
  run(probe: Probe): Promise<Finding>
}

/** Signs a delivery with the receiver's secret. */
export function signed(
  { secret }: Probe,
  event: SignableEvent,
  options: Partial<SignOptions> = {},
): SignedDelivery {
  return sign(event, { secret, ...options })
}

/** Creates a delivery that must be refused. */
export function forged(probe: Probe, mutation: Mutation): SignedDelivery {
  return forge(probe.fresh('message.delivered'), mutation, { secret: probe.secret })
}

/** Returns the first finding among the items. */
export async function firstOf<T>(
  items: readonly T[],
  look: (item: T) => Promise<Finding>,
): Promise<Finding> {
  for (const item of items) {
    const finding = await look(item)
    if (finding !== null) return finding
  }
  return null
}
