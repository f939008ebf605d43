import { createHash, randomUUID } from 'node:crypto'
import { link, readFile, rename, rm, writeFile } from 'node:fs/promises'
import type { Svc } from '@svc/client'
import type { Target } from '../connect/connection.ts'
import { type Explanation, Failure, usage } from '../process/failure.ts'
import { createAddressesSeen } from './addresses-seen.ts'
import type { BulkMessage } from './bulk-message.ts'
import type { InputFile } from './input-file.ts'
import { NOTHING } from './progress.ts'
import { FORMAT, type RunLine, type RunState } from './results-file.ts'

/** A new run, which has no result file yet. */
export function newRun(input: InputFile, message: BulkMessage, target: Target): RunState {
  const { scheduled_at } = message.request
  const run: RunLine = {
    type: 'run',
    format: FORMAT,
    run_id: randomUUID(),
    file: input.name,
    sha256: input.sha256,
    rows: input.rows,
    request_sha256: message.sha256,
    server: target.base_url,
    mode: modeOf(target),
    key_sha256: keyDigest(target),
    scheduled_at: scheduled_at === undefined ? null : String(scheduled_at),
    created_at: new Date().toISOString(),
  }
  const seen = createAddressesSeen()
  return {
    run,
    last_line: 1,
    totals: NOTHING,
    batches: 0,
    pending: null,
    bulk_id: null,
    seen,
    bytes: 0,
  }
}

/**
 * Checks that a run continues with the same file, content, server and workspace.
 * @throws Failure with the difference.
 */
export async function assertSameRun(
  { run, bulk_id }: RunState,
  {
    path,
    input,
    message,
    target,
    client,
  }: {
    path: string
    input: InputFile
    message: BulkMessage
    target: Target
    client: Svc
  },
): Promise<void> {
  const differs = (difference: string) =>
    usage(
      `${path} belongs to another run: ${difference}. Repeat the original command, or use another file with --results, or start again with --restart`,
    )
  if (run.sha256 !== input.sha256) throw differs(`${input.name} has changed since`)
  if (run.request_sha256 !== message.sha256) {
    throw differs('its content, sender, metadata, defaults or times were different')
  }
  if (run.server !== target.base_url) throw differs(`it was sent to ${run.server}`)
  if (run.mode !== modeOf(target)) throw differs(`its API key was a ${run.mode} key`)
  if (run.key_sha256 === keyDigest(target)) return
  // Idempotency keys belong to a workspace: with an API key of another workspace, all messages would be sent again.
  if (bulk_id === null) throw differs('it was started with another API key')
  await client.bulks.get(bulk_id).catch((error: unknown) => {
    const { code } = error as { code?: unknown }
    throw code === 'not_found' ? differs('its API key belonged to another workspace') : error
  })
}

/** Renames a result file, and returns its new path. */
export async function moveAside(path: string, { run }: RunState): Promise<string> {
  const aside = `${path}.${run.run_id}`
  await rename(path, aside)
  return aside
}

/** The failure of a run that stopped early. Its message says how to continue. */
export function stoppedEarly(
  { error, message, exit_code }: Explanation,
  { totals, run }: RunState,
): Failure {
  const progress = `${totals.rows} of ${run.rows.toLocaleString('en')} rows are finished; run the same command again to continue`
  const code = exit_code === 2 || exit_code === 3 ? exit_code : 1
  return new Failure(error, `${message.replace(/\.$/, '')}: ${progress}`, code)
}

function modeOf({ api_key }: Target): RunLine['mode'] {
  return api_key.startsWith('svc_test_') ? 'test' : 'live'
}

function keyDigest({ api_key }: Target): string {
  return createHash('sha256').update(api_key).digest('hex').slice(0, 16)
}

/** Error codes of file systems without hard links. */
const NO_LINKS = new Set(['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS'])

/**
 * Locks a result file against other processes of this machine until `release`. It replaces the lock of a dead process.
 * @throws Failure when another process holds the lock.
 */
export async function lockFile(path: string): Promise<{ release(): Promise<void> }> {
  return hold(`${path}.lock`, path)
}

async function hold(lock: string, path: string): Promise<{ release(): Promise<void> }> {
  const release = () => rm(lock, { force: true })
  if (await take(lock)) return { release }
  await assertDead(lock, path)
  // If several processes find the lock of a dead process at once, only one of them removes it.
  const guard = await hold(`${lock}.lock`, path)
  try {
    await assertDead(lock, path)
    await rm(lock, { force: true })
    if (!(await take(lock))) throw locked(lock, path, await ownerOf(lock))
    return { release }
  } finally {
    await guard.release()
  }
}

async function assertDead(lock: string, path: string): Promise<void> {
  const pid = await ownerOf(lock)
  if (isAlive(pid)) throw locked(lock, path, pid)
}

function locked(lock: string, path: string, pid: number): Failure {
  return new Failure(
    'locked',
    `process ${pid} is sending with ${path}: wait for it, or remove ${lock} if that is another program`,
  )
}

/** Creates the lock file with the process id in one step, so that other processes can always read the owner. */
async function take(lock: string): Promise<boolean> {
  const own = `${lock}.${randomUUID()}`
  const content = `${process.pid}\n`
  await writeFile(own, content, { flag: 'wx', mode: 0o600 })
  try {
    await link(own, lock)
    return true
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException
    if (code === 'EEXIST') return false
    if (!NO_LINKS.has(code)) throw error
  } finally {
    await rm(own, { force: true })
  }
  return writeFile(lock, content, { flag: 'wx', mode: 0o600 }).then(
    () => true,
    (error: NodeJS.ErrnoException) => {
      if (error.code === 'EEXIST') return false
      throw error
    },
  )
}

async function ownerOf(lock: string): Promise<number> {
  return Number(await readFile(lock, 'utf8').catch(() => ''))
}

function isAlive(pid: number): boolean {
  if (!Number.isSafeInteger(pid) || pid < 1) return false
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}
