import type { View } from '../api-keys/viewer.ts'
import { SvcError } from '../contract/errors.ts'
import type { Delivery } from '../contract/resources/webhook-deliveries.ts'
import type { Subscription, Webhook, WebhookMode } from '../contract/resources/webhooks.ts'
import type { DeliveryRow, WebhookRow } from '../rows/rows.ts'
import { nextAttempt } from '../rules/delivery-times.ts'
import type { OpenedWebhook } from './sealed-webhook.ts'

/**
 * Returns the webhook if the view shows it. A test key sees webhooks of mode `test` only, and no view shows the hidden
 * webhooks of status callbacks.
 * @throws SvcError `not_found`, with the same text for a webhook that does not exist and for a hidden one.
 */
export function visibleWebhook<Row extends Pick<WebhookRow, 'mode' | 'callback_origin'>>(
  { livemode }: Pick<View, 'livemode'>,
  row: Row | null,
): Row {
  if (row && row.callback_origin === null && (livemode === undefined || row.mode === 'test')) {
    return row
  }
  throw new SvcError('not_found', 'Webhook not found')
}

/** @throws SvcError `forbidden` if a test key requests a mode with live events. */
export function checkMode(
  { livemode }: Pick<View, 'livemode'>,
  mode: WebhookMode | undefined,
): void {
  if (livemode === undefined || mode === undefined || mode === 'test') return
  throw new SvcError('forbidden', 'A test key manages webhooks with mode test only')
}

/** The shown part of a secret is long enough to distinguish secrets, and too short to sign. */
const SECRET_SHOWN_LENGTH = 10

/** The public record: it has no secret, and only the names of the headers. */
export function webhookOf({
  secret,
  previous_secret: _,
  previous_secret_ends_at: __,
  accepted_secret: ___,
  enabled_at: ____,
  waits_until: ______,
  callback_origin: _____,
  failed_attempts: _________,
  failing_since: _______,
  disabled_at: ________,
  notice: __________,
  ...row
}: OpenedWebhook): Webhook {
  return {
    ...row,
    events: row.events as Subscription[],
    headers: Object.keys(row.headers),
    secret_prefix: `${secret.slice(0, SECRET_SHOWN_LENGTH)}...`,
  }
}

/** The public record. */
export function deliveryOf(
  row: DeliveryRow,
  { waits_until }: Pick<WebhookRow, 'waits_until'>,
  now: Date,
): Delivery {
  return {
    ...row,
    ...nextAttempt(row, { waits_until, now }),
    event: row.event as Delivery['event'],
  }
}
