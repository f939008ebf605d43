import { decode } from '../contract/endpoints/decode.ts'
import { SvcError } from '../contract/errors.ts'
import { emailKey } from '../contract/fields/email-address.ts'
import { isRecord } from '../contract/fields/fields.ts'
import type { Quotas } from '../contract/limits.ts'
import { contactFields } from '../contract/resources/contacts.ts'
import type { ContactRow } from '../rows/rows.ts'
import { inTurns } from '../runtime/in-turns.ts'
import type { Runtime } from '../runtime/runtime.ts'
import type { Storage, Writes } from '../storage/ports/storage.ts'
import { indexOf } from './change.ts'
import {
  type Candidate,
  emptyReport,
  type ImportPlan,
  type ImportReport,
  type ImportState,
  planImport,
} from './plan-import.ts'
import { addressesOf, suppressedBy } from './subscriptions.ts'

/** Contacts of one transaction: a few milliseconds, for which others' writes wait. */
const BATCH_CONTACTS = 50

interface Parts {
  storage: Storage
  runtime: Runtime
  quotas: Pick<Quotas, 'contacts'>
}

/** Makes and changes contacts, in their order: a later one sees what an earlier one did. */
export async function importContacts(
  parts: Parts,
  workspaceId: string,
  contacts: readonly unknown[],
): Promise<ImportReport> {
  const report = emptyReport()
  for (let at = 0; at < contacts.length; at += BATCH_CONTACTS) {
    const part = contacts.slice(at, at + BATCH_CONTACTS)
    const { candidates, errors } = await readAll(part, at)
    const done = await writeBatch(parts, workspaceId, candidates)
    for (const word of ['created', 'updated', 'unchanged'] as const) report[word] += done[word]
    report.errors.push(...[...errors, ...done.errors].sort((a, b) => a.index - b.index))
  }
  report.rejected = report.errors.length
  return report
}

async function readAll(part: readonly unknown[], at: number) {
  const candidates: Candidate[] = []
  const errors: ImportReport['errors'] = []
  await inTurns(part, (given, i) => {
    const index = at + i
    if (!isRecord(given)) {
      errors.push({ index, path: '', message: 'A contact must be an object' })
      return
    }
    try {
      candidates.push({ index, fields: decode(contactFields, given) })
    } catch (error) {
      if (!(error instanceof SvcError)) throw error
      const fault = error.details?.[0] ?? { path: '', message: error.message }
      errors.push({ index, ...fault })
    }
  })
  return { candidates, errors }
}

async function writeBatch(
  { storage, runtime, quotas: { contacts: max } }: Parts,
  workspaceId: string,
  candidates: readonly Candidate[],
): Promise<ImportReport> {
  if (candidates.length === 0) return emptyReport()
  return storage.write(async (stores) => {
    await stores.contacts.lock(workspaceId)
    const room = max - (await stores.contacts.count(workspaceId, {}))
    const state = { ...(await stateFor(stores, workspaceId, candidates)), room, max }
    const at = runtime.now()
    const plan = planImport(candidates, state, () => ({
      id: runtime.id(),
      workspace_id: workspaceId,
      at,
    }))
    await write(stores, plan.steps)
    await stores.suppressions.add(
      plan.opt_outs.map((each) => ({
        ...each,
        workspace_id: workspaceId,
        reason: 'opt_out',
        created_at: at,
      })),
    )
    return plan.report
  })
}

/** All that the candidates could find or collide with. */
async function stateFor(
  { contacts, suppressions }: Writes,
  workspaceId: string,
  candidates: readonly Candidate[],
): Promise<Pick<ImportState, 'index' | 'suppressed'>> {
  const given = (field: 'phone' | 'email' | 'external_id') =>
    candidates.flatMap(({ fields }) => fields[field] ?? [])
  const phones = given('phone')
  const email_keys = given('email').map(emailKey)
  const external_ids = given('external_id')
  const holding = await contacts.holding(workspaceId, { phones, email_keys, external_ids })
  const addresses = [...phones, ...email_keys, ...holding.flatMap(addressesOf)]
  return {
    index: indexOf(holding),
    suppressed: suppressedBy(await suppressions.of(workspaceId, addresses)),
  }
}

/** In the order of the plan, because one may take what another gave up; what is new goes in together. */
async function write({ contacts }: Writes, steps: ImportPlan['steps']): Promise<void> {
  let made: ContactRow[] = []
  for (const { is_new, contact } of steps) {
    if (is_new) {
      made.push(contact)
      continue
    }
    await contacts.insert(made)
    made = []
    await contacts.update(contact)
  }
  await contacts.insert(made)
}
