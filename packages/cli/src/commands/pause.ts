import type { Command } from 'commander'
import { operatorOf, withCore } from '../connect/operator.ts'
import { type Context, withExamples } from '../context.ts'
import { usage } from '../process/failure.ts'
import { dispatchState, showState } from '../show/dispatch-report.ts'

interface Options {
  reason: string
  restoredFrom?: string
}

/** Adds `svc pause`. */
export function addPauseAll(program: Command, context: Context): void {
  const command = program
    .command('pause')
    .summary('send and deliver nothing, on every server')
    .description(
      `Stops all sending and all webhook deliveries, on every server of the database, within about a second, until svc resume;
a restart does not end it. What providers were handed before goes its way. Messages go on being accepted, and receipts,
callbacks and incoming messages go on being taken in. Messages may expire meanwhile.

--restored-from is for a PostgreSQL database that was restored by its own tools: run it before a server is started. svc
resume then asks what is to become of messages that may have been sent after that time.`,
    )
    .option('--reason <text>', 'why; it is shown and logged', 'paused by an operator')
    .option(
      '--restored-from <time>',
      'when the backup was made that this database is restored from',
    )
    .action((options: Options) => pause(context, options))
  withExamples(
    command,
    'svc pause --reason "Moving to another machine"',
    'svc pause --restored-from 2026-01-31T23:59:59Z',
  )
}

async function pause({ io, output }: Context, { reason, restoredFrom }: Options): Promise<void> {
  const backup_at = restoredFrom === undefined ? undefined : timeOf(restoredFrom)
  const said = backup_at ? `Restored from a backup of ${backup_at.toISOString()}` : reason
  const state = await withCore(io, async (core) => {
    await core.dispatch.stop({ reason: said, backup_at }, operatorOf(io))
    return dispatchState(core)
  })
  if (output.isJson()) return output.document(state)
  showState(output, state)
  output.line('Nothing is sent or delivered from within about a second on: svc resume ends it.')
}

/** A backup's time has to be told to the second: half of the messages hang on it. */
function timeOf(text: string): Date {
  const isTime = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d{1,3})?)?(Z|[+-]\d\d:\d\d)$/.test(text)
  const time = new Date(isTime ? text : Number.NaN)
  if (Number.isNaN(time.getTime())) {
    throw usage(`--restored-from must be a time such as 2026-01-31T23:59:59Z, got "${text}"`)
  }
  if (time > new Date()) throw usage('--restored-from must be a time that has been')
  return time
}
