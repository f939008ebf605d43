import { stat } from 'node:fs/promises'
import type { Core } from '@svc/core'
import type { Channel } from '@svc/core/contract'
import type { Reading } from '@svc/core/operate'
import type { Command } from 'commander'
import { databaseFile, withCore } from '../connect/operator.ts'
import { type Context, withExamples } from '../context.ts'
import { timelineRow } from '../messages/message-rows.ts'
import { explain, Failure, usage } from '../process/failure.ts'
import { stopSignalOf } from '../process/process-io.ts'
import { keepReading } from '../top/reading.ts'
import { canOpenView, openView } from '../views/open-view.ts'

/** The maximum number of failures and failing webhooks in the view, and in printed output. */
const VIEW_MAX = 100
const PRINTED_MAX = 20

interface TopOptions {
  interval: string
  channel?: string
  watch?: boolean
}

/** Adds `svc top`. */
export function addTop(program: Command, context: Context): void {
  const top = program
    .command('top')
    .summary('watch the whole service: rates, queues, problems (operator)')
    .description(
      `Shows the state of the service over all workspaces: problems, rates, queues, providers, webhooks, credits and the
newest failures with their timelines. It reads the database; the server may run meanwhile. Without a terminal, or with
--json, it prints the state once; with --watch it prints one line at each interval.`,
    )
    .option('--interval <seconds>', 'the time between two readings, 0.5 to 60', '1')
    .option(
      '--channel <channel>',
      'show only failures of this channel (sms, whatsapp, email or voice)',
    )
    .option('--watch', 'print lines until Ctrl-C instead of a view')
    .action((options: TopOptions) => showTop(context, options))
  withExamples(
    top,
    'svc top',
    'svc top --json | jq .findings',
    'svc top --watch --interval 10 >> top.log',
  )
}

async function showTop(context: Context, options: TopOptions): Promise<void> {
  const interval_ms = Number(options.interval) * 1000
  if (!(interval_ms >= 500 && interval_ms <= 60_000)) {
    throw usage('--interval must be 0.5 to 60 seconds')
  }
  const channel = await channelOf(options.channel)
  const assertSame = await createSameFile(databaseFile(context.io))
  const { readOnce } = await import('@svc/core/operate')
  await withCore(context.io, (core) => {
    const read = async (limit: number, chosen: Channel | null) => {
      await assertSame()
      return readOnce(core, { limit, channel: chosen })
    }
    const settings = { interval_ms, channel, read }
    if (options.watch) return watch(context, settings)
    if (canOpenView(context)) return view(context, core, settings)
    return printOnce(context, core, channel)
  })
}

interface TopSettings {
  interval_ms: number
  channel: Channel | null
  read: (limit: number, channel: Channel | null) => Promise<Reading>
}

async function view(
  context: Context,
  core: Core,
  { interval_ms, channel, read }: TopSettings,
): Promise<void> {
  const { api } = await import('@svc/core/contract')
  const timelineOf = api.messages.timeline.data
  await openView(context, {
    screen: 'full',
    load: async () =>
      (await import('../views/top.tsx')).topView({
        interval_ms,
        channel,
        style: context.output.style,
        now: () => new Date(),
        read: (chosen) => read(VIEW_MAX, chosen),
        timeline: async ({ workspace_id, id }) =>
          timelineOf
            .encode({ timeline: await core.messages.timeline(workspace_id, id) })
            .timeline.map(timelineRow),
      }),
  })
}

async function printOnce({ output }: Context, core: Core, channel: Channel | null): Promise<void> {
  const [{ createHistory, readOnce }, { readingDocument, readingRows }] = await shownParts()
  const reading = await readOnce(core, { limit: PRINTED_MAX, channel })
  const history = createHistory()
  history.add(reading.overview)
  if (!output.isJson()) return readingRows(reading, history).forEach(output.row)
  const { creditsOf } = await import('@svc/core/contract')
  output.document(readingDocument(reading, history, creditsOf))
}

async function watch(
  { io, output }: Context,
  { interval_ms, channel, read }: TopSettings,
): Promise<void> {
  const { creditsOf } = await import('@svc/core/contract')
  const [{ createHistory }, { readingDocument, WATCH_HEADINGS, watchRow }] = await shownParts()
  const history = createHistory()
  let isOut = false
  output.note(WATCH_HEADINGS.join(output.isTerminal ? '  ' : '\t'))
  await keepReading(() => read(PRINTED_MAX, channel), {
    interval_ms,
    signal: stopSignalOf(io),
    onReading(reading: Reading) {
      if (isOut) output.note('The database is back.')
      isOut = false
      history.add(reading.overview)
      if (output.isJson()) output.document(readingDocument(reading, history, creditsOf))
      else output.row(watchRow(reading, history))
    },
    onOutage(error) {
      if (!isOut) output.note(`The database does not answer; waiting… (${explain(error).message})`)
      isOut = true
    },
  })
}

/** Loaded on use: other commands start faster without them. */
function shownParts() {
  return Promise.all([import('@svc/core/operate'), import('../top/snapshot.ts')])
}

async function channelOf(text: string | undefined): Promise<Channel | null> {
  if (text === undefined) return null
  const { CHANNELS } = await import('@svc/core/contract')
  const known = CHANNELS.find((channel) => channel === text)
  if (known) return known
  throw usage(`there is no channel ${text}: choose from ${CHANNELS.join(', ')}`)
}

/**
 * Returns a check that throws when the file of a database was removed or replaced, because an open connection would
 * read the old file forever. A null `path` means a PostgreSQL database.
 */
export async function createSameFile(path: string | null): Promise<() => Promise<void>> {
  if (path === null) return async () => {}
  const first = await identityOf(path)
  return async () => {
    const now = await identityOf(path)
    if (now === null) throw new Failure('database_gone', `the file ${path} was removed`)
    if (now === first) return
    throw new Failure('database_replaced', `${path} was replaced: start svc top again`)
  }
}

async function identityOf(path: string): Promise<string | null> {
  const found = await stat(path, { bigint: true }).catch(() => null)
  return found && `${found.dev} ${found.ino}`
}
