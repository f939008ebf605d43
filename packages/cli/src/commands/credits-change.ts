import { randomUUID } from 'node:crypto'
import type { TermsChange } from '@svc/core'
import type { Units } from '@svc/core/contract'
import type { Command } from 'commander'
import { onWorkspace, operatorOf, withWorkspace } from '../connect/operator.ts'
import { type Context, withExamples } from '../context.ts'
import { momentText } from '../input/time.ts'
import { Failure, usage } from '../process/failure.ts'
import { accountDocument, accountFields, transactionDocument } from '../show/credit-report.ts'
import { counted, printable } from '../show/text.ts'

interface AdjustOptions {
  workspace?: string
  reason: string
  id?: string
  actor: string
  force?: boolean
}

/** Adds `svc credits adjust`. */
export function addAdjust(credits: Command, context: Context): void {
  const adjust = withActor(
    withWorkspace(
      credits
        .command('adjust')
        .summary('correct a balance, up or down')
        .description(
          `Corrects the balance of a workspace. The entry stays in the ledger with its reason; another adjustment reverses it. Each
id is booked once: a repetition with the printed id changes nothing.`,
        )
        .argument('<amount>', 'the credits to add; a negative number takes credits')
        .requiredOption('--reason <text>', 'the reason, recorded in the ledger')
        .option('--id <id>', 'the id of this adjustment (default: a new one, which is printed)')
        .option('--force', 'take more credits than are available'),
    ),
  ).action((amount: string, options: AdjustOptions) => adjustCredits(context, amount, options))
  withExamples(
    adjust,
    'svc credits adjust -5 --reason "Granted twice" --actor asha',
    'svc credits adjust 12.5 --reason "Outage of 4 May" --id outage-2026-05-04 --workspace ops@example.com',
  )
}

async function adjustCredits(
  { io, output }: Context,
  text: string,
  { workspace: selector, reason, id = randomUUID(), actor, force }: AdjustOptions,
): Promise<void> {
  const { creditsOf, formatCredits, units } = await import('@svc/core/contract')
  const amount = await readCredits('<amount>', text.replace(/^\+(?=\d)/, ''))
  const { entry, repeated, workspace } = await onWorkspace(
    io,
    selector,
    async (core, { id: workspaceId }) => {
      const adjustment = { amount, id, actor, reason, force }
      const adjusted = await withRetryHint(id, () => core.credits.adjust(workspaceId, adjustment))
      return { ...adjusted, workspace: await core.workspaces.account(workspaceId) }
    },
  )
  if (output.isJson()) {
    return output.document({
      transaction: await transactionDocument(entry),
      repeated,
      credits_balance: creditsOf(workspace.credits_balance),
    })
  }
  const size = counted(formatCredits(units(Math.abs(entry.amount))), 'credit')
  const moved = entry.amount < 0 ? `Took ${size} from` : `Gave ${size} to`
  const balance = `${counted(formatCredits(workspace.credits_balance), 'credit')} available`
  output.line(
    repeated
      ? `${printable(id)} was booked before (${counted(formatCredits(entry.amount), 'credit')}); nothing was changed. ${workspace.email} has ${balance}.`
      : `${moved} ${workspace.email}: ${balance}. Adjustment ${printable(id)}.`,
  )
}

/**
 * Reads an amount of credits; `name` is the argument or option in errors.
 * @throws Failure for anything except a number with at most six decimals.
 */
export async function readCredits(name: string, text: string): Promise<Units> {
  const { parseCredits } = await import('@svc/core/contract')
  try {
    return parseCredits(text)
  } catch {
    throw usage(`${name} must be a number of credits with at most six decimals, got "${text}"`)
  }
}

/** Adds the option for the actor of an entry. */
function withActor(command: Command): Command {
  return command.option(
    '--actor <name>',
    'your name, recorded in the ledger',
    readActor,
    'operator',
  )
}

function readActor(text: string): string {
  const name = text.trim()
  if (name !== '') return name
  throw usage('--actor must be a name')
}

/**
 * Books an entry with `id`. If the database connection is lost before the commit is confirmed, the failure names the id,
 * so that the operator can repeat the command safely.
 * @throws Failure `commit_unknown` after such a loss, and any other error of `book`.
 */
export async function withRetryHint<T>(id: string, book: () => Promise<T>): Promise<T> {
  try {
    return await book()
  } catch (error) {
    if (codeOf(error) !== 'commit_unknown') throw error
    const message = `the connection to the database was lost, and the entry may or may not be booked: repeat the command with --id ${printable(id)}, which books it only once`
    throw new Failure('commit_unknown', message)
  }
}

/** The code of an error or of one of its causes. */
function codeOf(error: unknown): unknown {
  if (!(error instanceof Error)) return undefined
  const { code } = error as { code?: unknown }
  return code === 'commit_unknown' ? code : codeOf(error.cause)
}

interface GrantOptions {
  workspace?: string
  reason?: string
  id?: string
  actor: string
  expires?: string
}

/** Adds `svc credits grant`. */
export function addGrant(credits: Command, context: Context): void {
  const grant = withActor(
    withWorkspace(
      credits
        .command('grant')
        .summary('give credits to a workspace')
        .description(
          `Gives credits to a workspace. With --id the command is safe to repeat: each id is granted once. With --expires the unspent
credits of the grant expire at that time; credits that expire first are spent first.`,
        )
        .argument('<amount>', 'credits, with at most six decimals')
        .option('--reason <text>', 'the reason, recorded in the ledger')
        .option(
          '--id <id>',
          'the id of this grant: a repetition grants nothing (default: a new one)',
        )
        .option('--expires <when>', 'a duration such as 30d or 12h, or a date (default: never)'),
    ),
  ).action((amount: string, options: GrantOptions) => grantCredits(context, amount, options))
  withExamples(
    grant,
    'svc credits grant 100',
    'svc credits grant 50 --reason "Trial" --expires 30d',
    'svc credits grant 250 --workspace ops@example.com --reason "Invoice 2026-17" --id invoice-2026-17',
  )
}

async function grantCredits(
  { io, output }: Context,
  text: string,
  { workspace: selector, reason, id = randomUUID(), actor, expires }: GrantOptions,
): Promise<void> {
  const { creditsOf, dateTime, decode, formatCredits } = await import('@svc/core/contract')
  const amount = await readCredits('<amount>', text)
  const expires_at =
    expires === undefined ? undefined : decode(dateTime, momentText(expires, { now: new Date() }))
  const { entry, repeated, workspace } = await onWorkspace(
    io,
    selector,
    async (core, { id: workspaceId }) => {
      const grant = { amount, id, actor, description: reason, expires_at }
      const granted = await withRetryHint(id, () => core.credits.grant(workspaceId, grant))
      return { ...granted, workspace: await core.workspaces.account(workspaceId) }
    },
  )
  if (output.isJson()) {
    return output.document({
      transaction: await transactionDocument(entry),
      repeated,
      credits_balance: creditsOf(workspace.credits_balance),
    })
  }
  const balance = `${counted(formatCredits(workspace.credits_balance), 'credit')} available`
  const size = counted(formatCredits(entry.amount), 'credit')
  const until = expires_at ? `, which expire at ${expires_at.toISOString()}` : ''
  output.line(
    repeated
      ? `${printable(id)} was granted before (${size}); nothing was granted again. ${workspace.email} has ${balance}.`
      : `Gave ${size} to ${workspace.email}${until}: ${balance}.`,
  )
}

interface TermsOptions {
  workspace?: string
  creditLimit?: string
  dailyLimit?: string
  lowBalance?: string
}

/** Adds `svc credits terms`. */
export function addTerms(credits: Command, context: Context): void {
  const terms = withWorkspace(
    credits
      .command('terms')
      .summary('set the limits of a workspace')
      .description(
        'Sets the limits of a workspace, from its next request on. A limit without its option does not change.',
      )
      .option('--credit-limit <credits>', 'the largest negative balance')
      .option(
        '--daily-limit <credits>',
        'the most credits that it may spend in a day (UTC), or none',
      )
      .option(
        '--low-balance <credits>',
        'the balance below which the owner is notified, the word never, or the word default: the setting of the service',
      ),
  ).action((options: TermsOptions) => setTerms(context, options))
  withExamples(
    terms,
    'svc credits terms --credit-limit 50 --daily-limit 100',
    'svc credits terms --low-balance default --daily-limit none --workspace ops@example.com',
  )
}

async function setTerms({ io, output }: Context, options: TermsOptions): Promise<void> {
  const change = await changeOf(options)
  const { workspace, account } = await onWorkspace(io, options.workspace, async (core, found) => {
    return {
      workspace: found,
      account: await core.credits.setTerms(found.id, change, operatorOf(io)),
    }
  })
  const contract = await import('@svc/core/contract')
  if (output.isJson()) return output.document(accountDocument(workspace, account, contract))
  output.fields(accountFields(workspace, account, contract))
}

/** @throws Failure when no option asks for a change, and for an invalid amount. */
async function changeOf({
  creditLimit,
  dailyLimit,
  lowBalance,
}: TermsOptions): Promise<TermsChange> {
  const change: TermsChange = {}
  if (creditLimit !== undefined) {
    change.credit_limit = await readCredits('--credit-limit', creditLimit)
  }
  if (dailyLimit !== undefined) {
    change.daily_limit =
      dailyLimit === 'none' ? null : await readCredits('--daily-limit', dailyLimit)
  }
  if (lowBalance === 'default') change.low_balance = 'default'
  else if (lowBalance !== undefined) {
    change.low_balance =
      lowBalance === 'never' ? null : await readCredits('--low-balance', lowBalance)
  }
  if (Object.keys(change).length === 0) {
    throw usage(
      'name a limit: --credit-limit, --daily-limit or --low-balance (svc credits show shows the limits)',
    )
  }
  return change
}
