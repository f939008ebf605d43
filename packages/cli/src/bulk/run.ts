import type { Client } from '@svc/core/contract'
import type { Target } from '../connect/connection.ts'
import type { Context } from '../context.ts'
import { confirm } from '../input/confirm.ts'
import { explain, Failure, usage } from '../process/failure.ts'
import { aborted, stopSignalOf } from '../process/process-io.ts'
import type { BatchLimits } from './batches.ts'
import type { BulkMessage } from './bulk-message.ts'
import { type Check, checkRows } from './check-rows.ts'
import type { InputFile } from './input-file.ts'
import { lockFile } from './lock-file.ts'
import { assertSameRun, newRun, putAside, stoppedShort } from './open-run.ts'
import { createPatience, interrupted, type Patience } from './patience.ts'
import { createProgress, type ProgressStore, type ProgressView } from './progress.ts'
import { type RunState, readResults } from './read-results.ts'
import { checkDocument, reportCheck, reportRun } from './report.ts'
import { continueResultsFile, createResultsFile, type ResultsFile } from './results-file.ts'
import { isTooOld, sendRows, skipPending, tooOld } from './send-rows.ts'

/** How to send. */
export interface SendSettings {
  batch: number
  outage_ms: number
  strict: boolean
  yes: boolean
  restart: boolean
  unanswered: 'send' | 'skip' | undefined
  /** As it is shown. */
  results: string
}

/** All that a run needs. */
export interface Run {
  context: Context
  input: InputFile
  message: BulkMessage
  limits: BatchLimits
  client: Client
  target: Target
  settings: SendSettings
  /** Of the result file, absolute. */
  path: string
  showProgress(progress: ProgressStore): Promise<ProgressView>
}

/** A run that is watched. */
interface Watched extends Run {
  keyOf: (to: string) => string
  signal: AbortSignal
  progress: ProgressStore
  patience: Patience
}

/** Shows what sending the whole file would do. @throws Failure where a row would be rejected, or all of it. */
export async function checkOnly(run: Run): Promise<void> {
  const watched = await watch(run)
  const { context, input, message, target } = run
  const check = await checkRest(watched, newRun(input, message, target))
  const { output } = context
  if (output.isJson()) output.document(await checkDocument(check))
  else await reportCheck(context, check)
  const { rejected, rows } = check.totals
  if (rejected > 0) throw new Failure('rejected', `${rejected} of ${rows} rows would be rejected`)
  if (check.block_reason !== null) {
    throw new Failure(check.block_reason, `it would not be sent: ${check.block_reason}`)
  }
}

/**
 * Sends what is not sent yet, and shows how it ended.
 * @throws Failure where rows were rejected, or not all could be sent.
 */
export async function sendAll(run: Run): Promise<void> {
  const lock = await lockFile(run.path)
  try {
    const watched = await watch(run)
    const state = await stateOf(watched)
    if (state.bytes > 0 && state.totals.rows === state.run.rows) return await endOf(run, state)
    await assertWanted(watched, state)
    const results =
      state.bytes > 0
        ? await continueResultsFile(run.path, state.bytes)
        : await createResultsFile(run.path, state.run)
    try {
      await sendRest(watched, state, results)
    } finally {
      await results.close()
    }
    await endOf(run, state)
  } finally {
    await lock.release()
  }
}

async function watch(run: Run): Promise<Watched> {
  const { input, settings, context, message } = run
  const { emailKey } = await import('@svc/core/contract')
  const progress = createProgress({ file: input.name, rows_total: input.rows })
  const signal = stopSignalOf(context.io)
  const stopping = 'Stopping after what is under way; Ctrl-C again ends it at once.'
  signal.addEventListener('abort', () => context.output.note(stopping), { once: true })
  const patience = createPatience({
    outage_ms: settings.outage_ms,
    signal,
    onWait: (waiting) => progress.set({ waiting }),
  })
  const keyOf = message.request.channel === 'email' ? emailKey : (to: string) => to
  return { ...run, keyOf, signal, progress, patience }
}

/** How far the run is that the result file tells of; a new one where there is none. */
async function stateOf(run: Watched): Promise<RunState> {
  const { context, settings, path, input, message, target, keyOf } = run
  const found = await readResults(path, keyOf)
  if (found === null) return newRun(input, message, target)
  if (settings.restart) {
    if (!settings.yes) {
      const sent = `${found.totals.accepted} messages of this file were sent already`
      await ask(run, `${sent}. Send to everybody again?`)
    }
    context.output.note(`The result file is now ${await putAside(path, found)}`)
    return newRun(input, message, target)
  }
  await assertSameRun(found, run)
  const { scheduled_at } = found.run
  // A span counts from when the run began, and a repeated batch is to be what it was.
  if (scheduled_at !== null) Object.assign(message.request, { scheduled_at })
  return found
}

/** Asks, where somebody wants to be asked, or every row is to be good. */
async function assertWanted(run: Watched, state: RunState): Promise<void> {
  const { context, settings } = run
  const { io, output } = context
  if (!settings.yes && (!io.stdin.isTTY || output.isJson())) {
    throw usage('stdin is not a terminal: add --yes, after a look with --dry-run')
  }
  if (settings.yes && !settings.strict) return
  // Of a batch under way nobody knows what it would do; it goes on as it is.
  const check = await checkRest(run, state)
  const { accepted, rejected, rows, credits } = check.totals
  if (settings.strict && rejected > 0) {
    if (!output.isJson()) await reportCheck(context, check)
    const message = `${rejected} of ${rows} rows would be rejected; nothing ${state.bytes > 0 ? 'more ' : ''}was sent`
    throw new Failure('rejected', message)
  }
  if (settings.yes) return
  await reportCheck(context, check)
  if (check.block_reason !== null) output.note(`As it stands it would stop: ${check.block_reason}`)
  const { formatCredits } = await import('@svc/core/contract')
  await ask(
    run,
    `Send ${accepted} messages by ${run.message.request.channel} for ${formatCredits(credits)} credits?`,
  )
}

/** What sending the rest would do; `state` stays as it is. */
async function checkRest(run: Watched, state: RunState): Promise<Check> {
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

async function sendRest(run: Watched, state: RunState, results: ResultsFile): Promise<void> {
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
    throw stoppedShort(explain(error), state)
  } finally {
    await view.end()
  }
}

/** A batch whose answer the server may have forgotten is not sent again unasked. */
async function settlePending(run: Watched, state: RunState, results: ResultsFile): Promise<void> {
  const { context, input, settings, keyOf } = run
  const { pending } = state
  if (!pending || !isTooOld(pending, new Date())) return
  if (settings.unanswered === 'skip') return skipPending(input, state, { results, keyOf })
  if (settings.unanswered === undefined) {
    if (!context.io.stdin.isTTY) throw tooOld(pending)
    const lines = `lines ${pending.first_line} to ${pending.last_line}`
    context.output.note(
      `The answer to the batch of ${lines} was lost on ${pending.at}, too long ago to ask for it again: those messages may have been sent. svc messages list --since ${pending.at} tells.`,
    )
    await ask(run, `Send ${lines} again?`)
  }
  const { batch } = pending
  const at = new Date().toISOString()
  await results.append([{ type: 'refused', batch, error: 'unanswered', at }])
  state.pending = null
}

/** Asks on the terminal; Ctrl-C is an answer too. */
async function ask({ context, signal }: Watched, question: string): Promise<void> {
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
      `${rows} of ${state.run.rows} rows are told of: ${settings.results} was edited`,
    )
  }
  if (rejected === 0) return
  throw new Failure(
    'rejected',
    `${rejected} of ${rows} rows were rejected: ${settings.results} says which and why`,
  )
}
