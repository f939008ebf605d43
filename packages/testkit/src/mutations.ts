import { randomBytes } from 'node:crypto'
import { mintSecret } from '@svc/core/webhooks'
import { eventIdOf } from './fixture.ts'
import {
  deliveryOf,
  type SignableEvent,
  type SignedDelivery,
  type SignOptions,
  sign,
  signText,
} from './sign.ts'

/** A change of a genuine delivery. A receiver must refuse the changed delivery. */
export type Mutation =
  | 'wrong_secret'
  | 'flipped_byte'
  | 'reserialised'
  | 'truncated_body'
  | 'missing_signature'
  | 'empty_signature'
  | 'truncated_signature'
  | 'uppercase_signature'
  | 'stale_timestamp'
  | 'future_timestamp'
  | 'swapped_id'
  | 'wrong_event'
  | 'invalid_json'
  | 'oversized'

/** The description of one mutation. */
export interface MutationDefinition {
  /** The change, in one sentence for people. */
  readonly description: string
  /**
   * `any`: every receiver that verifies can detect it. `standard`: a receiver detects it only by
   * `webhook-signature`, because `X-Svc-Signature` covers neither time nor id. `content`: the
   * signature is valid, but the signed content is not.
   */
  readonly seen_by: 'any' | 'standard' | 'content'
}

/** Larger than any tolerance that a receiver should have. */
const TOO_FAR_MS = 3_600_000

/** Far larger than any event. */
const OVERSIZED_BYTES = 8 * 1024 * 1024

/** Every mutation with its description. */
export const MUTATIONS: { readonly [M in Mutation]: MutationDefinition } = {
  wrong_secret: { description: 'Signed with another secret.', seen_by: 'any' },
  flipped_byte: { description: 'One bit of the body was changed after signing.', seen_by: 'any' },
  reserialised: {
    description:
      'The body was parsed and serialised again with spaces: the same meaning, other bytes.',
    seen_by: 'any',
  },
  truncated_body: { description: 'The second half of the body is missing.', seen_by: 'any' },
  missing_signature: { description: 'There is no signature.', seen_by: 'any' },
  empty_signature: { description: 'The signatures are empty.', seen_by: 'any' },
  truncated_signature: { description: 'The signatures are cut in half.', seen_by: 'any' },
  uppercase_signature: { description: 'The signatures are in upper case.', seen_by: 'any' },
  stale_timestamp: {
    description: 'A genuine delivery from an hour ago: a replay.',
    seen_by: 'standard',
  },
  future_timestamp: {
    description: 'Signed with a time one hour in the future.',
    seen_by: 'standard',
  },
  swapped_id: { description: 'The webhook-id is that of another event.', seen_by: 'standard' },
  wrong_event: {
    description: 'X-Svc-Event names another kind than the signed body.',
    seen_by: 'content',
  },
  invalid_json: { description: 'The body is signed, but not JSON.', seen_by: 'content' },
  oversized: { description: '8 MB, signed with another secret.', seen_by: 'any' },
}

/**
 * Returns the delivery of an event with one mutation.
 *
 * @example
 * const forged = forge(fixture('message.delivered'), 'flipped_byte', { secret })
 * const { status } = await fetch(forged.toRequest(url)) // 403 from a receiver that verifies
 */
export function forge(
  event: SignableEvent,
  mutation: Mutation,
  options: SignOptions,
): SignedDelivery {
  return FORGERIES[mutation](event, { ...options, at: options.at ?? new Date() })
}

type Forgery = (event: SignableEvent, options: SignOptions & { at: Date }) => SignedDelivery

const FORGERIES: { readonly [M in Mutation]: Forgery } = {
  wrong_secret: (event, options) => sign(event, { ...options, ...otherSecret() }),
  flipped_byte: withBody((body) => {
    const at = body.lastIndexOf('"') - 1
    return Buffer.from(body.map((byte, i) => (i === at ? byte ^ 1 : byte)))
  }),
  reserialised: withBody((body) => Buffer.from(JSON.stringify(JSON.parse(`${body}`), null, 2))),
  truncated_body: withBody((body) => body.subarray(0, body.length >> 1)),
  missing_signature: withSignatures(() => null),
  empty_signature: withSignatures((value) => /^(?:sha256=|v1,|)/.exec(value)?.[0] ?? ''),
  truncated_signature: withSignatures((value) => value.slice(0, (value.length >> 1) + 4)),
  uppercase_signature: withSignatures((value) => value.toUpperCase()),
  stale_timestamp: (event, options) => sign(event, shifted(options, -TOO_FAR_MS)),
  future_timestamp: (event, options) => sign(event, shifted(options, TOO_FAR_MS)),
  swapped_id: (event, options) =>
    withHeader(sign(event, options), 'webhook-id', eventIdOf('of another event', event.data)),
  wrong_event: (event, options) =>
    withHeader(sign(event, options), 'X-Svc-Event', otherThan(event.event)),
  invalid_json: (event, options) => signText('{"event":', event, options),
  oversized: (event, options) => {
    const text = JSON.stringify({ event: event.event, data: 'x'.repeat(OVERSIZED_BYTES) })
    return signText(text, event, { ...options, ...otherSecret() })
  },
}

const SIGNATURES = ['X-Svc-Signature', 'X-Svc-Signature-256', 'webhook-signature']

function withBody(change: (body: Buffer) => Buffer): Forgery {
  return (event, options) => {
    const { headers, body } = sign(event, options)
    return deliveryOf(headers, change(body))
  }
}

function withSignatures(change: (value: string) => string | null): Forgery {
  return (event, options) => {
    const { headers, body } = sign(event, options)
    const changed = Object.entries(headers).flatMap(([name, value]) => {
      const other = SIGNATURES.includes(name) ? change(value) : value
      return other === null ? [] : [[name, other] as const]
    })
    return deliveryOf(Object.fromEntries(changed), body)
  }
}

function withHeader(
  { headers, body }: SignedDelivery,
  name: string,
  value: string,
): SignedDelivery {
  return deliveryOf({ ...headers, [name]: value }, body)
}

function otherSecret(): Pick<SignOptions, 'secret' | 'previous_secret'> {
  return { secret: mintSecret(randomBytes), previous_secret: null }
}

function shifted<Options extends { at: Date }>(options: Options, by_ms: number): Options {
  return { ...options, at: new Date(options.at.getTime() + by_ms) }
}

function otherThan(event: string): string {
  return event === 'message.failed' ? 'message.delivered' : 'message.failed'
}
