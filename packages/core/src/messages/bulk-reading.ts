import * as z from 'zod'
import { decode } from '../contract/endpoints/decode.ts'
import { type ErrorDetail, SvcError } from '../contract/errors.ts'
import { isRecord } from '../contract/fields/fields.ts'
import type { RecipientFault } from '../contract/resources/bulk.ts'
import { type BulkRecipient, bulkRecipient } from '../contract/resources/bulk-request.ts'
import { inTurns } from '../runtime/in-turns.ts'

/** A recipient who gets none, and why. */
export interface Refused {
  index: number
  /** Where the fault is within the recipient; empty for all of it. */
  field: '' | 'to' | 'contact_id'
  to: string | null
  error: RecipientFault
  message: string
  /** Of one that cannot be read: each of its faults, with its path in the request. */
  details?: readonly ErrorDetail[]
}

// All at once: a fault alone costs ten times as much.
const all = z.object({ recipients: z.array(bulkRecipient) })

/** Recipients that are read together: 0.1 ms, 25 ms where each has as many members as JSON may have. */
const PART = 10

/** The recipients of a bulk as they were given; in the place of each that cannot be read, the reason. */
export async function readRecipients(
  given: readonly unknown[],
): Promise<(BulkRecipient | Refused)[]> {
  const starts = Array.from({ length: Math.ceil(given.length / PART) }, (_, i) => i * PART)
  const parts = await inTurns(starts, (at) => readPart(given.slice(at, at + PART), at))
  return parts.flat()
}

function readPart(given: readonly unknown[], at: number): (BulkRecipient | Refused)[] {
  try {
    return decode(all, { recipients: given }).recipients
  } catch (error) {
    if (!(error instanceof SvcError && error.details)) throw error
    const faults = byRecipient(error.details, at)
    return given.map((one, i) => {
      const details = faults.get(at + i)
      return details ? unreadable(one, at + i, details) : bulkRecipient.parse(one)
    })
  }
}

/** Whether a recipient was refused. */
export function isRefused(read: BulkRecipient | Refused): read is Refused {
  return typeof read === 'object' && 'error' in read
}

type Faults = [ErrorDetail, ...ErrorDetail[]]

/** By the index of the recipient that their paths name: `recipients.3.name`, counted from the part's first. */
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

function unreadable(given: unknown, index: number, details: Faults): Refused {
  const [{ path, message }] = details
  const to = isRecord(given) && typeof given.to === 'string' ? given.to : null
  const error = WORDS.get(path.split('.')[2]) ?? 'invalid_recipient'
  return { index, field: '', to, error, message, details }
}

const WORDS = new Map<string | undefined, RecipientFault>([
  ['name', 'invalid_variable'],
  ['variables', 'invalid_variable'],
  ['metadata', 'invalid_metadata'],
])
