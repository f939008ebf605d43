import type { Core } from '@svc/core'
import type { DoubtfulChoice, DoubtfulMessage } from '@svc/core/operate'
import type { Command } from 'commander'
import { operatorOf, withCore } from '../connect/operator.ts'
import { type Context, withExamples } from '../context.ts'
import { Failure, usage } from '../process/failure.ts'
import {
  type DispatchState,
  dispatchState,
  showProgress,
  showState,
  sumOf,
} from '../show/dispatch-report.ts'
import { counted } from '../show/text.ts'

interface PauseOptions {
  reason: string
  restoredFrom?: string
  wait: boolean
}

/** Adds `svc pause`. */
export function addPauseAll(program: Command, context: Context): void {
  const command = program
    .command('pause')
    .summary('pause all sending and delivering, on every server')
    .description(
      `Pauses all sending and all webhook deliveries, on every server of the database, and ends when no server begins a call any
more and the calls that had begun are over. With --no-wait it ends at once, and a server may begin calls for at most five
seconds more. Messages whose call had not begun stay in the queue, unsent. Only svc resume ends the pause; a restart does not.
It does not affect messages that providers have accepted. The service still accepts messages, receipts, callbacks and incoming
messages. Messages may expire during the pause.

--restored-from is for a PostgreSQL database that was restored by its own tools: run the command before you start a server.
svc resume then requires a choice for messages that may have been sent after that time.`,
    )
    .option('--reason <text>', 'the reason, which is shown and logged', 'paused by an operator')
    .option('--restored-from <time>', 'the time of the backup that this database was restored from')
    .option('--no-wait', 'do not wait until the calls that have begun are over')
    .action((options: PauseOptions) => pause(context, options))
  withExamples(
    command,
    'svc pause --reason "Moving to another machine"',
    'svc pause --restored-from 2026-01-31T23:59:59Z',
  )
}

async function pause(
  { io, output }: Context,
  { reason, restoredFrom, wait }: PauseOptions,
): Promise<void> {
  const backup_at = restoredFrom === undefined ? undefined : timeOf(restoredFrom)
  const text = backup_at ? `Restored from a backup of ${backup_at.toISOString()}` : reason
  const state = await withCore(io, async (core) => {
    await core.dispatch.stop({ reason: text, backup_at }, operatorOf(io))
    if (wait) await core.dispatch.standstill({ onProgress: showProgress(output) })
    return dispatchState(core)
  })
  if (output.isJson()) return output.document(state)
  showState(output, state)
  output.line(
    wait
      ? 'No server sends or delivers anything: svc resume ends the pause.'
      : 'All sending and delivering stops within seconds: svc resume ends the pause.',
  )
}

/** Reads the time of a backup. The text must contain minutes, because the time decides which messages are doubtful. */
function timeOf(text: string): Date {
  const isTime = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d{1,3})?)?(Z|[+-]\d\d:\d\d)$/.test(text)
  const time = new Date(isTime ? text : Number.NaN)
  if (Number.isNaN(time.getTime())) {
    throw usage(`--restored-from must be a time such as 2026-01-31T23:59:59Z, got "${text}"`)
  }
  if (time > new Date()) throw usage('--restored-from must be in the past')
  return time
}

interface ResumeOptions {
  dryRun?: boolean
  list?: boolean
  sendAll?: boolean
  cancelDoubtful?: boolean
}

/** Adds `svc resume`. */
export function addResumeAll(program: Command, context: Context): void {
  const command = program
    .command('resume')
    .summary('end the pause of all sending and delivering')
    .description(
      `Ends the pause of all sending and delivering within about a second, whether an operator or a restore set it.

After a restore, messages that were queued in the backup and due before the restore are doubtful: the old server may have
sent them. If there are doubtful messages, choose one of:

  --send-all          sends them: no message is lost, but recipients may get a message twice
  --cancel-doubtful   fails and refunds them: no recipient gets a message twice, but messages may be lost

If an attempt to send a message was in flight at the time of the backup, the service queries the provider about the
message in both cases, as after a crash. Webhook deliveries are repeated with the same webhook-id.`,
    )
    .option('--dry-run', 'only show the pause, the waiting messages and the doubtful messages')
    .option('--list', 'with --dry-run: list every doubtful message')
    .option('--send-all', 'send the doubtful messages too')
    .option('--cancel-doubtful', 'fail the doubtful messages and refund them')
    .action((options: ResumeOptions) => resume(context, options))
  withExamples(
    command,
    'svc resume',
    'svc resume --dry-run',
    'svc resume --dry-run --list --json',
    'svc resume --cancel-doubtful',
  )
}

async function resume(context: Context, options: ResumeOptions): Promise<void> {
  const { dryRun, list, sendAll, cancelDoubtful } = options
  if (sendAll && cancelDoubtful) throw usage('choose one of --send-all and --cancel-doubtful')
  if (list && !dryRun) throw usage('--list needs --dry-run; nothing was resumed')
  const choice = sendAll ? 'send' : cancelDoubtful ? 'cancel' : null
  await withCore(context.io, async (core) => {
    const state = await dispatchState(core)
    if (dryRun) return show(context, core, state, list === true)
    await end(context, core, state, choice)
  })
}

async function show({ output }: Context, core: Core, state: DispatchState, withList: boolean) {
  if (output.isJson()) {
    const messages: DoubtfulMessage[] = []
    if (withList)
      for await (const message of core.dispatch.doubtfulMessages()) messages.push(message)
    return output.document({
      ...state,
      ...(withList && { doubtful_messages: messages.map(documentOf) }),
    })
  }
  showState(output, state)
  if (!withList) return
  output.line()
  for await (const message of core.dispatch.doubtfulMessages()) {
    const { id, workspace_id, channel, recipient, created_at } = message
    output.row([id, workspace_id, channel, recipient, created_at.toISOString()])
  }
}

function documentOf({ token, ...message }: DoubtfulMessage) {
  return { ...message, is_begun: token !== null }
}

async function end(
  { io, output }: Context,
  core: Core,
  state: DispatchState,
  choice: DoubtfulChoice | null,
): Promise<void> {
  const doubtful = sumOf(state.doubtful)
  if (doubtful > 0 && choice === null) {
    if (!output.isJson()) showState(output, state)
    throw new Failure(
      'doubtful',
      `${counted(doubtful, 'message')} may have been sent after the backup: choose --send-all or --cancel-doubtful`,
      2,
    )
  }
  const resumed = await core.dispatch.resume(choice, operatorOf(io))
  if (output.isJson()) return output.document(resumed)
  if (!resumed.was_paused) return output.line('It was not paused; nothing changed.')
  if (choice === 'cancel') {
    output.line(
      `Canceled ${counted(resumed.canceled, 'doubtful message')} and refunded the credits.`,
    )
  }
  if (resumed.begun > 0) {
    output.line(
      `${counted(resumed.begun, 'message was', 'messages were')} in flight: the service queries the providers.`,
    )
  }
  output.line('Sending and delivering start again within about a second.')
}
