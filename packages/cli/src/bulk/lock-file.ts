import { randomUUID } from 'node:crypto'
import { link, readFile, rm, writeFile } from 'node:fs/promises'
import { Failure } from '../process/failure.ts'

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
