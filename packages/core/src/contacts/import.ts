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
import { addressesOf, optOutRows, suppressedBy } from './subscriptions.ts'

/** The number of contacts in one transaction. It takes a few milliseconds, and other writes wait for it. */
const BATCH_CONTACTS = 50

export interface ContactParts {
  storage: Storage
  runtime: Runtime
  quotas: Pick<Quotas, 'contacts'>
}

/** Creates and updates contacts in order: a later contact sees the changes of an earlier contact. */
export async function importContacts(
  parts: ContactParts,
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
  await inTurns(part, (item, i) => {
    const index = at + i
    if (!isRecord(item)) {
      errors.push({ index, path: '', message: 'A contact must be an object' })
      return
    }
    try {
      candidates.push({ index, fields: decode(contactFields, item) })
    } catch (error) {
      if (!(error instanceof SvcError)) throw error
      const fault = error.details?.[0] ?? { path: '', message: error.message }
      errors.push({ index, ...fault })
    }
  })
  return { candidates, errors }
}

async function writeBatch(
  { storage, runtime, quotas: { contacts: max } }: ContactParts,
  workspaceId: string,
  candidates: readonly Candidate[],
): Promise<ImportReport> {
  if (candidates.length === 0) return emptyReport()
  return storage.write(async (stores) => {
    await stores.contacts.lock(workspaceId)
    const room = max - (await stores.contacts.count(workspaceId, {}))
    const state = { ...(await stateFor(stores, workspaceId, candidates)), room, max }
    const at = runtime.now()
    const make = () => ({ id: runtime.id(), workspace_id: workspaceId, at })
    const plan = planImport(candidates, state, make)
    await write(stores, plan.steps)
    await stores.suppressions.add(
      optOutRows(plan.opt_outs, { workspace_id: workspaceId, created_at: at }),
    )
    return plan.report
  })
}

/** The contacts that the candidates match or collide with, and their suppressions. */
async function stateFor(
  { contacts, suppressions }: Writes,
  workspaceId: string,
  candidates: readonly Candidate[],
): Promise<Pick<ImportState, 'index' | 'suppressed'>> {
  const valuesOf = (field: 'phone' | 'email' | 'external_id') =>
    candidates.flatMap(({ fields }) => fields[field] ?? [])
  const phones = valuesOf('phone')
  const email_keys = valuesOf('email').map(emailKey)
  const external_ids = valuesOf('external_id')
  const holding = await contacts.holding(workspaceId, { phones, email_keys, external_ids })
  const addresses = [...phones, ...email_keys, ...holding.flatMap(addressesOf)]
  return {
    index: indexOf(holding),
    suppressed: suppressedBy(await suppressions.of(workspaceId, addresses)),
  }
}

/** Writes the steps in their planned order: a contact may take a key that another contact released. Joins adjacent inserts. */
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
