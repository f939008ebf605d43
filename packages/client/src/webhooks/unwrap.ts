import { SvcError } from '../errors.ts'
import type { HeaderSource, VerificationFailure } from '../generated/verdict.ts'
import { eventOf, type UnknownEvent, type WebhookEvent } from './event.ts'
import { type Secrets, verifyWebhook } from './verify.ts'

/** A delivery is not authentic: answer 403. `reason` says why, and the message what to check. */
export class WebhookVerificationError extends SvcError {
  override name = 'WebhookVerificationError'
  readonly reason: VerificationFailure | 'malformed_body'

  constructor(reason: VerificationFailure | 'malformed_body', hint: string) {
    super('webhook_not_verified', hint)
    this.reason = reason
  }
}

/** A verified event. */
export type UnwrappedEvent = WebhookEvent & {
  /** The id of the event, the same on every attempt: it shows repetitions. Null without `webhook-id`. */
  event_id: string | null
}

/**
 * Verifies a delivery and returns its event: `event` determines the type of `data`. A later version of the service may send
 * other values of `event`: acknowledge them.
 * @param raw the received bytes or text, not parsed and printed again.
 * @param secret the secret of the webhook; several secrets during a rotation. Without one no delivery is authentic.
 * @throws WebhookVerificationError if the delivery is not authentic, or older than `tolerance_s` (default: 300 s).
 */
export async function unwrapWebhook(
  raw: string | Uint8Array,
  headers: HeaderSource,
  secret: Secrets | undefined,
  options: { tolerance_s?: number | false | undefined; now?: Date | undefined } = {},
): Promise<UnwrappedEvent> {
  const verified = await verifyWebhook({ body: raw, headers, secret, ...options })
  if (!verified.ok) throw new WebhookVerificationError(verified.reason, verified.hint)
  const event = eventOf(raw)
  if (event) return { ...(event as UnknownEvent & WebhookEvent), event_id: verified.event_id }
  throw new WebhookVerificationError('malformed_body', 'The body must be JSON of event and data.')
}
