import { invalid } from '../contract/errors.ts'
import type { Quotas } from '../contract/limits.ts'
import type { Writes } from '../storage/ports/storage.ts'

/** How many webhooks a workspace may have, all together and to one host. */
export type WebhookQuotas = Pick<Quotas, 'webhooks' | 'webhooks_per_host'>

/**
 * Sees to it, in the transaction that adds a webhook or gives it another address, that the workspace may have it. Exact
 * while the workspace is locked.
 * @throws SvcError `validation_error` that says what to delete.
 */
export async function assertRoomForWebhook(
  { webhooks }: Pick<Writes, 'webhooks'>,
  workspaceId: string,
  /** Without an id, one that is to be added. */
  { id, url }: { id: string | null; url: string },
  { webhooks: max, webhooks_per_host: max_per_host }: WebhookQuotas,
): Promise<void> {
  const targets = await webhooks.targets(workspaceId)
  if (id === null && targets.length >= max) {
    throw invalid(
      '',
      `A workspace may have at most ${max} webhooks. Delete one that is not used any more: DELETE /api/v1/webhooks/:id`,
    )
  }
  const host = hostOf(url)
  const before = targets.find((target) => target.id === id)
  // What was made before the quota, or under a higher one, can still be changed.
  if (before && hostOf(before.url) === host) return
  const there = targets.filter((target) => target.id !== id && hostOf(target.url) === host)
  if (there.length >= max_per_host) {
    throw invalid(
      'url',
      `At most ${max_per_host} webhooks of a workspace may go to one host, and ${there.length} go to ${host} already. Delete one of them (DELETE /api/v1/webhooks/:id), or let one take several kinds of events.`,
    )
  }
}

/** Host name and port, in one spelling: lower case, without a final dot, with the port of the scheme where none is named. */
function hostOf(url: string): string {
  const { protocol, hostname, port } = new URL(url)
  return `${hostname.replace(/\.$/, '')}:${port || (protocol === 'https:' ? 443 : 80)}`
}
