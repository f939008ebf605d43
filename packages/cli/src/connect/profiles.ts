import { mkdir, open, readFile, realpath, rename, rm, stat } from 'node:fs/promises'
import { dirname, isAbsolute, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Failure, misconfigured } from '../process/failure.ts'
import type { ProcessIo } from '../process/process-io.ts'

/** A named server. */
export interface Profile {
  url: string
  key: string
}

/** The profiles of one user. */
interface Profiles {
  /** The name of the default profile. */
  used: string | null
  profiles: ReadonlyMap<string, Profile>
}

/** The maximum number of profiles in the file. */
export const PROFILES_MAX = 100

const BYTES_MAX = 256 * 1024

/** The maximum age of a draft. A change takes milliseconds; the process of an older draft is dead, so it is removed. */
const CHANGE_MAX_MS = 5_000
const LOCK_POLL_MS = 20
const NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,39}$/

/** Whether a text is a valid name of a profile. */
export function isProfileName(name: string): boolean {
  return NAME.test(name)
}

/** The path of the file with the profiles; null if there is no home folder. */
function profilesPath({ env }: Pick<ProcessIo, 'env'>): string | null {
  const home = env.HOME || env.USERPROFILE
  const xdg = env.XDG_CONFIG_HOME
  // Relative paths must be ignored. Source: XDG Base Directory Specification.
  const folder = xdg && isAbsolute(xdg) ? xdg : home && join(home, '.config')
  return folder ? join(folder, 'svc', 'profiles.json') : null
}

/**
 * Reads the profiles. Returns no profiles if there is no file.
 * @throws Failure for a file that cannot be read or has another format.
 */
export async function readProfiles(io: Pick<ProcessIo, 'env'>): Promise<Profiles> {
  const none: Profiles = { used: null, profiles: new Map() }
  const path = profilesPath(io)
  if (path === null) return none
  const text = await textOf(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return null
    throw misconfigured(`cannot read ${path}: ${error.code ?? error.message}`)
  })
  return text === null ? none : profilesOf(text, path)
}

/**
 * Changes the file atomically and returns its path. Only its owner can read the file. Concurrent changes run one after
 * the other.
 */
export async function changeProfiles(
  io: Pick<ProcessIo, 'env'>,
  change: (kept: Profiles) => Profiles,
): Promise<string> {
  const path = profilesPath(io)
  if (path === null)
    throw misconfigured('there is no home folder for profiles: set HOME or XDG_CONFIG_HOME')
  try {
    await mkdir(dirname(path), { recursive: true, mode: 0o700 })
    // If the path is a symbolic link, change the target and not the link.
    await replace(await realpath(path).catch(() => path), async () => {
      const { used, profiles } = change(await readProfiles(io))
      const content = { used, profiles: Object.fromEntries(profiles) }
      return `${JSON.stringify(content, null, 2)}\n`
    })
  } catch (error) {
    if (error instanceof Failure) throw error
    throw misconfigured(`cannot write ${path}: ${(error as NodeJS.ErrnoException).code}`)
  }
  return path
}

/** Replaces the text of a file. The draft is also the lock, because only one process can create it. */
async function replace(path: string, text: () => Promise<string>): Promise<void> {
  const draft = `${path}.new`
  const file = await openExclusively(draft)
  try {
    await file.writeFile(await text())
    await file.close()
    await rename(draft, path)
  } catch (error) {
    await file.close().catch(() => {})
    await rm(draft, { force: true })
    throw error
  }
}

async function openExclusively(draft: string): ReturnType<typeof open> {
  for (;;) {
    try {
      return await open(draft, 'wx', 0o600)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    }
    const stats = await stat(draft).catch(() => null)
    if (stats && Math.abs(Date.now() - stats.mtimeMs) > CHANGE_MAX_MS)
      await rm(draft, { force: true })
    await sleep(LOCK_POLL_MS)
  }
}

async function textOf(path: string): Promise<string> {
  const found = await stat(path)
  if (!found.isFile()) throw new Error('it is not a regular file')
  if (found.size > BYTES_MAX) throw new Error(`it has more than ${BYTES_MAX} bytes`)
  return readFile(path, 'utf8')
}

function profilesOf(text: string, path: string): Profiles {
  const value = parsed(text) as { used?: unknown; profiles?: unknown } | null
  const entries = Object.entries(value?.profiles ?? {}) as [string, unknown][]
  const isSound = entries.every(([name, profile]) => isProfileName(name) && isProfile(profile))
  if (typeof value?.profiles !== 'object' || !isSound) {
    throw misconfigured(`${path} has an unknown format: repair or remove it`)
  }
  const profiles = new Map(entries as [string, Profile][])
  const used = typeof value.used === 'string' && profiles.has(value.used) ? value.used : null
  return { used, profiles }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}

function isProfile(value: unknown): value is Profile {
  const { url, key } = (value ?? {}) as Partial<Profile>
  return typeof url === 'string' && typeof key === 'string'
}
