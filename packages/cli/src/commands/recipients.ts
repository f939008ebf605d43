import type { ErasureReport } from '@svc/core'
import type { Command } from 'commander'
import { findWorkspace, operatorOf, withCore } from '../connect/operator.ts'
import { type Context, withExamples } from '../context.ts'
import { confirm } from '../input/confirm.ts'
import { Failure } from '../process/failure.ts'
import { progressBars } from '../show/progress-bar.ts'
import { printable } from '../show/text.ts'

/** Adds `svc recipients`: who was written to, on the database. */
export function addRecipients(program: Command, context: Context): void {
  const recipients = program
    .command('recipients')
    .summary('erase somebody who was written to (operator)')
    .description(
      'Erases somebody who was written to, on the database itself: the server may run meanwhile.',
    )
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
    .summary('take all that tells of an address out of the database')
    .description(
      `Takes all that tells of an address out of the database, whatever its age: of messages to it whom they went to and
what they said, and the same out of their events; what was received from it; its contacts. What waits to be sent to it
is canceled and refunded. Shows first what there is, and asks.

The ledger stays as it is. So do suppressions, unless told: whoever wants no more messages must not get them because he
was forgotten. Backups keep what they have. Run again, it goes on with what is left.`,
    )
    .argument('<address>', 'a phone number in E.164 format, or an e-mail address')
    .option('--workspace <id-or-email>', 'only in this workspace (default: in all of them)')
    .option('--dry-run', 'only show what there is')
    .option('--forget-suppressions', 'remove its suppressions too: it can be written to again')
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
  await withCore(io, async (core) => {
    const workspace = selector === undefined ? null : await findWorkspace(core, selector)
    const scope = { workspace_id: workspace?.id }
    const bars = progressBars(io, { isQuiet: output.isJson() })
    const tell = (name: string) => (progress: { done: number; total: number }) =>
      bars.report({ name, ...progress })
    const there = await core.recipients
      .look(address, { ...scope, onProgress: tell('looked through') })
      .finally(() => bars.end())
    const isForgotten = forgetSuppressions === true
    if (dryRun) {
      if (output.isJson()) return output.document({ address, ...there })
      return show(output, there, isForgotten)
    }
    if (!output.isJson()) show(output, there, isForgotten)
    if (isNothing(there, isForgotten)) {
      if (output.isJson()) return output.document({ address, ...there })
      return output.note('There is nothing to erase.')
    }
    const where = workspace ? ` in ${workspace.email}` : ''
    if (!yes) await confirm(io, `Erase all that tells of ${printable(address)}${where}?`)
    const done = await core.recipients
      .erase(
        address,
        { ...scope, forget_suppressions: isForgotten, onProgress: tell('erased in') },
        operatorOf(io),
      )
      .finally(() => bars.end())
    if (output.isJson()) output.document({ address, ...done })
    else output.line(`Erased. Canceled and refunded: ${done.queued}.`)
    if (done.under_way > 0) {
      throw new Failure(
        'incomplete',
        `${messagesText(done.under_way)} still under way: run it again in some minutes`,
      )
    }
  })
}

function show(output: Context['output'], there: ErasureReport, isForgotten: boolean): void {
  const { messages, queued, received, events, conversations, contacts, answers } = there
  output.fields([
    ['workspaces', String(there.workspaces)],
    ['messages', String(messages)],
    ['waiting to be sent', String(queued)],
    ['received', String(received)],
    ['events', String(events)],
    ['conversations', String(conversations)],
    ['contacts', String(contacts)],
    ['answers to bulks', String(answers)],
    ['suppressions', `${there.suppressions}${isForgotten ? '' : ' (kept)'}`],
  ])
  for (const other of there.other_addresses) {
    output.note(`Its contact has ${printable(other)} too: erase that as well if it is meant.`)
  }
}

function isNothing(
  { suppressions, workspaces: _, other_addresses: __, ...counts }: ErasureReport,
  isForgotten: boolean,
): boolean {
  const all = [...Object.values(counts), isForgotten ? suppressions : 0]
  return all.every((count) => count === 0)
}

function messagesText(count: number): string {
  return count === 1 ? '1 message is' : `${count} messages are`
}
