import type { ApiKey, ApiKeyMode } from '@svc/core/contract'
import { type Command, Option } from 'commander'
import { onWorkspace, operatorOf, withWorkspace } from '../connect/operator.ts'
import { type Context, listOf, withExamples } from '../context.ts'
import { confirm } from '../input/prompts.ts'
import { durationMs, momentText } from '../input/time.ts'
import { usage } from '../process/failure.ts'
import { decodePage, listing, type PageOptions, pagingOf, withPage } from '../show/listing.ts'
import type { Cell } from '../show/output.ts'
import { printable } from '../show/text.ts'

interface CreateOptions {
  workspace?: string
  name: string
  scopes?: string
  mode?: ApiKeyMode
  test?: boolean
  expires?: string
  twilio?: boolean
}

interface RevokeOptions {
  workspace?: string
  yes?: boolean
}

/** Adds `svc keys`: API keys, in the database. */
export function addKeys(program: Command, context: Context): void {
  const keys = program
    .command('keys')
    .summary('create, list and revoke API keys (operator)')
    .description(
      'Creates, lists and revokes API keys. It works on the database; the server may run meanwhile.',
    )
  withExamples(keys, 'svc keys create --name "Web shop"', 'svc keys list')

  const create = withWorkspace(
    keys
      .command('create')
      .summary('create an API key')
      .description('Creates an API key and prints it. The key is shown only once.')
      .requiredOption('--name <name>', 'a name that describes its use')
      .option(
        '--scopes <list>',
        'the scopes, separated by commas (default: all; for a test key send_messages,read_messages)',
      )
      .addOption(
        new Option(
          '--mode <mode>',
          'a test key uses the sandbox, is never charged, and reads test data only (default: live)',
        ).choices(['live', 'test']),
      )
      .addOption(new Option('--test', 'the same as --mode test').conflicts('mode'))
      .option('--expires <when>', 'a duration such as 30d or 12h, or a date (default: never)')
      .option(
        '--twilio',
        'for an application that uses the twilio package: the key also signs callbacks, as an auth token does; prints the account SID',
      ),
  ).action((options: CreateOptions) => createKey(context, options))
  withExamples(
    create,
    'svc keys create --name "Web shop" --scopes send_messages,read_messages',
    'svc keys create --name CI --mode test --expires 30d',
    'svc keys create --name "Old shop" --twilio',
  )

  const list = withPage(
    withWorkspace(
      keys
        .command('list')
        .summary('list the API keys of a workspace')
        .description(
          'Lists the API keys of a workspace, newest first. The keys themselves are not stored.',
        ),
    ),
  ).action((options: PageOptions & { workspace?: string }) => listKeys(context, options))
  withExamples(list, 'svc keys list --workspace ops@example.com')

  const revoke = withWorkspace(
    keys
      .command('revoke')
      .summary('revoke an API key at once and permanently')
      .description(
        'Revokes an API key permanently, after a confirmation: the next request with it is refused.',
      )
      .argument('<id>', 'the id of the key, as svc keys list shows it')
      .option('--yes', 'do not ask'),
  ).action((id: string, options: RevokeOptions) => revokeKey(context, id, options))
  withExamples(
    revoke,
    'svc keys revoke 01934f5e-8c00-7a3b-9d2e-5f6a7b8c9d01',
    'svc keys revoke 01934f5e-8c00-7a3b-9d2e-5f6a7b8c9d01 --yes',
  )
}

async function createKey({ io, output }: Context, options: CreateOptions): Promise<void> {
  const { api, decode } = await import('@svc/core/contract')
  // Decoded here too, so that a wrong option is reported before the database is opened.
  const { daily_credit_limit: _, ...request } = decode(api.api_keys.create.body, {
    name: options.name,
    ...(options.scopes !== undefined && { scopes: listOf(options.scopes) }),
    ...(options.mode && { mode: options.mode }),
    ...(options.test && { mode: 'test' }),
    ...(options.expires !== undefined && { expires_at: expiryOf(options.expires) }),
    ...(options.twilio && { signs: true }),
  })
  const created = await onWorkspace(io, options.workspace, (core, workspace) =>
    core.apiKeys.create(workspace.id, request, operatorOf(io)),
  )
  if (output.isJson()) return output.document(api.api_keys.create.data.encode(created))
  const { account_sid, key_sid } = created
  output.fields([
    ['id', created.id],
    ['name', created.name],
    ...(account_sid === undefined ? [] : [['account SID', account_sid] as const]),
    ...(key_sid === undefined ? [] : [['key SID', key_sid] as const]),
    [options.twilio ? 'auth token' : 'key', { text: created.key, style: 'bold' }],
    ['scopes', created.scopes.join(', ')],
    ['mode', created.mode],
    ['expires', created.expires_at?.toISOString() ?? 'never'],
  ])
  output.note(created.warning)
  if (options.twilio) output.note(changedLine(io.env.SVC_PUBLIC_URL))
}

function changedLine(publicUrl = 'http://127.0.0.1:3000'): string {
  return `In the application, set the account SID and the auth token, and add one line after
const client = twilio(accountSid, authToken):
  client.api.baseUrl = '${publicUrl.replace(/\/$/, '')}/compat/twilio'`
}

/** Turns a duration from now into ISO 8601. Returns any other text unchanged; the contract refuses invalid times. */
function expiryOf(text: string): string {
  if (durationMs(text) === 0) throw usage('--expires must be later than now')
  return momentText(text, { now: new Date() })
}

async function listKeys(
  { io, output }: Context,
  options: PageOptions & { workspace?: string },
): Promise<void> {
  const { api, sliceOf } = await import('@svc/core/contract')
  const { page = 1, limit } = await decodePage(options)
  const { api_keys, total, next_after } = await onWorkspace(
    io,
    options.workspace,
    (core, workspace) => core.apiKeys.list(workspace.id, sliceOf({ page, limit })),
  )
  const pagination = { total, page, pages: Math.ceil(total / limit), limit }
  const now = new Date()
  listing(output, {
    json: () => api.api_keys.list.data.encode({ api_keys, pagination, next_after }),
    headings: ['ID', 'NAME', 'KEY', 'STATE', 'SCOPES', 'LAST USED'],
    rows: api_keys.map((key) => [
      key.id,
      key.name,
      key.key_prefix,
      stateOf(key, now),
      key.scopes.join(','),
      key.last_used_at?.toISOString() ?? 'never',
    ]),
    none: 'No API key yet: svc keys create --name <name> creates one.',
    paging: pagingOf(pagination),
  })
}

function stateOf({ is_active, expires_at, mode }: ApiKey, now: Date): Cell {
  if (!is_active) return { text: 'revoked', style: 'red' }
  if (expires_at && expires_at <= now) return { text: 'expired', style: 'red' }
  return { text: mode, style: mode === 'live' ? 'green' : 'yellow' }
}

async function revokeKey(
  { io, output }: Context,
  id: string,
  options: RevokeOptions,
): Promise<void> {
  if (!options.yes) {
    const question = `Revoke the API key ${printable(id)}? All requests with it will be refused.`
    await confirm(io, question)
  }
  await onWorkspace(io, options.workspace, async (core, workspace) => {
    await core.apiKeys.deactivate(workspace.id, id, operatorOf(io))
  })
  if (output.isJson()) return output.document({ id, message: 'API key deactivated' })
  output.line(`API key ${id} is revoked: the next request with it is refused.`)
}
