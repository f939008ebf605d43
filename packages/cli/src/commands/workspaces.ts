import type { QuietHours } from '@svc/core/contract'
import type { Command } from 'commander'
import { onWorkspace, operatorOf, withCore } from '../connect/operator.ts'
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

  const quiet = workspaces
    .command('quiet-hours')
    .summary('show or change the quiet hours of a workspace')
    .description(
      `Shows the local times between which the messages of a workspace wait, after the change if an option asks for one. Each option
replaces the quiet hours of its category; a message without a template is transactional. The owner changes them with PUT /api/v1/account. A server
that runs meanwhile uses them after at most 5 seconds, and the audit log has an entry for each change.`,
    )
    .argument('<workspace>', 'the id or the e-mail address of the workspace')
    .option('--marketing <hours...>', 'such as 21:00-08:00 or 00:00-24:00,sun; or none')
    .option('--transactional <hours...>', 'the same for transactional messages; or none')
    .option('--time-zone <zone>', 'the zone of recipients whose own is not known, such as UTC')
    .action((selector: string, options: QuietHoursOptions) =>
      setQuietHours(context, selector, options),
    )
  withExamples(
    quiet,
    'svc workspaces quiet-hours ops@example.com --marketing 21:00-08:00 00:00-24:00,sun',
    'svc workspaces quiet-hours ops@example.com --marketing none --time-zone Africa/Nairobi',
  )
}

interface QuietHoursOptions {
  marketing?: string[]
  transactional?: string[]
  timeZone?: string
}

async function setQuietHours(
  { io, output }: Context,
  selector: string,
  { timeZone, ...categories }: QuietHoursOptions,
): Promise<void> {
  const { TEMPLATE_CATEGORIES } = await import('@svc/core/contract')
  const asked = TEMPLATE_CATEGORIES.flatMap((category) => {
    const texts = categories[category]
    return texts ? [{ category, hours: texts.flatMap((text) => hoursOf(category, text)) }] : []
  })
  const workspace = await onWorkspace(io, selector, (core, { id, quiet_hours }) => {
    const kept = (quiet_hours ?? []).filter((one) =>
      asked.every(({ category }) => category !== one.category),
    )
    const hours = [...kept, ...asked.flatMap(({ hours }) => hours)]
    const change = {
      ...(asked.length > 0 && { quiet_hours: hours.length === 0 ? null : hours }),
      ...(timeZone !== undefined && { time_zone: timeZone }),
    }
    return core.workspaces.update(id, change, operatorOf(io))
  })
  const { id, email, quiet_hours, time_zone } = workspace
  if (output.isJson()) return output.document({ workspace_id: id, quiet_hours, time_zone })
  output.fields([
    ['workspace', email],
    ...TEMPLATE_CATEGORIES.map((category): [string, string] => [
      category,
      (quiet_hours ?? [])
        .filter((one) => one.category === category)
        .map(textOf)
        .join(' ') || 'none',
    ]),
    ['time zone', time_zone ?? 'UTC'],
  ])
}

/** The quiet hours in a text, which the core checks. */
function hoursOf(category: QuietHours['category'], text: string): QuietHours[] {
  if (text === 'none') return []
  const [times = '', ...days] = text.split(',')
  const [start = '', end = ''] = times.split('-')
  const hours = { category, start, end }
  return [days.length === 0 ? hours : { ...hours, days: days as NonNullable<QuietHours['days']> }]
}

function textOf({ start, end, days = [] }: QuietHours): string {
  return [`${start}-${end}`, ...days].join(',')
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
