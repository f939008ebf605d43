import type { BulksSendData, Svc, ValidationError } from '@svc/client'
import { creditsOf, type Units } from '@svc/core/contract'
import { retryAfterMs } from '../connect/polling.ts'
import { Failure } from '../process/failure.ts'
import { type Batch, type BatchLimits, batchesOf, batchUpTo, splitBySeen } from './batches.ts'
import type { BulkMessage } from './bulk-message.ts'
import { bodyOf, resultsOf } from './check-rows.ts'
import type { Row } from './columns.ts'
import type { InputFile } from './input-file.ts'
import { interrupted, type Patience } from './patience.ts'
import { plus, type RowResult, type Totals, unitsOf } from './progress.ts'
import { type BegunLine, type ResultsFile, type RunState, remember } from './results-file.ts'

/** The server keeps an answer for 24 hours. One hour less allows for clock differences and slow requests. */
const ANSWER_KEPT_MS = 23 * 3_600_000

/** The largest difference that a correction of the clock may cause. */
const CLOCK_DIFFERENCE_MS = 60_000

/** The parts of a send besides the rows. */
interface Sending {
  client: Svc
  message: BulkMessage
  limits: BatchLimits
  results: ResultsFile
  keyOf: (to: string) => string
  patience: Patience
  signal: AbortSignal
  onBatch: (totals: Totals) => void
}

/**
 * Sends the remaining rows of a run, batch by batch, and updates `state`. The start of a batch is written to the disk
 * before its request, and the answer is written before the next batch starts. A batch whose answer was lost is repeated
 * unchanged, with the same idempotency key.
 * @throws Failure `interrupted` between two batches when the run must stop, and every error that stops a batch.
 */
export async function sendRows(input: InputFile, state: RunState, sending: Sending): Promise<void> {
  const { limits, signal } = sending
  if (state.pending) {
    const { last_line } = state.pending
    await sendBatch(await batchUpTo(input.after(state.last_line), last_line), input, state, sending)
  }
  for await (const batch of batchesOf(input.after(state.last_line), limits)) {
    if (signal.aborted) throw interrupted()
    await sendBatch(batch, input, state, sending)
  }
}

/** Whether the server may have dropped the answer to a batch. In that case a repetition could send the batch twice. */
export function isTooOld({ at }: BegunLine, now: Date): boolean {
  const age_ms = now.getTime() - Date.parse(at)
  // If `at` is in the future, a clock was changed, so the age is unknown.
  return !(age_ms > -CLOCK_DIFFERENCE_MS && age_ms < ANSWER_KEPT_MS)
}

/** Skips a batch whose answer was lost too long ago: its rows are rejected as `unanswered`. */
export async function skipPending(
  input: InputFile,
  state: RunState,
  { results, keyOf }: Pick<Sending, 'results' | 'keyOf'>,
): Promise<void> {
  const { pending } = state
  if (!pending) return
  const batch = await batchUpTo(input.after(state.last_line), pending.last_line)
  const { fresh, repeated } = splitBySeen(batch, state.seen, keyOf)
  const rows = [
    ...fresh.map((row) => resultOf(row, { error: 'unanswered' })),
    ...duplicatesOf(repeated),
  ]
  await finish(batch, { rows, bulk_id: null, credits: 0 as Units }, state, { results, keyOf })
}

async function sendBatch(
  batch: Batch,
  input: InputFile,
  state: RunState,
  sending: Sending,
): Promise<void> {
  const { results, keyOf } = sending
  const { fresh, repeated } = splitBySeen(batch, state.seen, keyOf)
  await input.assertUnchanged()
  const answer =
    fresh.length === 0
      ? { rows: [], bulk_id: null, credits: 0 as Units }
      : await sendFresh(fresh, await begin(batch, state, results), state, sending)
  const rows = [...answer.rows, ...duplicatesOf(repeated)]
  await finish(batch, { ...answer, rows }, state, sending)
  sending.onBatch(state.totals)
}

/** Records the start of a batch, if it is not recorded yet. */
async function begin(
  { first_line, last_line }: Batch,
  state: RunState,
  results: ResultsFile,
): Promise<{ begun: BegunLine; isFirstTime: boolean }> {
  if (state.pending) return { begun: state.pending, isFirstTime: false }
  const batch = state.batches + 1
  const begun: BegunLine = {
    type: 'begun',
    batch,
    idempotency_key: `bulk-${state.run.run_id}-${batch}`,
    first_line,
    last_line,
    at: new Date().toISOString(),
  }
  await results.append([begun])
  state.batches = batch
  state.pending = begun
  return { begun, isFirstTime: true }
}

interface Answer {
  rows: RowResult[]
  bulk_id: string | null
  credits: Units
}

async function sendFresh(
  rows: readonly Row[],
  { begun, isFirstTime }: { begun: BegunLine; isFirstTime: boolean },
  state: RunState,
  { client, message, results, patience }: Sending,
): Promise<Answer> {
  const body = bodyOf(message.request, rows)
  const { idempotency_key } = begun
  /** Whether the batch may have been sent without a recorded answer. */
  let isDoubtful = !isFirstTime
  try {
    const sent = await patience.request(() => {
      if (isDoubtful && isTooOld(begun, new Date())) throw tooOld(begun)
      return client.bulks
        .send(body, { idempotencyKey: idempotency_key })
        .catch((error: unknown) => {
          if (!isRefusal(error)) isDoubtful = true
          throw error
        })
    })
    return answerOf(sent, rows)
  } catch (error) {
    if (isKeyReused(error)) throw anotherCopy(begun)
    const faults = faultsOf(error)
    if (faults) {
      // The error names the refused recipients. The estimate adds their error codes.
      const found = await patience.request(() => client.messages.estimate(body))
      return {
        rows: refusedRows(resultsOf(found.messages, rows), faults),
        bulk_id: null,
        credits: 0 as Units,
      }
    }
    if (!isDoubtful) {
      const { code = 'failed' } = error as { code?: string }
      const at = new Date().toISOString()
      await results.append([{ type: 'refused', batch: begun.batch, error: code, at }])
      state.pending = null
    }
    throw error
  }
}

/** Whether the service itself refused the request, so that nothing was sent. */
function isRefusal(error: unknown): boolean {
  const { name, code } = error as { name?: unknown; code?: unknown }
  return retryAfterMs(error) !== null || (name === 'SvcError' && code !== 'internal_error')
}

/** Whether the idempotency key was used with other rows. In that case the result file is not complete. */
function isKeyReused(error: unknown): boolean {
  const { details } = error as Partial<ValidationError>
  return details?.some(({ path }) => path === 'Idempotency-Key') ?? false
}

function anotherCopy({ batch }: BegunLine): Failure {
  return new Failure(
    'results_outdated',
    `batch ${batch} of this run was already sent with other rows: the result file is an older copy or was edited. Restore the newest file`,
  )
}

/** The messages of an error that refuses only recipients, with the recipient's index as the key; else null. */
function faultsOf(error: unknown): Map<number, string> | null {
  const { code, details } = error as Partial<ValidationError>
  if (code !== 'validation_error' || !details || details.length === 0) return null
  const faults = new Map<number, string>()
  for (const { path, message } of details) {
    const [, index] = /^recipients\.(\d+)(?:\.|$)/.exec(path) ?? []
    if (index === undefined) return null
    if (!faults.has(Number(index)))
      faults.set(Number(index), message.replace(`recipients.${index}: `, ''))
  }
  return faults
}

function refusedRows(rows: RowResult[], faults: ReadonlyMap<number, string>): RowResult[] {
  return rows.map((row, index) => {
    const message = faults.get(index)
    return { ...row, error: row.error ?? 'rejected', ...(message !== undefined && { message }) }
  })
}

function answerOf(
  { bulk_id, credits_used, messages, errors }: BulksSendData,
  rows: readonly Row[],
): Answer {
  const results = rows.map((row) => resultOf(row, { error: 'duplicate' }))
  const put = (index: number, { line, contact_id }: RowResult, more: Omit<RowResult, 'line'>) => {
    results[index] = { line, ...(contact_id !== undefined && { contact_id }), ...more }
  }
  for (const { index, to, message_id } of messages) {
    put(index, results[index] as RowResult, { to, message_id })
  }
  for (const { index, to, error, message } of errors) {
    put(index, results[index] as RowResult, { to, error, message })
  }
  return { rows: results, bulk_id, credits: unitsOf(credits_used) }
}

function duplicatesOf(rows: readonly Row[]): RowResult[] {
  return rows.map((row) => resultOf(row, { error: 'duplicate' }))
}

function resultOf(
  { line, recipient: { to, contact_id } }: Row,
  more: Partial<RowResult>,
): RowResult {
  return { line, to: to ?? null, ...(contact_id !== undefined && { contact_id }), ...more }
}

/** Writes the results of a batch in one write, and then adds them to the totals. */
async function finish(
  batch: Batch,
  { rows, bulk_id, credits }: Answer,
  state: RunState,
  { results, keyOf }: Pick<Sending, 'results' | 'keyOf'>,
): Promise<void> {
  const accepted = rows.filter(({ message_id }) => message_id !== undefined).length
  const duplicates = rows.filter(({ error }) => error === 'duplicate').length
  const counts = {
    rows: rows.length,
    accepted,
    rejected: rows.length - accepted - duplicates,
    duplicates,
  }
  if (!state.pending) state.batches++
  await results.append([
    ...rows.toSorted((a, b) => a.line - b.line).map((row) => ({ type: 'row', ...row }) as const),
    {
      type: 'batch',
      batch: state.batches,
      bulk_id,
      last_line: batch.last_line,
      at: new Date().toISOString(),
      ...counts,
      credits_used: creditsOf(credits),
    },
  ])
  for (const row of rows) remember(state.seen, row, keyOf)
  state.totals = plus(state.totals, { ...counts, credits })
  state.last_line = batch.last_line
  state.pending = null
  state.bulk_id = bulk_id ?? state.bulk_id
}

/** The failure for a batch whose answer may have been dropped, when there is no terminal for a question. */
export function tooOld({ batch, first_line, last_line, at }: BegunLine): Failure {
  return new Failure(
    'unanswered',
    `batch ${batch} (lines ${first_line} to ${last_line}) was sent at ${at} and its answer was lost; the server keeps answers for 24 hours, so a repetition could send it twice: check svc messages list --since ${at}, then use --unanswered send or --unanswered skip`,
  )
}
