import type { Entry } from '@svc/core'
import type { Command } from 'commander'
import { type Context, type PageOptions, withExamples, withPage } from '../context.ts'
import { usage } from '../failure.ts'
import { findWorkspace, withCore, withWorkspace } from '../operator.ts'

interface GrantOptions {
  workspace?: string
  reason?: string
  id?: string
}

/** Adds `svc credits`: the ledger, on the database. */
export function addCredits(program: Command, context: Context): void {
  const credits = program
    .command('credits')
    .summary('grant credits and show their history (operator)')
    .description(
      'Grants credits and shows the ledger, on the database itself: the server may run meanwhile.',
    )
  withExamples(credits, 'svc credits grant 100 --reason "Welcome"', 'svc credits history')

  const grant = withWorkspace(
    credits
      .command('grant')
      .summary('give credits to a workspace')
      .description(
        'Gives credits to a workspace. With --id it is safe to repeat: one id is granted once.',
      )
      .argument('<amount>', 'credits, with at most six decimals')
      .option('--reason <text>', 'stands in the ledger')
      .option('--id <id>', 'names this grant, so that repeating it gives nothing again'),
  ).action((amount: string, options: GrantOptions) => grantCredits(context, amount, options))
  withExamples(
    grant,
    'svc credits grant 100',
    'svc credits grant 250 --workspace ops@example.com --reason "Invoice 2026-17" --id invoice-2026-17',
  )

  const history = withPage(
    withWorkspace(
      credits
        .command('history')
        .summary('show the ledger of a workspace')
        .description('Shows every change of a balance, newest first.'),
    ),
  ).action((options: PageOptions & { workspace?: string }) => showHistory(context, options))
  withExamples(history, 'svc credits history --limit 10')
}

async function grantCredits(
  { surroundings, output }: Context,
  text: string,
  { workspace: selector, reason, id }: GrantOptions,
): Promise<void> {
  const { creditsOf, formatCredits, parseCredits } = await import('@svc/core/contract')
  const amount = readAmount(text, parseCredits)
  const { entry, repeated, workspace } = await withCore(surroundings, async (core) => {
    const { id: workspaceId } = await findWorkspace(core, selector)
    const grant = { amount, id, actor: 'operator', description: reason }
    const granted = await core.credits.grant(workspaceId, grant)
    return { ...granted, workspace: await core.workspaces.account(workspaceId) }
  })
  if (output.isJson()) {
    const { credits_balance } = workspace
    const transaction = transactionOf(entry, creditsOf)
    return output.document({ transaction, repeated, credits_balance: creditsOf(credits_balance) })
  }
  const balance = `${formatCredits(workspace.credits_balance)} credits available`
  const given = `${formatCredits(entry.amount)} credits`
  output.line(
    repeated
      ? `${id} was granted before (${given}); nothing was given again. ${workspace.email} has ${balance}.`
      : `Gave ${given} to ${workspace.email}: ${balance}.`,
  )
}

function readAmount<T>(text: string, parse: (text: string) => T): T {
  try {
    return parse(text)
  } catch {
    throw usage(`<amount> must be a number of credits with at most six decimals, got "${text}"`)
  }
}

async function showHistory(
  { surroundings, output }: Context,
  options: PageOptions & { workspace?: string },
): Promise<void> {
  const { api, creditsOf, decode, formatCredits } = await import('@svc/core/contract')
  const { page, limit } = decode(api.api_keys.list.query, {
    page: options.page,
    limit: options.limit,
  })
  const found = await withCore(surroundings, async (core) => {
    const workspace = await findWorkspace(core, options.workspace)
    return core.credits.entries(workspace.id, { limit: limit + 1, offset: (page - 1) * limit })
  })
  const shown = found.slice(0, limit)
  if (output.isJson()) {
    return output.document({ transactions: shown.map((entry) => transactionOf(entry, creditsOf)) })
  }
  output.table(
    ['TIME', 'TYPE', 'CREDITS', 'BALANCE', 'REFERENCE', 'DESCRIPTION'],
    shown.map((entry) => [
      entry.created_at.toISOString(),
      entry.kind,
      { text: formatCredits(entry.amount), style: entry.amount < 0 ? 'red' : 'green' },
      formatCredits(entry.balance_after),
      `${entry.ref_type}:${entry.ref_id}`,
      entry.description ?? '',
    ]),
  )
  if (found.length > limit) output.note(`More: --page ${page + 1}`)
}

/** The shape of a transaction in the API. Source: contract section 8. */
function transactionOf(entry: Entry, creditsOf: (amount: Entry['amount']) => number) {
  return {
    id: entry.id,
    type: entry.kind,
    credits: creditsOf(entry.amount),
    balance_after: creditsOf(entry.balance_after),
    description: entry.description,
    channel: entry.channel,
    reference: { type: entry.ref_type, id: entry.ref_id },
    created_at: entry.created_at.toISOString(),
  }
}
