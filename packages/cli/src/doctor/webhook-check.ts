import type { Core, TargetPolicy } from '@svc/core'
import { type Finding, findingsOf } from './finding.ts'

const SHOWN_MAX = 10

/** Whether receivers acknowledge; those that do not are connected to once more, unless `offline`. */
export async function checkWebhooks(
  core: Core,
  { offline, targets }: { offline: boolean; targets: TargetPolicy },
): Promise<Finding[]> {
  const is = findingsOf('webhooks')
  const { webhooks: totals } = await core.overviews.overview()
  const { webhooks } = await core.overviews.troubles(SHOWN_MAX)
  if (webhooks.length === 0) return [is.ok(`${totals.active} deliver`)]
  const { reachTarget } = await import('@svc/core/operate')
  return Promise.all(
    webhooks.map(async ({ id, workspace_id, url, status, disabled_reason }) => {
      const { host } = new URL(url)
      const why = disabled_reason ? ` (${disabled_reason})` : ''
      const what = `${host} of workspace ${workspace_id} is ${status}${why}`
      const fault = offline ? null : await reachTarget(url, targets)
      const reached = offline ? '' : `; ${inSettings(fault) ?? 'it can be connected to from here'}`
      return is.warning(
        `${what}${reached}`,
        `its owner sees each attempt: GET /api/v1/webhooks/${id}/deliveries`,
      )
    }),
  )
}

/** Names the settings in the place of the core's option that they make. */
function inSettings(fault: string | null): string | undefined {
  return fault?.replace(
    'webhook_targets does',
    'SVC_WEBHOOK_ALLOW_NETS and SVC_WEBHOOK_ALLOW_HTTP do',
  )
}
