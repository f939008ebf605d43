import type { BulksSendBody, Svc } from '@svc/client'
import type { Units } from '@svc/core/contract'
import type { AddressesSeen } from './addresses-seen.ts'
import { type BatchLimits, batchesOf, splitBySeen } from './batches.ts'
import type { BulkMessage, MessageOfBulk } from './bulk-message.ts'
import type { Row } from './columns.ts'
import type { InputFile } from './input-file.ts'
import { interrupted, type Patience } from './patience.ts'
import { NOTHING, plus, type RowResult, type Totals, unitsOf } from './progress.ts'
import { remember } from './results-file.ts'

/** The maximum number of rejected rows that are kept for the report. */
const REJECTED_MAX = 1_000

/** The result of a check: it shows what a send would do. */
export interface Check {
  /** `accepted`: the messages that would be sent; `credits`: their cost. */
  totals: Totals
  balance: Units
  /** The reason why the server would refuse every message; null if there is none. */
  block_reason: string | null
  suppressed: number
  /** The first rows that would be rejected. */
  rejected: RowResult[]
}

/** Estimates a send of the rows after a line, batch by batch. It sends nothing. */
export async function checkRows(
  input: InputFile,
  {
    client,
    message,
    limits,
    after,
    seen,
    keyOf,
    patience,
    signal,
    onBatch,
  }: {
    client: Svc
    message: BulkMessage
    limits: BatchLimits
    after: number
    /** The addresses of accepted messages. The check adds the addresses whose messages would be accepted. */
    seen: AddressesSeen
    keyOf: (to: string) => string
    patience: Patience
    signal: AbortSignal
    onBatch: (totals: Totals) => void
  },
): Promise<Check> {
  const check: Check = {
    totals: NOTHING,
    balance: 0 as Units,
    block_reason: null,
    suppressed: 0,
    rejected: [],
  }
  for await (const batch of batchesOf(input.after(after), limits)) {
    if (signal.aborted) throw interrupted()
    const { fresh, repeated } = splitBySeen(batch, seen, keyOf)
    const found =
      fresh.length === 0
        ? null
        : await patience.request(() => client.messages.estimate(bodyOf(message.request, fresh)))
    const rows = found ? resultsOf(found.messages, fresh) : []
    const rejected = rows.filter(({ error }) => error !== undefined && error !== 'duplicate')
    const accepted = found?.sendable ?? 0
    for (const row of rows)
      if (row.error === undefined) remember(seen, { ...row, message_id: '' }, keyOf)
    check.totals = plus(check.totals, {
      rows: batch.rows.length,
      accepted,
      rejected: rejected.length,
      duplicates: repeated.length + fresh.length - accepted - rejected.length,
      credits: unitsOf(found?.credits_needed ?? 0),
    })
    check.suppressed += rejected.filter(({ error }) => error === 'suppressed').length
    check.rejected.push(...rejected.slice(0, REJECTED_MAX - check.rejected.length))
    if (found) {
      check.balance = unitsOf(found.credits_balance)
      check.block_reason ??= found.block_reason
    }
    onBatch(check.totals)
  }
  await input.assertUnchanged()
  if (check.block_reason === null && check.totals.credits > check.balance) {
    check.block_reason = 'insufficient_credits'
  }
  return check
}

/** The request body of a bulk for these rows. The server rejects faulty rows and sends the others. */
export function bodyOf(request: MessageOfBulk, rows: readonly Row[]): BulksSendBody {
  const recipients = rows.map(({ recipient }) => recipient)
  // The server checks that content and channel match.
  return { ...request, recipients, validation: 'permissive' } as BulksSendBody
}

/** The result of each row in an estimate. */
export function resultsOf(
  messages: readonly { index: number; to: string | null; block_reason: string | null }[],
  rows: readonly Row[],
): RowResult[] {
  return messages.flatMap(({ index, to, block_reason }) => {
    const row = rows[index]
    if (!row) return []
    const { contact_id } = row.recipient
    return {
      line: row.line,
      to,
      ...(contact_id !== undefined && { contact_id }),
      ...(block_reason !== null && { error: block_reason }),
    }
  })
}
