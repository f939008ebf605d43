import type { Finding, Probe } from './conformance-probe.ts'
import { forge, type Mutation } from './mutations.ts'
import { type SignableEvent, type SignedDelivery, type SignOptions, sign } from './sign.ts'

/** One thing that a receiver is to get right. */
export interface Check {
  readonly name: string
  /** `must`: events get lost or forged without it. `should`: it works, until a bad day. */
  readonly level: 'must' | 'should'
  /** One sentence: what is looked at. */
  readonly description: string
  /** One sentence: how to mend what is wrong. */
  readonly mend: string
  /** Where it fails, what the later checks would say means nothing. */
  readonly is_gate?: boolean
  /** What must be given for it to run. */
  readonly needs?: 'previous_secret' | 'observe'
  run(probe: Probe): Promise<Finding>
}

/** A delivery with the receiver's secret. */
export function signed(
  { secret }: Probe,
  event: SignableEvent,
  options: Partial<SignOptions> = {},
): SignedDelivery {
  return sign(event, { secret, ...options })
}

/** A delivery that must be refused. */
export function forged(probe: Probe, mutation: Mutation): SignedDelivery {
  return forge(probe.fresh('message.delivered'), mutation, { secret: probe.secret })
}

/** The finding of the first item that has one. */
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
