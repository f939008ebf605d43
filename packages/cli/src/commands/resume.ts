import type { Core } from '@svc/core'
import type { DoubtfulChoice, DoubtfulMessage } from '@svc/core/operate'
import type { Command } from 'commander'
import { operatorOf, withCore } from '../connect/operator.ts'
import { type Context, withExamples } from '../context.ts'
import { Failure, usage } from '../process/failure.ts'
import { counted } from '../show/counted.ts'
import { type DispatchState, dispatchState, showState, sumOf } from '../show/dispatch-report.ts'

interface Options {
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
    .action((options: Options) => resume(context, options))
  withExamples(
    command,
    'svc resume',
    'svc resume --dry-run',
    'svc resume --dry-run --list --json',
    'svc resume --cancel-doubtful',
  )
}

async function resume(context: Context, options: Options): Promise<void> {
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
