import type { Core, TargetPolicy } from '@svc/core'
import { type Finding, findingsOf } from './finding.ts'

const SHOWN_MAX = 10

/** Reports receivers that fail. Without `offline` it also tries to connect to them. */
export async function checkWebhooks(
  core: Core,
  { offline, targets }: { offline: boolean; targets: TargetPolicy },
): Promise<Finding[]> {
  const is = findingsOf('webhooks')
  const { webhooks: totals } = await core.overviews.overview()
  const { webhooks } = await core.overviews.troubles(SHOWN_MAX)
  if (webhooks.length === 0) return [is.ok(`${totals.active} active`)]
  const { reachTarget } = await import('@svc/core/operate')
  return Promise.all(
    webhooks.map(async ({ id, workspace_id, url, status, disabled_reason }) => {
      const { host } = new URL(url)
      const reason = disabled_reason ? ` (${disabled_reason})` : ''
      const state = `${host} of workspace ${workspace_id} is ${status}${reason}`
      const fault = offline ? null : await reachTarget(url, targets)
      const reached = offline ? '' : `; ${inSettings(fault) ?? 'this machine can connect to it'}`
      return is.warning(
        `${state}${reached}`,
        `its owner sees each attempt: GET /api/v1/webhooks/${id}/deliveries`,
      )
    }),
  )
}

/** Replaces the name of the core's option with the names of the settings. */
function inSettings(fault: string | null): string | undefined {
  return fault?.replace(
    'webhook_targets does',
    'SVC_WEBHOOK_ALLOW_NETS and SVC_WEBHOOK_ALLOW_HTTP do',
  )
}
