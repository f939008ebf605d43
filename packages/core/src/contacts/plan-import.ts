import type { ErrorDetail } from '../contract/errors.ts'
import { emailKey } from '../contract/fields/email-address.ts'
import type { ContactFields } from '../contract/resources/contacts.ts'
import type { Channel } from '../contract/resources/content.ts'
import type { ContactRow, SuppressionRow } from '../rows/rows.ts'
import { attributesFault, type ContactIndex, changeContact, joinAttributes } from './change.ts'
import { channelAddressKey } from './subscriptions.ts'

/** The result of an import. `errors` has one item for each rejected contact; `index` is the contact's position from 0. */
export interface ImportReport {
  created: number
  updated: number
  unchanged: number
  rejected: number
  errors: ({ index: number } & ErrorDetail)[]
}

/** A valid contact, and its position in the import. */
export interface Candidate {
  index: number
  fields: ContactFields
}

/** The state that was read under the lock of the workspace. The plan updates it. */
export interface ImportState {
  index: ContactIndex
  suppressed: Map<string, SuppressionRow['reason']>
  /** The number of contacts that the workspace may still create. */
  room: number
  /** The quota of contacts. */
  max: number
}

/** The rows to write, in this order. */
export interface ImportPlan {
  report: ImportReport
  steps: { is_new: boolean; contact: ContactRow }[]
  opt_outs: { channel: Channel; address: string }[]
}

export function emptyReport(): ImportReport {
  return { created: 0, updated: 0, unchanged: 0, rejected: 0, errors: [] }
}

/** Plans the contacts in order, each as if the earlier contacts were already written. */
export function planImport(
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
