import { decode } from '../contract/endpoints/decode.ts'
import { type ErrorDetail, invalid, SvcError } from '../contract/errors.ts'
import { emailKey } from '../contract/fields/email-address.ts'
import { isRecord } from '../contract/fields/fields.ts'
import { LIMITS, type Quotas } from '../contract/limits.ts'
import { type ContactFields, contactFields } from '../contract/resources/contacts.ts'
import type { Channel } from '../contract/resources/content.ts'
import type { ContactRow, SuppressionRow } from '../rows/rows.ts'
import { inTurns } from '../runtime/in-turns.ts'
import type { Runtime } from '../runtime/runtime.ts'
import type { Reads, Storage, Writes } from '../storage/ports/storage.ts'
import {
  addressesOf,
  attributesFault,
  type ContactIndex,
  changeContact,
  channelAddressKey,
  indexOf,
  joinAttributes,
  optOutRows,
  suppressedBy,
} from './change.ts'
import type { RowOfContact } from './read-contacts.ts'
import { namesOf } from './suppressions.ts'

/** The number of contacts in one transaction. It takes a few milliseconds, and other writes wait for it. */
const BATCH_CONTACTS = 50

export interface ContactParts {
  storage: Storage
  runtime: Runtime
  quotas: Pick<Quotas, 'contacts'>
}

/** How an import is done. */
export interface ImportOptions {
  /** Whether the import only reports what it would do. */
  dry_run?: boolean | undefined
}

/**
 * Creates and updates contacts in order: a later contact sees the changes of an earlier contact.
 * @param faults contacts that are rejected, by their positions
 */
export async function importContacts(
  parts: ContactParts,
  workspaceId: string,
  contacts: readonly unknown[],
  { dry_run = false, faults }: ImportOptions & { faults?: ReadonlyMap<number, ErrorDetail> },
): Promise<ImportReport> {
  const report = emptyReport()
  const doBatch = dry_run ? trial(parts, workspaceId) : writer(parts, workspaceId)
  for (let at = 0; at < contacts.length; at += BATCH_CONTACTS) {
    const part = contacts.slice(at, at + BATCH_CONTACTS)
    const done = await importBatch(part, { at, faults }, doBatch)
    for (const word of ['created', 'updated', 'unchanged', 'rejected'] as const) {
      report[word] += done[word]
    }
    report.errors.push(...done.errors)
  }
  return report
}

/** Some rows of a file, and what an import would do with them. */
export interface PreviewedRows {
  rows: RowOfContact[]
  report: ImportReport
}

/**
 * Says what an import of the rows would do, in their order, and writes nothing. `index` in a report is the position among all
 * rows.
 */
export async function* previewContacts(
  parts: ContactParts,
  workspaceId: string,
  rows: AsyncIterable<RowOfContact>,
): AsyncGenerator<PreviewedRows> {
  const doBatch = trial(parts, workspaceId)
  let at = 0
  let batch: RowOfContact[] = []
  for await (const row of rows) {
    if (at + batch.length === LIMITS.contact_preview_rows) throw tooManyRows()
    if (batch.push(row) === BATCH_CONTACTS) yield next()
  }
  if (batch.length > 0) yield next()

  async function next(): Promise<PreviewedRows> {
    const done = batch
    const faults = new Map(
      done.flatMap(({ fault }, i) => (fault ? [[at + i, fault] as const] : [])),
    )
    const contacts = done.map(({ contact }) => contact)
    const report = await importBatch(contacts, { at, faults }, doBatch)
    at += done.length
    batch = []
    return { rows: done, report }
  }
}

function tooManyRows(): SvcError {
  const max = LIMITS.contact_preview_rows
  return invalid('', `The file has more than ${max} rows: divide it, or use svc contacts import`)
}

async function importBatch(
  part: readonly unknown[],
  rest: { at: number; faults: ReadonlyMap<number, ErrorDetail> | undefined },
  doBatch: DoBatch,
): Promise<ImportReport> {
  const { candidates, errors } = await readAll(part, rest)
  const done = candidates.length === 0 ? emptyReport() : await doBatch(candidates)
  const all = [...errors, ...done.errors].sort((a, b) => a.index - b.index)
  return { ...done, errors: all, rejected: all.length }
}

async function readAll(
  part: readonly unknown[],
  { at, faults }: { at: number; faults: ReadonlyMap<number, ErrorDetail> | undefined },
) {
  const candidates: Candidate[] = []
  const errors: ImportReport['errors'] = []
  await inTurns(part, (item, i) => {
    const index = at + i
    if (!isRecord(item)) {
      errors.push({ index, path: '', message: 'A contact must be an object' })
      return
    }
    const known = faults?.get(index)
    if (known) {
      errors.push({ index, ...known })
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

type DoBatch = (candidates: readonly Candidate[]) => Promise<ImportReport>

function writer(
  { storage, runtime, quotas: { contacts: max } }: ContactParts,
  workspaceId: string,
): DoBatch {
  return (candidates) =>
    storage.write(async (stores) => {
      await stores.contacts.lock(workspaceId)
      const room = max - (await stores.contacts.count(workspaceId, {}))
      const state = { ...(await stateFor(stores, workspaceId, candidates)), room, max }
      const at = runtime.now()
      const make = () => ({ id: runtime.id(), workspace_id: workspaceId, at })
      const plan = planImport(candidates, state, make)
      await write(stores, plan.steps)
      await stores.suppressions.add(
        optOutRows(await namesOf(stores, workspaceId, plan.opt_outs), {
          workspace_id: workspaceId,
          created_at: at,
        }),
      )
      return plan.report
    })
}

/** Plans the batches and writes nothing. What earlier batches would have written is kept in memory. */
function trial(
  { storage: { read }, runtime, quotas: { contacts: max } }: ContactParts,
  workspaceId: string,
): DoBatch {
  const planned = new Set<string>()
  const index = indexOf([])
  const suppressed: ImportState['suppressed'] = new Map()
  let created = 0
  return async (candidates) => {
    const found = await stateFor(read, workspaceId, candidates)
    for (const contact of found.holding) if (!planned.has(contact.id)) index.put(contact)
    for (const [key, reason] of found.suppressed) suppressed.set(key, reason)
    const room = max - (await read.contacts.count(workspaceId, {})) - created
    const make = () => ({ id: runtime.id(), workspace_id: workspaceId, at: runtime.now() })
    const { report, steps } = planImport(candidates, { index, suppressed, room, max }, make)
    for (const { contact } of steps) planned.add(contact.id)
    created += report.created
    return report
  }
}

/** The contacts that the candidates match or collide with, and their suppressions. */
async function stateFor(
  { contacts, suppressions }: Pick<Reads, 'contacts' | 'suppressions'>,
  workspaceId: string,
  candidates: readonly Candidate[],
): Promise<Pick<ImportState, 'index' | 'suppressed'> & { holding: ContactRow[] }> {
  const valuesOf = (field: 'phone' | 'email' | 'external_id') =>
    candidates.flatMap(({ fields }) => fields[field] ?? [])
  const phones = valuesOf('phone')
  const email_keys = valuesOf('email').map(emailKey)
  const external_ids = valuesOf('external_id')
  const holding = await contacts.holding(workspaceId, { phones, email_keys, external_ids })
  const addresses = [...phones, ...email_keys, ...holding.flatMap(addressesOf)]
  return {
    holding,
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

/** The result of an import. `errors` has one item for each rejected contact; `index` is the contact's position from 0. */
export interface ImportReport {
  created: number
  updated: number
  unchanged: number
  rejected: number
  errors: ({ index: number } & ErrorDetail)[]
}

/** A valid contact, and its position in the import. */
interface Candidate {
  index: number
  fields: ContactFields
}

/** The state that was read under the lock of the workspace. The plan updates it. */
interface ImportState {
  index: ContactIndex
  suppressed: Map<string, SuppressionRow['reason']>
  /** The number of contacts that the workspace may still create. */
  room: number
  /** The quota of contacts. */
  max: number
}

/** The rows to write, in this order. */
interface ImportPlan {
  report: ImportReport
  steps: { is_new: boolean; contact: ContactRow }[]
  opt_outs: { channel: Channel; address: string }[]
}

function emptyReport(): ImportReport {
  return { created: 0, updated: 0, unchanged: 0, rejected: 0, errors: [] }
}

/** Plans the contacts in order, each as if the earlier contacts were already written. */
function planImport(
  candidates: readonly Candidate[],
  state: ImportState,
  make: () => Pick<ContactRow, 'id' | 'workspace_id'> & { at: Date },
): ImportPlan {
  const plan: ImportPlan = { report: emptyReport(), steps: [], opt_outs: [] }
  for (const candidate of candidates) {
    const fault = planOne(candidate, state, make, plan)
    if (fault) plan.report.errors.push({ index: candidate.index, ...fault })
  }
  plan.report.rejected = plan.report.errors.length
  return plan
}

function planOne(
  { fields: imported }: Candidate,
  state: ImportState,
  make: () => Pick<ContactRow, 'id' | 'workspace_id'> & { at: Date },
  { report, steps, opt_outs }: ImportPlan,
): ErrorDetail | null {
  const { index, suppressed } = state
  const before = matchOf(index, imported)
  if (!before && state.room <= 0) return { path: '', message: tooManyContacts(state.max) }
  const fields = joinAttributes(before, imported)
  const fault = attributesFault(fields)
  if (fault) return fault
  // An import never ends an opt-out, because the file may be older than the opt-out.
  const result = changeContact(before, fields, make(), { index, suppressed, may_lift: false })
  if (!result.ok) return { path: result.path, message: result.message }
  if (!result.is_change) {
    report.unchanged += 1
    return null
  }
  report[before ? 'updated' : 'created'] += 1
  if (!before) state.room -= 1
  index.put(result.contact)
  steps.push({ is_new: before === null, contact: result.contact })
  for (const opt_out of result.opt_outs) {
    suppressed.set(channelAddressKey(opt_out.channel, opt_out.address), 'opt_out')
    opt_outs.push(opt_out)
  }
  return null
}

/** The error for a workspace with `max` contacts. */
export function tooManyContacts(max: number): string {
  return `A workspace may have at most ${max} contacts. Delete some that are not used any more: DELETE /api/v1/contacts/:id`
}

/**
 * The existing contact with the external_id of the imported contact, else with the imported phone, else with the imported
 * email. A contact with another external_id does not match; its phone or email then collides.
 */
function matchOf(index: ContactIndex, fields: ContactFields): ContactRow | null {
  const { external_id = null, phone = null, email } = fields
  const known = index.holder('external_id', external_id)
  if (known) return known
  const isSame = (holder: ContactRow | undefined) =>
    holder && (external_id === null || holder.external_id === null)
  const found = [
    index.holder('phone', phone),
    index.holder('email_key', email ? emailKey(email) : null),
  ]
  return found.find(isSame) ?? null
}
