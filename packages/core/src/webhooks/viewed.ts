import type { View } from '../api-keys/viewer.ts'
import { SvcError } from '../contract/errors.ts'
import type { WebhookMode } from '../contract/resources/webhooks.ts'
import type { WebhookRow } from '../rows/rows.ts'

/**
 * The webhook, where the view has it: a test key sees those of mode `test`.
 * @throws SvcError `not_found` for one that is not there, and in the same words for one that is not seen.
 */
export function seenWebhook<Row extends Pick<WebhookRow, 'mode'>>(
  { livemode }: Pick<View, 'livemode'>,
  row: Row | null,
): Row {
  if (row && (livemode === undefined || row.mode === 'test')) return row
  throw new SvcError('not_found', 'Webhook not found')
}

/** @throws SvcError `forbidden` for a mode that brings a test key live events. */
export function checkMode(
  { livemode }: Pick<View, 'livemode'>,
  mode: WebhookMode | undefined,
): void {
  if (livemode === undefined || mode === undefined || mode === 'test') return
  throw new SvcError('forbidden', 'A test key manages webhooks with mode test only')
}
