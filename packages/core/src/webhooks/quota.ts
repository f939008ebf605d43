import { invalid } from '../contract/errors.ts'
import type { Quotas } from '../contract/limits.ts'
import type { Writes } from '../storage/ports/storage.ts'

/** The maximum number of webhooks of a workspace, in total and to one host. */
export type WebhookQuotas = Pick<Quotas, 'webhooks' | 'webhooks_per_host'>

/**
 * Checks the quotas in the transaction that adds a webhook or changes its address. Exact if the workspace is locked.
 * @throws SvcError `validation_error` with the remedy.
 */
export async function assertRoomForWebhook(
  { webhooks }: Pick<Writes, 'webhooks'>,
  workspaceId: string,
  /** `id` is null for a new webhook. */
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
  // A webhook that is older than the quota, or was created under a higher quota, can still be changed.
  if (before && hostOf(before.url) === host) return
  const there = targets.filter((target) => target.id !== id && hostOf(target.url) === host)
  if (there.length >= max_per_host) {
    throw invalid(
      'url',
      `At most ${max_per_host} webhooks of a workspace may go to one host, and ${there.length} go to ${host} already. Delete one of them (DELETE /api/v1/webhooks/:id), or let one take several kinds of events.`,
    )
  }
}

/** The normalised host and port: lower case, no final dot, the scheme's port if the URL has none. */
function hostOf(url: string): string {
  const { protocol, hostname, port } = new URL(url)
  return `${hostname.replace(/\.$/, '')}:${port || (protocol === 'https:' ? 443 : 80)}`
}
