import type { Core } from '@svc/core'
import { type Finding, findingsOf } from './finding.ts'

const SHOWN_MAX = 10

/** Reports sending domains that were verified and have lost their DKIM record. */
export async function checkDomains(core: Core): Promise<Finding[]> {
  const is = findingsOf('domains')
  const broken = await core.domains.broken(SHOWN_MAX)
  if (broken.length === 0) return [is.ok('no verified domain has lost its record')]
  return broken.map(({ workspace_id, domain, status, accepted_until, records }) => {
    const key = records.find(({ purpose }) => purpose === 'dkim')
    const end =
      accepted_until === null
        ? 'its addresses are refused'
        : `its addresses are accepted until ${accepted_until.toISOString()}`
    return is.warning(
      `${domain} of workspace ${workspace_id} is ${status}: ${key?.name ?? 'its record'} is ${key?.state ?? 'missing'}; ${end}`,
      `publish the record that svc domains show ${domain} --workspace ${workspace_id} shows, then run svc domains verify`,
    )
  })
}
