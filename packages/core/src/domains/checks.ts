import { type Actor, auditRow, SERVICE } from '../audit/entry.ts'
import type { SendingDomainRow } from '../rows/rows.ts'
import { planCheck, type Seen } from '../rules/sending-domain.ts'
import type { Runtime } from '../runtime/runtime.ts'
import type { Storage } from '../storage/ports/storage.ts'
import { lookForRecords } from './look.ts'
import type { TxtLookup } from './txt-lookup.ts'

/** The parts of a check. */
export interface CheckParts {
  storage: Storage
  runtime: Runtime
  lookup: TxtLookup
}

/** The result of a check. */
export interface Checked {
  row: SendingDomainRow
  /** Whether another workspace holds the claim of the name, so that the domain was not verified. */
  is_taken: boolean
}

/** Domains that one sweep checks. The next sweep, a minute later, checks the others. */
const SWEEP_MAX = 50
/** Domains that are checked together. */
const TOGETHER_MAX = 10

/** Looks for the records of a domain, and stores the result. Null if the domain was removed meanwhile. */
export async function checkDomain(
  parts: CheckParts,
  before: SendingDomainRow,
  actor: Actor = SERVICE,
): Promise<Checked | null> {
  const seen = await lookForRecords(parts.lookup, before)
  const checked = await settleCheck(parts, before, seen, actor)
  if (checked && checked.row.status !== before.status) {
    const { workspace_id, id, domain, status } = checked.row
    const level = status === 'verified' ? 'info' : 'warn'
    parts.runtime.log[level](
      { workspace_id, domain_id: id, domain, status },
      'a sending domain changed',
    )
  }
  return checked
}

/** Checks the domains whose regular check is due. */
export async function checkDueDomains(parts: CheckParts, isStopping: () => boolean): Promise<void> {
  const { sendingDomains } = parts.storage.read
  const due = await sendingDomains.due(parts.runtime.now(), SWEEP_MAX)
  for (let at = 0; at < due.length && !isStopping(); at += TOGETHER_MAX) {
    await Promise.all(
      due.slice(at, at + TOGETHER_MAX).map(async ({ workspace_id, id }) => {
        const row = await sendingDomains.byId(workspace_id, id)
        if (row) await checkDomain(parts, row)
      }),
    )
  }
}

async function settleCheck(
  { storage, runtime }: CheckParts,
  before: SendingDomainRow,
  seen: Seen,
  actor: Actor,
): Promise<Checked | null> {
  const { workspace_id, id } = before
  return storage.write(async ({ sendingDomains, audit }) => {
    const row = await sendingDomains.lock(workspace_id, id)
    if (!row) return null
    // A rotation since then made other keys: these findings are about the old ones.
    const isOutdated =
      row.selector !== before.selector || row.next_selector !== before.next_selector
    if (isOutdated) return { row, is_taken: false }
    const now = runtime.now()
    const plan = planCheck(row, seen, now)
    if (plan.claim === 'take' && !(await sendingDomains.claim(row, now))) {
      return { row, is_taken: true }
    }
    if (plan.claim === 'release') await sendingDomains.release(workspace_id, id)
    await sendingDomains.change(workspace_id, id, plan.change)
    for (const action of plan.actions) {
      const entry = {
        workspace_id,
        action,
        target: { type: 'domain', id },
        details: { domain: row.domain },
      }
      await audit.record(auditRow(runtime, actor, entry))
    }
    return { row: { ...row, ...plan.change }, is_taken: false }
  })
}
