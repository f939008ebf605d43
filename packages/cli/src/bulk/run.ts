import type { Svc } from '@svc/client'
import type { Target } from '../connect/connection.ts'
import type { Context } from '../context.ts'
import { confirm } from '../input/prompts.ts'
import { explain, Failure, usage } from '../process/failure.ts'
import { aborted, stopSignalOf } from '../process/process-io.ts'
import type { Cell } from '../show/output.ts'
import { counted } from '../show/text.ts'
import type { BatchLimits } from './batches.ts'
import type { BulkMessage } from './bulk-message.ts'
import { type Check, checkRows } from './check-rows.ts'
import type { InputFile } from './input-file.ts'
import { assertSameRun, lockFile, moveAside, newRun, stoppedEarly } from './open-run.ts'
import { createPatience, interrupted, type Patience } from './patience.ts'
import {
  createProgress,
  type ProgressStore,
  type ProgressView,
  type RowResult,
  type Totals,
} from './progress.ts'
import {
  continueResultsFile,
  createResultsFile,
  type ResultsFile,
  type RunState,
  readResults,
} from './results-file.ts'
import { isTooOld, sendRows, skipPending, tooOld } from './send-rows.ts'

/** The settings of a send. */
export interface SendSettings {
  batch: number
  outage_ms: number
  strict: boolean
  yes: boolean
  restart: boolean
  unanswered: 'send' | 'skip' | undefined
  /** The path of the result file in messages. */
  results: string
}

/** The parts of a run. */
export interface Run {
  context: Context
  input: InputFile
  message: BulkMessage
  limits: BatchLimits
  client: Svc
  target: Target
  settings: SendSettings
  /** The absolute path of the result file. */
  path: string
  showProgress(progress: ProgressStore): Promise<ProgressView>
}

/** A run with its stop signal, progress and retries. */
interface ActiveRun extends Run {
  keyOf: (to: string) => string
  signal: AbortSignal
  progress: ProgressStore
  patience: Patience
}

/** Shows what a send of the whole file would do. @throws Failure if a row or the whole bulk would be rejected. */
export async function checkOnly(run: Run): Promise<void> {
  const active = await activate(run)
  const { context, input, message, target } = run
  const check = await checkRest(active, newRun(input, message, target))
  const { output } = context
  if (output.isJson()) output.document(await checkDocument(check))
  else await reportCheck(context, check)
  const { rejected, rows } = check.totals
  if (rejected > 0)
    throw new Failure('rejected', `${rejected} of ${counted(rows, 'row')} would be rejected`)
  if (check.block_reason !== null) {
    throw new Failure(check.block_reason, `it would not be sent: ${check.block_reason}`)
  }
}

/**
 * Sends the rows that are not sent yet, and shows the result.
 * @throws Failure when rows were rejected, or not all rows could be sent.
 */
export async function sendAll(run: Run): Promise<void> {
  const lock = await lockFile(run.path)
  try {
    const active = await activate(run)
    const state = await stateOf(active)
    if (state.bytes > 0 && state.totals.rows === state.run.rows) return await endOf(run, state)
    await assertConfirmed(active, state)
    const results =
      state.bytes > 0
        ? await continueResultsFile(run.path, state.bytes)
        : await createResultsFile(run.path, state.run)
    try {
      await sendRest(active, state, results)
    } finally {
      await results.close()
    }
    await endOf(run, state)
  } finally {
    await lock.release()
  }
}

async function activate(run: Run): Promise<ActiveRun> {
  const { input, settings, context, message } = run
  const { emailKey } = await import('@svc/core/contract')
  const progress = createProgress({ file: input.name, rows_total: input.rows })
  const signal = stopSignalOf(context.io)
  const stopping = 'Stopping after the request in flight; press Ctrl-C again to stop at once.'
  signal.addEventListener('abort', () => context.output.note(stopping), { once: true })
  const patience = createPatience({
    outage_ms: settings.outage_ms,
    signal,
    onWait: (waiting) => progress.set({ waiting }),
  })
  const keyOf = message.request.channel === 'email' ? emailKey : (to: string) => to
  return { ...run, keyOf, signal, progress, patience }
}

/** Returns the state of the run in the result file, or a new run if there is no file. */
async function stateOf(run: ActiveRun): Promise<RunState> {
  const { context, settings, path, input, message, target, keyOf } = run
  const found = await readResults(path, keyOf)
  if (found === null) return newRun(input, message, target)
  if (settings.restart) {
    if (!settings.yes) {
      const sent = `${counted(found.totals.accepted, 'message of this file was', 'messages of this file were')} already sent`
      await confirmOrStop(run, `${sent}. Send all messages again?`)
    }
    context.output.note(`The result file is now ${await moveAside(path, found)}`)
    return newRun(input, message, target)
  }
  await assertSameRun(found, run)
  const { scheduled_at } = found.run
  // A repeated batch must be identical, so the time of `--at` stays the time of the first start.
  if (scheduled_at !== null) Object.assign(message.request, { scheduled_at })
  return found
}

/** Asks for confirmation, except with `--yes`. With `--strict`, a row that would be rejected stops the run. */
async function assertConfirmed(run: ActiveRun, state: RunState): Promise<void> {
  const { context, settings } = run
  const { io, output } = context
  if (!settings.yes && (!io.stdin.isTTY || output.isJson())) {
    throw usage('stdin is not a terminal: add --yes, after a check with --dry-run')
  }
  if (settings.yes && !settings.strict) return
  // The check counts a batch whose answer was lost as unsent; the send repeats it with its idempotency key.
  const check = await checkRest(run, state)
  const { accepted, rejected, rows, credits } = check.totals
  if (settings.strict && rejected > 0) {
    if (!output.isJson()) await reportCheck(context, check)
    const message = `${rejected} of ${counted(rows, 'row')} would be rejected; nothing ${state.bytes > 0 ? 'more ' : ''}was sent`
    throw new Failure('rejected', message)
  }
  if (settings.yes) return
  await reportCheck(context, check)
  if (check.block_reason !== null) output.note(`The send would stop: ${check.block_reason}`)
  const { formatCredits } = await import('@svc/core/contract')
  await confirmOrStop(
    run,
    `Send ${counted(accepted, 'message')} by ${run.message.request.channel} for ${counted(formatCredits(credits), 'credit')}?`,
  )
}

/** Checks what a send of the remaining rows would do; does not change `state`. */
async function checkRest(run: ActiveRun, state: RunState): Promise<Check> {
  const { input, progress } = run
  const rows_before = state.totals.rows
  progress.set({ phase: 'checking', rows_total: input.rows - rows_before, began_at: new Date() })
  const view = await run.showProgress(progress)
  try {
    return await checkRows(input, {
      ...run,
      after: state.last_line,
      seen: state.seen.copy(),
      onBatch: (totals) => progress.set({ totals }),
    })
  } finally {
    await view.end()
  }
}

async function sendRest(run: ActiveRun, state: RunState, results: ResultsFile): Promise<void> {
  const { input, progress } = run
  await settlePending(run, state, results)
  const { totals } = state
  progress.set({
    phase: 'sending',
    rows_total: input.rows,
    totals,
    rows_before: totals.rows,
    began_at: new Date(),
  })
  const view = await run.showProgress(progress)
  try {
    const onBatch = (sum: RunState['totals']) => progress.set({ totals: sum })
    await sendRows(input, state, { ...run, results, onBatch })
  } catch (error) {
    throw stoppedEarly(explain(error), state)
  } finally {
    await view.end()
  }
}

/** Asks before a batch is sent again when the server may have dropped its idempotency key. */
async function settlePending(run: ActiveRun, state: RunState, results: ResultsFile): Promise<void> {
  const { context, input, settings, keyOf } = run
  const { pending } = state
  if (!pending || !isTooOld(pending, new Date())) return
  if (settings.unanswered === 'skip') return skipPending(input, state, { results, keyOf })
  if (settings.unanswered === undefined) {
    if (!context.io.stdin.isTTY) throw tooOld(pending)
    const lines = `lines ${pending.first_line} to ${pending.last_line}`
    context.output.note(
      `The answer to the batch of ${lines} was lost on ${pending.at}, and the server no longer has it: those messages may have been sent. svc messages list --since ${pending.at} shows them.`,
    )
    await confirmOrStop(run, `Send ${lines} again?`)
  }
  const { batch } = pending
  const at = new Date().toISOString()
  await results.append([{ type: 'refused', batch, error: 'unanswered', at }])
  state.pending = null
}

/** Asks for confirmation on the terminal; Ctrl-C stops the run. */
async function confirmOrStop({ context, signal }: ActiveRun, question: string): Promise<void> {
  const stopped = aborted(signal).then(() => {
    throw interrupted()
  })
  await Promise.race([confirm(context.io, question), stopped])
}

async function endOf({ context, settings }: Run, state: RunState): Promise<void> {
  await reportRun(context, state, settings.results)
  const { rejected, rows } = state.totals
  if (rows !== state.run.rows) {
    throw new Failure(
      'incomplete',
      `${rows} of ${state.run.rows.toLocaleString('en')} rows are in the results: ${settings.results} was edited`,
    )
  }
  if (rejected === 0) return
  throw new Failure(
    'rejected',
    `${rejected} of ${rows.toLocaleString('en')} rows were rejected: see ${settings.results}`,
  )
}

/** The maximum number of rejected rows that are shown to people. */
const SHOWN_MAX = 50

/** Shows a check: first the rejected rows, then the cost of the others. */
async function reportCheck({ output }: Context, check: Check): Promise<void> {
  const { formatCredits } = await import('@svc/core/contract')
  const { totals, rejected, suppressed, balance, block_reason } = check
  if (rejected.length > 0) {
    output.table(['LINE', 'TO', 'REASON'], rejected.slice(0, SHOWN_MAX).map(rejectedCells))
    const more = totals.rejected - Math.min(rejected.length, SHOWN_MAX)
    if (more > 0) output.note(`… and ${more} more`)
  }
  output.fields([
    ['rows', String(totals.rows)],
    ['to be sent', String(totals.accepted)],
    ['rejected', String(totals.rejected)],
    ['suppressed', suppressed > 0 ? `${suppressed} of them` : null],
    ['duplicates', String(totals.duplicates)],
    ['credits', formatCredits(totals.credits)],
    ['balance', formatCredits(balance)],
    ['blocked', block_reason === null ? null : { text: block_reason, style: 'red' }],
  ])
}

/** A check in JSON, with the first 1,000 rejected rows. */
async function checkDocument(check: Check): Promise<Record<string, unknown>> {
  const { creditsOf } = await import('@svc/core/contract')
  const { totals, rejected, suppressed, balance, block_reason } = check
  return {
    dry_run: true,
    ...(await totalsDocument(totals)),
    suppressed,
    credits_balance: creditsOf(balance),
    block_reason,
    errors: rejected,
  }
}

/** Shows the result of a run. */
async function reportRun(
  { output }: Context,
  { totals, bulk_id, run }: RunState,
  path: string,
): Promise<void> {
  if (output.isJson()) {
    output.document({
      run_id: run.run_id,
      results: path,
      rows_total: run.rows,
      ...(await totalsDocument(totals)),
      last_bulk_id: bulk_id,
    })
    return
  }
  const { formatCredits } = await import('@svc/core/contract')
  output.fields([
    ['rows', totals.rows === run.rows ? String(run.rows) : `${totals.rows} of ${run.rows}`],
    ['accepted', { text: String(totals.accepted), style: 'green' }],
    ['rejected', String(totals.rejected)],
    ['duplicates', String(totals.duplicates)],
    ['credits', formatCredits(totals.credits)],
    ['results', path],
  ])
}

async function totalsDocument({ rows, accepted, rejected, duplicates, credits }: Totals) {
  const { creditsOf } = await import('@svc/core/contract')
  return { rows, accepted, rejected, duplicates, credits_used: creditsOf(credits) }
}

function rejectedCells({ line, to, contact_id, error = '' }: RowResult): Cell[] {
  return [String(line), to ?? contact_id ?? '', { text: error, style: 'red' }]
}
