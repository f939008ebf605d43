import type { Entry, TermsChange } from '@svc/core'
import type { Command } from 'commander'
import { onWorkspace, operatorOf, withWorkspace } from '../connect/operator.ts'
import { type Context, withExamples } from '../context.ts'
import { confirm } from '../input/prompts.ts'
import { accountDocument, accountFields, transactionDocument } from '../show/credit-report.ts'
import { decodePage, listing, type PageOptions, readPage, withPage } from '../show/listing.ts'
import type { Cell } from '../show/output.ts'
import { printable } from '../show/text.ts'
import { addAdjust, addGrant, addTerms } from './credits-change.ts'

/** Adds `svc credits`: accounts and their ledger, in the database. */
export function addCredits(program: Command, context: Context): void {
  const credits = program
    .command('credits')
    .summary('grant and correct credits, set limits, freeze, show the history (operator)')
    .description(
      'Grants and corrects credits, sets limits, freezes workspaces, and shows their ledger. It works on the database; the server may run meanwhile.',
    )
  withExamples(
    credits,
    'svc credits grant 100 --reason "Welcome"',
    'svc credits show',
    'svc credits history',
  )
  addGrant(credits, context)
  addAdjust(credits, context)
  addShow(credits, context)
  addHistory(credits, context)
  addTerms(credits, context)
  addFreeze(credits, context)
  addUnfreeze(credits, context)
}

/** The maximum number of holds, and of expiring grants, that are shown. */
const SHOWN_MAX = 20

/** Adds `svc credits show`. */
function addShow(credits: Command, context: Context): void {
  const show = withWorkspace(
    credits
      .command('show')
      .summary('show the credits and limits of a workspace')
      .description(
        `Shows the available and held credits of a workspace, its limits, the holds of calls, and the unspent grants that expire
next; at most ${SHOWN_MAX} holds and ${SHOWN_MAX} grants.`,
      ),
  ).action((options: { workspace?: string }) => showCredits(context, options))
  withExamples(show, 'svc credits show', 'svc credits show --workspace ops@example.com --json')
}

async function showCredits(
  { io, output }: Context,
  { workspace: selector }: { workspace?: string },
): Promise<void> {
  const contract = await import('@svc/core/contract')
  const { creditsOf, formatCredits } = contract
  const { workspace, account, holds, lots } = await onWorkspace(
    io,
    selector,
    async (core, found) => {
      const { credits } = core
      return {
        workspace: found,
        account: await credits.account(found.id),
        holds: await credits.holds(found.id, { limit: SHOWN_MAX, offset: 0 }),
        lots: (await credits.lots(found.id)).slice(0, SHOWN_MAX),
      }
    },
  )
  if (output.isJson()) {
    return output.document({
      ...accountDocument(workspace, account, contract),
      holds: holds.map(({ message_id, n, amount, expires_at }) => ({
        message_id,
        n,
        credits: creditsOf(amount),
        expires_at: expires_at.toISOString(),
      })),
      lots: lots.map(({ id, amount, remaining, expires_at }) => ({
        transaction_id: id,
        credits: creditsOf(amount),
        remaining: creditsOf(remaining),
        expires_at: expires_at.toISOString(),
      })),
    })
  }
  output.fields(accountFields(workspace, account, contract))
  const rows: Cell[][] = [
    ...holds.map(({ message_id, amount, expires_at }) => [
      'hold',
      expires_at.toISOString(),
      formatCredits(amount),
      `message:${message_id}`,
    ]),
    ...lots.map(({ id, amount, remaining, expires_at }) => [
      'grant',
      expires_at.toISOString(),
      `${formatCredits(remaining)} of ${formatCredits(amount)}`,
      `entry:${id}`,
    ]),
  ]
  if (rows.length === 0) return
  output.line()
  output.table(['EXPIRING', 'AT', 'CREDITS', 'REFERENCE'], rows)
}

/** Adds `svc credits history`. */
function addHistory(credits: Command, context: Context): void {
  const history = withPage(
    withWorkspace(
      credits
        .command('history')
        .summary('show the ledger of a workspace')
        .description(
          `Shows every change of the balance and of the held credits, newest first. Held credits are part of the balance but cannot be
spent; --json shows the available credits, as the API does.`,
        ),
    ),
  ).action((options: PageOptions & { workspace?: string }) => showHistory(context, options))
  withExamples(history, 'svc credits history --limit 10')
}

async function showHistory(
  { io, output }: Context,
  options: PageOptions & { workspace?: string },
): Promise<void> {
  const { formatCredits } = await import('@svc/core/contract')
  const { shown, paging } = await readPage(await decodePage(options), (slice) =>
    onWorkspace(io, options.workspace, (core, { id }) => core.credits.entries(id, slice)),
  )
  const transactions = await Promise.all(shown.map(transactionDocument))
  const signed = (amount: Entry['amount']) =>
    amount > 0 ? `+${formatCredits(amount)}` : formatCredits(amount)
  listing(output, {
    json: () => ({ transactions }),
    headings: ['TIME', 'TYPE', 'CREDITS', 'HELD', 'BALANCE', 'REFERENCE', 'DESCRIPTION'],
    rows: shown.map((entry): Cell[] => [
      entry.created_at.toISOString(),
      entry.kind,
      { text: movement(entry.amount, signed), style: entry.amount < 0 ? 'red' : 'green' },
      { text: movement(entry.held_delta, signed), style: 'yellow' },
      formatCredits(entry.balance_after),
      `${entry.ref_type}:${entry.ref_id}`,
      entry.description ?? '',
    ]),
    paging,
  })
}

/** The text of the amount, or a dash for 0. */
function movement<T extends number>(amount: T, text: (amount: T) => string): string {
  return amount === 0 ? '-' : text(amount)
}

interface FreezeOptions {
  workspace?: string
  reason: string
  yes?: boolean
}

/** Adds `svc credits freeze`. */
function addFreeze(credits: Command, context: Context): void {
  const freeze = withWorkspace(
    credits
      .command('freeze')
      .summary('stop the spending of a workspace')
      .description(
        `Stops the spending of a workspace from its next request on, after a confirmation. Accepted messages are still
sent, refunds are still booked, and credits can still be bought. svc credits unfreeze reverses it.`,
      )
      .requiredOption('--reason <text>', 'the reason, which svc credits show shows')
      .option('--yes', 'do not ask'),
  ).action((options: FreezeOptions) => freezeWorkspace(context, options))
  withExamples(
    freeze,
    'svc credits freeze --reason "Disputed payment"',
    'svc credits freeze --workspace ops@example.com --reason "Disputed payment" --yes',
  )
}

/** Adds `svc credits unfreeze`. */
function addUnfreeze(credits: Command, context: Context): void {
  const unfreeze = withWorkspace(
    credits
      .command('unfreeze')
      .summary('allow a frozen workspace to spend again')
      .description('Allows a frozen workspace to spend again, from its next request on.'),
  ).action(({ workspace }: { workspace?: string }) =>
    setStatus(context, workspace, { change: { status: 'active' }, result: 'may spend again' }),
  )
  withExamples(unfreeze, 'svc credits unfreeze --workspace ops@example.com')
}

async function freezeWorkspace(
  context: Context,
  { workspace, reason, yes }: FreezeOptions,
): Promise<void> {
  const name = workspace === undefined ? 'the workspace' : printable(workspace)
  if (!yes) await confirm(context.io, `Stop the spending of ${name}?`)
  await setStatus(context, workspace, {
    change: { status: 'frozen', reason },
    result: 'is frozen and cannot spend: svc credits unfreeze reverses it',
  })
}

async function setStatus(
  { io, output }: Context,
  selector: string | undefined,
  { change, result }: { change: TermsChange; result: string },
): Promise<void> {
  const { workspace, account } = await onWorkspace(io, selector, async (core, found) => {
    return {
      workspace: found,
      account: await core.credits.setTerms(found.id, change, operatorOf(io)),
    }
  })
  if (!output.isJson()) return output.line(`${workspace.email} ${result}.`)
  output.document(accountDocument(workspace, account, await import('@svc/core/contract')))
}
