import type { Command } from 'commander'
import { operatorOf, withCore } from '../connect/operator.ts'
import { type Context, withExamples } from '../context.ts'
import { usage } from '../process/failure.ts'
import { dispatchState, showProgress, showState } from '../show/dispatch-report.ts'

interface Options {
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
more and the calls that had begun are over. With --no-wait it ends at once. Messages whose call had not begun stay in the
queue, unsent. Only svc resume ends the pause; a restart does not. It does not affect messages that providers have accepted.
The service still accepts messages, receipts, callbacks and incoming messages. Messages may expire during the pause.

--restored-from is for a PostgreSQL database that was restored by its own tools: run the command before you start a server.
svc resume then requires a choice for messages that may have been sent after that time.`,
    )
    .option('--reason <text>', 'the reason, which is shown and logged', 'paused by an operator')
    .option('--restored-from <time>', 'the time of the backup that this database was restored from')
    .option('--no-wait', 'do not wait until the calls that have begun are over')
    .action((options: Options) => pause(context, options))
  withExamples(
    command,
    'svc pause --reason "Moving to another machine"',
    'svc pause --restored-from 2026-01-31T23:59:59Z',
  )
}

async function pause(
  { io, output }: Context,
  { reason, restoredFrom, wait }: Options,
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
