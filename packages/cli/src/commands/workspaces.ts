import type { Command } from 'commander'
import { operatorOf, withCore } from '../connect/operator.ts'
import { type Context, withExamples } from '../context.ts'
import { readPassword } from '../input/prompts.ts'
import { decodePage, listing, type PageOptions, readPage, withPage } from '../show/listing.ts'

interface CreateOptions {
  name: string
  email: string
  phone?: string
  country?: string
  passwordStdin?: boolean
}

/** Adds `svc workspaces`: accounts, in the database. */
export function addWorkspaces(program: Command, context: Context): void {
  const workspaces = program
    .command('workspaces')
    .summary('create and list workspaces (operator)')
    .description(
      'Creates and lists workspaces. It works on the database; the server may run meanwhile.',
    )
  withExamples(workspaces, 'svc workspaces list')

  const create = workspaces
    .command('create')
    .summary('create a workspace')
    .description(
      `Creates a workspace, and the database if it does not exist. The e-mail address counts as verified. The command asks for the
password; --password-stdin reads it from stdin.`,
    )
    .requiredOption('--name <name>', 'the name of the company or team')
    .requiredOption('--email <address>', 'the e-mail address for the login')
    .option('--phone <number>', 'a phone number in E.164 format')
    .option('--country <country>', 'a country')
    .option('--password-stdin', 'read the password from the first line of stdin')
    .action((options: CreateOptions) => createWorkspace(context, options))
  withExamples(
    create,
    'svc workspaces create --name Example --email ops@example.com',
    'openssl rand -base64 18 | tee password.txt |\n  svc workspaces create --name Example --email ops@example.com --password-stdin',
  )

  const list = withPage(
    workspaces
      .command('list')
      .summary('list the workspaces')
      .description('Lists the workspaces, oldest first.'),
  ).action((options: PageOptions) => listWorkspaces(context, options))
  withExamples(list, 'svc workspaces list')
}

async function createWorkspace({ io, output }: Context, options: CreateOptions): Promise<void> {
  const { api, decode, formatCredits } = await import('@svc/core/contract')
  const { name, email, phone, country } = options
  const password = await readPassword(io, { fromStdin: options.passwordStdin === true })
  const request = decode(api.workspaces.signup.body, {
    email,
    password,
    company_name: name,
    ...(phone !== undefined && { phone }),
    ...(country !== undefined && { country }),
  })
  const workspace = await withCore(io, (core) => core.workspaces.create(request, operatorOf(io)), {
    create: true,
  })
  const message = 'Workspace created'
  if (output.isJson()) {
    return output.document(api.workspaces.signup.data.encode({ workspace, message }))
  }
  output.fields([
    ['id', workspace.id],
    ['name', workspace.name],
    ['email', workspace.email],
    ['credits', formatCredits(workspace.credits_balance)],
  ])
  output.note('Next: svc credits grant 100 and svc keys create --name <name>')
}

async function listWorkspaces({ io, output }: Context, options: PageOptions): Promise<void> {
  const { formatCredits, workspace } = await import('@svc/core/contract')
  const { shown, paging } = await readPage(await decodePage(options), (slice) =>
    withCore(io, (core) => core.workspaces.list(slice)),
  )
  listing(output, {
    json: () => ({ workspaces: shown.map((record) => workspace.encode(record)) }),
    headings: ['ID', 'NAME', 'EMAIL', 'CREDITS', 'CREATED'],
    rows: shown.map(({ id, name, email, credits_balance, created_at }) => [
      id,
      name,
      email,
      formatCredits(credits_balance),
      created_at.toISOString(),
    ]),
    paging,
  })
}
