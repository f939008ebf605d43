import type { Delivery } from '../contract/resources/webhook-deliveries.ts'
import type { Subscription, Webhook } from '../contract/resources/webhooks.ts'
import type { DeliveryRow } from '../rows/rows.ts'
import type { OpenedWebhook } from './sealed-webhook.ts'

/** How much of a secret may be shown: enough to tell two apart, nothing to sign with. */
const SECRET_SHOWN_LENGTH = 10

/** What may be shown of a webhook: no secret, and of its headers the names. */
export function webhookOf({
  secret,
  previous_secret: _,
  previous_secret_ends_at: __,
  accepted_secret: ___,
  enabled_at: ____,
  ...row
}: OpenedWebhook): Webhook {
  return {
    ...row,
    events: row.events as Subscription[],
    headers: Object.keys(row.headers),
    secret_prefix: `${secret.slice(0, SECRET_SHOWN_LENGTH)}...`,
  }
}

/** A delivery as its owner sees it. */
export function deliveryOf(row: DeliveryRow): Delivery {
  return { ...row, event: row.event as Delivery['event'] }
}
