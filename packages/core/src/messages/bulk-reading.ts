import * as z from 'zod'
import { decode } from '../contract/endpoints/decode.ts'
import { type ErrorDetail, SvcError } from '../contract/errors.ts'
import { isRecord } from '../contract/fields/fields.ts'
import type { RecipientFault } from '../contract/resources/bulk.ts'
import { type BulkRecipient, bulkRecipient } from '../contract/resources/bulk-request.ts'
import { isPlainRecipient } from '../contract/resources/plain-bulk.ts'
import { inTurns } from '../runtime/in-turns.ts'

/** A recipient that gets no message, and the reason. */
export interface RejectedRecipient {
  index: number
  /** The faulty field of the recipient; empty if the fault is not in one field. */
  field: '' | 'to' | 'contact_id'
  to: string | null
  error: RecipientFault
  message: string
  /** Present if the recipient cannot be read: its faults, each with its path in the request. */
  details?: readonly ErrorDetail[]
}

// Recipients are read together, because reporting each fault alone costs ten times as much.
const recipientList = z.object({ recipients: z.array(bulkRecipient) })

/** The number of recipients of one part. Reading a part takes 0.1 ms, or 25 ms if each has the maximum of members. */
const PART = 10

/** Reads the recipients of a bulk; an unreadable recipient is replaced by its rejection. */
export async function readRecipients(
  recipients: readonly unknown[],
): Promise<(BulkRecipient | RejectedRecipient)[]> {
  const starts = Array.from({ length: Math.ceil(recipients.length / PART) }, (_, i) => i * PART)
  const parts = await inTurns(starts, (at) => readPart(recipients.slice(at, at + PART), at))
  return parts.flat()
}

function readPart(
  recipients: readonly unknown[],
  at: number,
): readonly (BulkRecipient | RejectedRecipient)[] {
  if (recipients.every(isPlainRecipient)) return recipients
  try {
    return decode(recipientList, { recipients }).recipients
  } catch (error) {
    if (!(error instanceof SvcError && error.details)) throw error
    const faults = byRecipient(error.details, at)
    return recipients.map((one, i) => {
      const details = faults.get(at + i)
      return details ? unreadable(one, at + i, details) : bulkRecipient.parse(one)
    })
  }
}

export function isRejected(read: BulkRecipient | RejectedRecipient): read is RejectedRecipient {
  return typeof read === 'object' && 'error' in read
}

type Faults = [ErrorDetail, ...ErrorDetail[]]

/** Indexes faults by recipient. The paths of the faults, such as `recipients.3.name`, count from the start of the part. */
function byRecipient(details: readonly ErrorDetail[], at: number): Map<number, Faults> {
  const faults = new Map<number, Faults>()
  for (const { path, message } of details) {
    const [list, i, ...rest] = path.split('.')
    const index = Number(i) + at
    const detail = { path: [list, index, ...rest].join('.'), message }
    const known = faults.get(index)
    if (known) known.push(detail)
    else faults.set(index, [detail])
  }
  return faults
}

function unreadable(recipient: unknown, index: number, details: Faults): RejectedRecipient {
  const [{ path, message }] = details
  const to = isRecord(recipient) && typeof recipient.to === 'string' ? recipient.to : null
  const error = ERROR_OF_FIELD.get(path.split('.')[2]) ?? 'invalid_recipient'
  return { index, field: '', to, error, message, details }
}

const ERROR_OF_FIELD = new Map<string | undefined, RecipientFault>([
  ['name', 'invalid_variable'],
  ['variables', 'invalid_variable'],
  ['metadata', 'invalid_metadata'],
])
