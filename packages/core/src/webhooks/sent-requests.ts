import type { DeliveryAttemptRow, DeliveryRow, WebhookRow } from '../rows/rows.ts'
import { FORMATS } from '../rules/formats/formats.ts'
import type { Runtime } from '../runtime/runtime.ts'
import type { Sealer } from '../secrets/sealer.ts'
import type { Storage } from '../storage/ports/storage.ts'
import { openWebhook, signingSecrets } from './sealed-webhook.ts'

/** The request of one attempt, as the receiver got it. */
export interface SentRequest {
  /** The number of the attempt, from 1. */
  number: number
  /** The value is null for the webhook's own headers: they may be credentials, and are never shown. */
  headers: { name: string; value: string | null }[]
  body: string
}

/**
 * Builds the requests of a delivery's attempts again. Signatures are not stored: they are made with the secrets that are
 * valid now, so after a rotation those of earlier attempts differ from what the receiver got.
 */
export async function sentRequests(
  { storage, sealer, runtime }: { storage: Storage; sealer: Sealer; runtime: Runtime },
  webhook: WebhookRow,
  delivery: DeliveryRow,
  attempts: readonly DeliveryAttemptRow[],
): Promise<SentRequest[]> {
  const { workspace_id, event_id, message_id, event } = delivery
  const [[stored], message] = await Promise.all([
    storage.read.webhooks.eventBodies(workspace_id, [event_id]),
    message_id && webhook.format !== 'svc'
      ? storage.read.messages.byId(workspace_id, message_id)
      : null,
  ])
  const { format, url, ...opened } = openWebhook(sealer, webhook, webhook)
  const ends_at = webhook.previous_secret_ends_at
  const previous_secret = ends_at && ends_at > runtime.now() ? opened.previous_secret : null
  const secrets = signingSecrets({ ...opened, previous_secret })
  const { subject, from_address } = (message?.content ?? {}) as Partial<Record<string, string>>
  return attempts.map(({ number, started_at }) => {
    const { headers, body = '' } = FORMATS[format].request(
      {
        ...{ workspace_id, event_id, event, url, ...secrets, attempt: number },
        delivery_id: delivery.id,
        body: stored?.body ?? '{}',
        message: message && {
          sender: message.sender,
          subject: subject ?? null,
          from_address: from_address ?? null,
          // Deliveries to status callbacks are not shown.
          callback_method: null,
        },
      },
      started_at,
    )
    const own = Object.keys(opened.headers).map((name) => ({ name, value: null }))
    const ours = Object.entries(headers).map(([name, value]) => ({ name, value }))
    return { number, headers: [...ours, ...own], body }
  })
}
