import type { Finding, Probe } from './conformance-probe.ts'
import { forge, type Mutation } from './mutations.ts'
import { type SignableEvent, type SignedDelivery, type SignOptions, sign } from './sign.ts'

/** One requirement on a receiver. */
export interface Check {
  readonly name: string
  /**
   * `must`: without it events are lost or forged. `should`: without it the receiver works, with a
   * risk.
   */
  readonly level: 'must' | 'should'
  /** One sentence: the requirement. */
  readonly description: string
  /** One sentence: how to fix a failure. */
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
