import type { ErasureReport } from '@svc/core/operate'
import type { Command } from 'commander'
import { onOneOrAll, operatorOf } from '../connect/operator.ts'
import { type Context, withExamples } from '../context.ts'
import { confirm } from '../input/prompts.ts'
import { Failure } from '../process/failure.ts'
import { progressBars } from '../show/progress-bar.ts'
import { counted, printable } from '../show/text.ts'

/** Adds `svc recipients`: the erasure of recipients, in the database. */
export function addRecipients(program: Command, context: Context): void {
  const recipients = program
    .command('recipients')
    .summary('erase a recipient (operator)')
    .description('Erases a recipient. It works on the database; the server may run meanwhile.')
  withExamples(recipients, 'svc recipients erase +14155552671 --dry-run')
  addErase(recipients, context)
}

interface EraseOptions {
  workspace?: string
  dryRun?: boolean
  forgetSuppressions?: boolean
  yes?: boolean
}

/** Adds `svc recipients erase`. */
function addErase(recipients: Command, context: Context): void {
  const erase = recipients
    .command('erase')
    .summary('erase the data of a recipient from the database')
    .description(
      `Erases all data of a recipient from the database, new and old: the recipient and the content of messages and of
their events, received messages, and contacts. Queued messages are canceled and refunded. The command first shows the
data and asks for a confirmation.

The ledger does not change. Suppressions are kept, except with --forget-suppressions: a recipient who wants no messages
must not get them after an erasure. Backups keep their data. If the command is interrupted, run it again.`,
    )
    .argument('<address>', 'a phone number in E.164 format, or an e-mail address')
    .option('--workspace <id-or-email>', 'only in this workspace (default: all workspaces)')
    .option('--dry-run', 'only show the data')
    .option(
      '--forget-suppressions',
      'remove its suppressions too, so that it can receive messages again',
    )
    .option('--yes', 'do not ask')
    .action((address: string, options: EraseOptions) => eraseRecipient(context, address, options))
  withExamples(
    erase,
    'svc recipients erase +14155552671 --dry-run',
    'svc recipients erase asha@example.com --workspace ops@example.com --yes',
  )
}

async function eraseRecipient(
  { io, output }: Context,
  address: string,
  { workspace: selector, dryRun, forgetSuppressions, yes }: EraseOptions,
): Promise<void> {
  await onOneOrAll(io, selector, async (core, workspace) => {
    const scope = { workspace_id: workspace?.id }
    const bars = progressBars(io, { isQuiet: output.isJson() })
    const reportAs = (name: string) => (progress: { done: number; total: number }) =>
      bars.report({ name, ...progress })
    const found = await core.recipients
      .look(address, { ...scope, onProgress: reportAs('searched') })
      .finally(() => bars.end())
    const forgetsSuppressions = forgetSuppressions === true
    if (dryRun) {
      if (output.isJson()) return output.document({ address, ...found })
      return show(output, found, forgetsSuppressions)
    }
    if (!output.isJson()) show(output, found, forgetsSuppressions)
    if (isNothing(found, forgetsSuppressions)) {
      if (output.isJson()) return output.document({ address, ...found })
      return output.note('No data to erase.')
    }
    const where = workspace ? ` in ${workspace.email}` : ''
    if (!yes) await confirm(io, `Erase the data of ${printable(address)}${where}?`)
    const done = await core.recipients
      .erase(
        address,
        { ...scope, forget_suppressions: forgetsSuppressions, onProgress: reportAs('erased in') },
        operatorOf(io),
      )
      .finally(() => bars.end())
    if (output.isJson()) output.document({ address, ...done })
    else output.line(`Erased. Canceled and refunded: ${done.queued}.`)
    const [month] = done.months_not_searched
    if (month !== undefined) throw new Failure('incomplete', notSearched(month))
    if (done.under_way > 0) {
      throw new Failure(
        'incomplete',
        `${counted(done.under_way, 'message is', 'messages are')} still being sent: run the command again in a few minutes`,
      )
    }
  })
}

function show(output: Context['output'], found: ErasureReport, forgetsSuppressions: boolean): void {
  const { messages, queued, received, events, conversations, contacts } = found
  output.fields([
    ['workspaces', String(found.workspaces)],
    ['messages', String(messages)],
    ['waiting to be sent', String(queued)],
    ['received', String(received)],
    ['events', String(events)],
    ['conversations', String(conversations)],
    ['contacts', String(contacts)],
    ['answers to bulks', String(found.answers)],
    ['rejected in bulks', String(found.rejections)],
    ['suppressions', `${found.suppressions}${forgetsSuppressions ? '' : ' (kept)'}`],
  ])
  for (const other of found.other_addresses) {
    output.note(`Its contact also has ${printable(other)}: erase that address too if necessary.`)
  }
  for (const month of found.months_not_searched) output.note(`${notSearched(month)}.`)
}

const notSearched = (month: string) =>
  `the detached month ${month} cannot be erased, because a migration changed the tables since: erase its rows with SQL, or drop its schema (svc partitions status names it)`

function isNothing(
  {
    suppressions,
    workspaces: _,
    other_addresses: __,
    months_not_searched,
    ...counts
  }: ErasureReport,
  forgetsSuppressions: boolean,
): boolean {
  if (months_not_searched.length > 0) return false
  const all = [...Object.values(counts), forgetsSuppressions ? suppressions : 0]
  return all.every((count) => count === 0)
}
