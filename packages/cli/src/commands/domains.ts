import type { Core } from '@svc/core'
import type { Domain, DomainRecord } from '@svc/core/contract'
import type { Command } from 'commander'
import { onWorkspace, operatorOf, withWorkspace } from '../connect/operator.ts'
import { type Context, withExamples } from '../context.ts'
import { confirm } from '../input/prompts.ts'
import { Failure } from '../process/failure.ts'
import { decodePage, listing, type PageOptions, pagingOf, withPage } from '../show/listing.ts'
import type { Cell } from '../show/output.ts'
import { printable } from '../show/text.ts'

interface WorkspaceOption {
  workspace?: string
}

const ONE = 'the name of the domain, or its id'

/** Adds `svc domains`: sending domains, in the database. */
export function addDomains(program: Command, context: Context): void {
  const domains = program
    .command('domains')
    .summary('manage the sending domains of workspaces (operator)')
    .description(
      `Adds, verifies and removes the sending domains of workspaces: own domains in the sender addresses of e-mails. It works
on the database; the server may run meanwhile.`,
    )
  withExamples(domains, 'svc domains add shop.example.com', 'svc domains verify shop.example.com')
  addChanges(domains, context)

  const list = withPage(
    withWorkspace(
      domains
        .command('list')
        .summary('list the sending domains of a workspace')
        .description('Lists the sending domains of a workspace, newest first.'),
    ),
  ).action((options: PageOptions & WorkspaceOption) => listDomains(context, options))
  withExamples(list, 'svc domains list --workspace ops@example.com')

  const show = withWorkspace(
    domains
      .command('show')
      .summary('show a domain and its DNS records')
      .description('Shows a sending domain, the DNS records to publish, and their states.')
      .argument('<domain>', ONE),
  ).action((name: string, options: WorkspaceOption) =>
    onDomain(context, name, options, async (_, domain) => domain),
  )
  withExamples(show, 'svc domains show shop.example.com')
}

function addChanges(domains: Command, context: Context): void {
  const { io } = context
  const add = withWorkspace(
    domains
      .command('add')
      .summary('add a domain and show the DNS records to publish')
      .description(
        'Adds a sending domain, makes its DKIM key, and shows the DNS records to publish.',
      )
      .argument('<domain>', 'the name of the domain'),
  ).action((domain: string, options: WorkspaceOption) => addDomain(context, domain, options))
  withExamples(add, 'svc domains add shop.example.com --workspace ops@example.com')

  const verify = withWorkspace(
    domains
      .command('verify')
      .summary('look for the DNS records of a domain now')
      .description('Looks for the DNS records of a sending domain, and shows their states.')
      .argument('<domain>', ONE),
  ).action((name: string, options: WorkspaceOption) =>
    onDomain(context, name, options, (core, domain, workspaceId) =>
      core.domains.verify(workspaceId, domain.id, operatorOf(io)),
    ),
  )
  withExamples(verify, 'svc domains verify shop.example.com')

  const rotate = withWorkspace(
    domains
      .command('rotate')
      .summary('make a new DKIM key for a verified domain')
      .description(
        'Makes a second DKIM key. The first key signs until the record of the second key is published and verified.',
      )
      .argument('<domain>', ONE),
  ).action((name: string, options: WorkspaceOption) =>
    onDomain(context, name, options, (core, domain, workspaceId) =>
      core.domains.rotate(workspaceId, domain.id, operatorOf(io)),
    ),
  )
  withExamples(rotate, 'svc domains rotate shop.example.com')

  const remove = withWorkspace(
    domains
      .command('remove')
      .summary('remove a domain and its keys')
      .description(
        'Removes a sending domain and its keys, after a confirmation. Queued e-mails with its addresses fail and are refunded.',
      )
      .argument('<domain>', ONE)
      .option('--yes', 'do not ask'),
  ).action((name: string, options: WorkspaceOption & { yes?: boolean }) =>
    removeDomain(context, name, options),
  )
  withExamples(remove, 'svc domains remove shop.example.com --yes')
}

async function addDomain(context: Context, name: string, options: WorkspaceOption): Promise<void> {
  const { io } = context
  const { api, decode } = await import('@svc/core/contract')
  // Decoded here too, so that a wrong name is reported before the database is opened.
  const request = decode(api.domains.create.body, { domain: name })
  const domain = await onWorkspace(io, options.workspace, (core, workspace) =>
    core.domains.create(workspace.id, request, operatorOf(io)),
  )
  await showDomain(context, domain)
}

/** Finds the domain, calls `work` with it, and shows the result. */
async function onDomain(
  context: Context,
  name: string,
  { workspace: selector }: WorkspaceOption,
  work: (core: Core, domain: Domain, workspaceId: string) => Promise<Domain>,
): Promise<void> {
  const domain = await onWorkspace(context.io, selector, async (core, workspace) =>
    work(core, await findDomain(core, workspace.id, name), workspace.id),
  )
  await showDomain(context, domain)
}

/** @throws Failure when the workspace has no such domain. */
async function findDomain(core: Core, workspaceId: string, name: string): Promise<Domain> {
  const { domainName, LIMITS } = await import('@svc/core/contract')
  const wanted = domainName(name)
  const page = { limit: LIMITS.page_size_max, offset: 0 }
  for (let after: string | undefined; ; ) {
    const { domains, next_after } = await core.domains.list(workspaceId, {
      ...page,
      ...(after !== undefined && { after }),
    })
    const found = domains.find(({ id, domain }) => id === name || domain === wanted)
    if (found) return found
    if (next_after === null) break
    after = next_after
  }
  const text = `the workspace has no domain ${printable(name)}: svc domains list shows its domains`
  throw new Failure('not_found', text)
}

async function showDomain({ output }: Context, domain: Domain): Promise<void> {
  const { api } = await import('@svc/core/contract')
  if (output.isJson()) return output.document(api.domains.get.data.encode({ domain }))
  output.fields([
    ['id', domain.id],
    ['domain', domain.domain],
    ['status', statusOf(domain)],
    ['checked', domain.checked_at?.toISOString() ?? 'never'],
  ])
  output.line('')
  output.table(
    ['RECORD', 'TYPE', 'STATE', 'NAME'],
    domain.records.map((record) => [labelOf(record), record.type, stateOf(record), record.name]),
  )
  for (const record of domain.records) {
    if (record.state === 'verified') continue
    output.line(`\n${record.name}\n  ${record.value}`)
    if (record.found !== null) output.line(`  found instead: ${printable(record.found)}`)
  }
  if (domain.check_error !== null) output.note(domain.check_error)
  if (domain.status === 'pending') {
    output.note(`Publish the records, then: svc domains verify ${domain.domain}`)
  }
}

function labelOf({ purpose, is_required }: DomainRecord): string {
  return is_required ? purpose : `${purpose} (advice)`
}

function stateOf({ state, is_required }: DomainRecord): Cell {
  if (state === 'verified') return { text: state, style: 'green' }
  return { text: state, style: is_required && state !== 'pending' ? 'red' : 'yellow' }
}

function statusOf({ status, accepted_until }: Domain): Cell {
  if (status === 'verified') return { text: status, style: 'green' }
  if (status === 'pending') return { text: status, style: 'yellow' }
  const until = accepted_until === null ? '' : `, accepted until ${accepted_until.toISOString()}`
  return { text: `${status}${until}`, style: 'red' }
}

async function listDomains(
  { io, output }: Context,
  options: PageOptions & WorkspaceOption,
): Promise<void> {
  const { api, sliceOf } = await import('@svc/core/contract')
  const { page = 1, limit } = await decodePage(options)
  const { domains, total, next_after } = await onWorkspace(
    io,
    options.workspace,
    (core, workspace) => core.domains.list(workspace.id, sliceOf({ page, limit })),
  )
  const pagination = { total, page, pages: Math.ceil(total / limit), limit }
  listing(output, {
    json: () => api.domains.list.data.encode({ domains, pagination, next_after }),
    headings: ['ID', 'DOMAIN', 'STATUS', 'CHECKED'],
    rows: domains.map((domain) => [
      domain.id,
      domain.domain,
      statusOf(domain),
      domain.checked_at?.toISOString() ?? 'never',
    ]),
    none: 'No sending domain yet: svc domains add <domain> adds one.',
    paging: pagingOf(pagination),
  })
}

async function removeDomain(
  { io, output }: Context,
  name: string,
  options: WorkspaceOption & { yes?: boolean },
): Promise<void> {
  if (!options.yes) {
    const question = `Remove the domain ${printable(name)}? E-mails from its addresses will be refused.`
    await confirm(io, question)
  }
  const { id, domain } = await onWorkspace(io, options.workspace, async (core, workspace) => {
    const found = await findDomain(core, workspace.id, name)
    await core.domains.delete(workspace.id, found.id, operatorOf(io))
    return found
  })
  if (output.isJson()) return output.document({ id, message: 'Domain removed' })
  output.line(`The domain ${domain} is removed.`)
}
