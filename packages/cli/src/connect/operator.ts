import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Actor, Core, PaymentProvider } from '@svc/core'
import type { Workspace } from '@svc/core/contract'
import type { Command } from 'commander'
import { Failure, misconfigured, usage } from '../process/failure.ts'
import type { ProcessIo } from '../process/process-io.ts'
import { dataFolder, pathFrom, settingsOf } from '../settings/data-folder.ts'
import { readDevFile } from './dev-file.ts'

/**
 * Opens the core on the configured database, calls `work`, and closes the core. Nothing is dispatched, so a server may
 * run at the same time.
 * @param payments the payment provider; without it no payment provider is called.
 * @throws Failure when there is no database, except with `create`.
 */
export async function withCore<T>(
  io: ProcessIo,
  work: (core: Core) => Promise<T>,
  { create = false, payments }: { create?: boolean; payments?: PaymentProvider } = {},
): Promise<T> {
  if (!create) assertDatabase(io)
  const [{ readConfig, nameServersOf }, { createCore }] = await Promise.all([
    import('@svc/server'),
    import('@svc/core'),
  ])
  const config = readConfig(settingsOf(io))
  const { database_url, public_url, signup_credits, signup_daily_limit, low_balance } = config
  const core = await createCore({
    database_url,
    database_direct_url: config.database_direct_url ?? undefined,
    secrets_keys: config.secrets_keys,
    // Operator commands need no secret, so they work without the key.
    require_secrets_keys: false,
    signup_credits,
    signup_daily_limit,
    // Without SVC_LOW_BALANCE the server's default is unknown here; the server applies it at its next start.
    ...(low_balance !== null && { low_balance }),
    payments,
    providers: config.providers,
    quotas: config.quotas,
    domains_dns: nameServersOf(config),
    public_url: () => public_url,
    ...(config.console === 'on' && { console_url: () => `${public_url}/console` }),
    brand: config.brand,
  })
  try {
    return await work(core)
  } finally {
    await core.close()
  }
}

/** The actor for the audit log: the system user, or the user who called sudo. */
export function operatorOf({ env }: Pick<ProcessIo, 'env'>): Actor {
  const id = env.SUDO_USER || env.USER || env.LOGNAME || 'operator'
  return { kind: 'operator', id, address: null, request_id: null }
}

/** Adds the option that selects the workspace. */
export function withWorkspace(command: Command): Command {
  return command.option(
    '--workspace <id-or-email>',
    'the workspace (default: the demo of svc dev, else the only one)',
  )
}

/** Calls `work` with the core and the workspace of `selector`. @throws Failure as `findWorkspace` and `withCore`. */
export function onWorkspace<T>(
  io: ProcessIo,
  selector: string | undefined,
  work: (core: Core, workspace: Workspace) => Promise<T>,
): Promise<T> {
  return withCore(io, async (core) => work(core, await findWorkspace(core, selector, io)))
}

/** Calls `work` with the workspace of `selector`, or with null for all workspaces if there is no selector. */
export function onOneOrAll<T>(
  io: ProcessIo,
  selector: string | undefined,
  work: (core: Core, workspace: Workspace | null) => Promise<T>,
  options: { payments?: PaymentProvider } = {},
): Promise<T> {
  return withCore(
    io,
    async (core) =>
      work(core, selector === undefined ? null : await findWorkspace(core, selector, io)),
    options,
  )
}

/**
 * Returns the workspace whose id or e-mail address is `selector`. Without a selector it returns the demo workspace of the file
 * of `svc dev` if it is in this database, else the only workspace.
 * @throws Failure when there is no such workspace, and when there are several workspaces and no selector.
 */
async function findWorkspace(
  core: Core,
  selector: string | undefined,
  io: ProcessIo,
): Promise<Workspace> {
  if (selector === undefined) {
    const dev = await readDevFile(dataFolder(io))
    const demo = dev && (await core.workspaces.account(dev.workspace.id).catch(nullWhenNotFound))
    if (demo) return demo
    const [first, second] = await core.workspaces.list({ limit: 2, offset: 0 })
    if (!first)
      throw misconfigured('there is no workspace yet: create one with svc workspaces create')
    if (!second) return first
    throw usage(
      'there are several workspaces: choose one with --workspace <id or e-mail> (svc workspaces list shows them)',
    )
  }
  const found = selector.includes('@')
    ? await core.workspaces.byEmail(selector)
    : await core.workspaces.account(selector).catch(nullWhenNotFound)
  if (found) return found
  throw new Failure(
    'not_found',
    `there is no workspace ${selector}: svc workspaces list shows them`,
  )
}

function nullWhenNotFound(error: unknown): null {
  if ((error as { code?: unknown }).code === 'not_found') return null
  throw error
}

/** Refuses a missing database. In a wrong folder the command would create an empty database and a new secret. */
function assertDatabase(io: ProcessIo): void {
  const file = databaseFile(io)
  if (file === null || existsSync(file)) return
  throw misconfigured(
    `there is no database at ${pathFrom(io.cwd, file)}: start svc dev or svc serve first, or set SVC_DATA_DIR`,
  )
}

/** The file of the configured database; null for PostgreSQL. */
export function databaseFile(io: ProcessIo): string | null {
  const url = io.env.SVC_DATABASE_URL?.trim() || undefined
  if (url === undefined) return join(dataFolder(io), 'svc.db')
  if (url.startsWith('file://')) return fileURLToPath(url)
  return url.startsWith('file:') ? resolve(io.cwd, url.slice('file:'.length)) : null
}
