import type { Core } from '@svc/core'
import type { DoubtfulChoice, DoubtfulMessage } from '@svc/core/operate'
import type { Command } from 'commander'
import { operatorOf, withCore } from '../connect/operator.ts'
import { type Context, withExamples } from '../context.ts'
import { Failure, usage } from '../process/failure.ts'
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
    .summary('send and deliver again')
    .description(
      `Ends the pause of all sending and delivering, whoever began it: a server goes on within about a second.

After a restore, messages that were queued in the backup and due before the restore may have been sent by the server that
is gone: nobody knows. Where there are such messages it has to be said what becomes of them:

  --send-all          they are sent: nobody misses a message, and some may get one twice
  --cancel-doubtful   they fail, and their credits come back: nobody gets one twice, and some may get none

Those that were being handed over just then are asked about at their provider in either case, as after a crash. Webhook
deliveries are made again, with the same webhook-id.`,
    )
    .option('--dry-run', 'only show whether it is paused, what waits and what is doubtful')
    .option('--list', 'with --dry-run: every doubtful message by itself')
    .option('--send-all', 'send the doubtful messages too')
    .option('--cancel-doubtful', 'fail the doubtful messages, and give their credits back')
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
  if (list && !dryRun) throw usage('--list shows, with --dry-run; nothing was resumed')
  const choice = sendAll ? 'send' : cancelDoubtful ? 'cancel' : null
  await withCore(context.io, async (core) => {
    const state = await dispatchState(core)
    if (dryRun) return show(context, core, state, list === true)
    await end(context, core, state, choice)
  })
}

async function show({ output }: Context, core: Core, state: DispatchState, isWhole: boolean) {
  if (output.isJson()) {
    const messages: DoubtfulMessage[] = []
    if (isWhole)
      for await (const message of core.dispatch.doubtfulMessages()) messages.push(message)
    return output.document({
      ...state,
      ...(isWhole && { doubtful_messages: messages.map(documentOf) }),
    })
  }
  showState(output, state)
  if (!isWhole) return
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
      `${doubtful} messages may have been sent after the backup: choose --send-all or --cancel-doubtful`,
      2,
    )
  }
  const resumed = await core.dispatch.resume(choice, operatorOf(io))
  if (output.isJson()) return output.document(resumed)
  if (!resumed.was_paused) return output.line('It was not paused; nothing was changed.')
  if (choice === 'cancel') {
    output.line(`Canceled ${resumed.canceled} doubtful messages; their credits came back.`)
  }
  if (resumed.begun > 0) {
    output.line(`${resumed.begun} were being handed over: their provider is asked.`)
  }
  output.line('Sending and delivering go on, within about a second.')
}
