import { mkdir, open, readFile, realpath, rename, rm, stat } from 'node:fs/promises'
import { dirname, isAbsolute, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Failure, misconfigured } from '../process/failure.ts'
import type { ProcessIo } from '../process/process-io.ts'

/** A server that is called by a name. */
export interface Profile {
  url: string
  key: string
}

/** What is kept of the servers of one user. */
export interface Profiles {
  /** The name of the one that is used where none is named. */
  used: string | null
  profiles: ReadonlyMap<string, Profile>
}

/** As many as one keeps. */
export const PROFILES_MAX = 100

const BYTES_MAX = 256 * 1024

/** A change takes milliseconds. What takes longer was cut off, and holds up nobody. */
const CHANGE_MAX_MS = 5_000
const LOOK_EVERY_MS = 20
const NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,39}$/

/** Whether a profile may be called so. */
export function isProfileName(name: string): boolean {
  return NAME.test(name)
}

/** The file of the profiles; null where nothing says whose they are. */
export function profilesPath({ env }: Pick<ProcessIo, 'env'>): string | null {
  const home = env.HOME || env.USERPROFILE
  const xdg = env.XDG_CONFIG_HOME
  // A relative one is to be ignored. Source: XDG Base Directory Specification.
  const folder = xdg && isAbsolute(xdg) ? xdg : home && join(home, '.config')
  return folder ? join(folder, 'svc', 'profiles.json') : null
}

/**
 * The profiles that are kept; none where there is no file.
 * @throws Failure for a file that cannot be read, or is not what `changeProfiles` wrote.
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
 * Changes what is kept, readable by its owner only, and answers the file. A reader sees the old file or the new one,
 * never half of one; of those who change it at the same time, each changes what the one before left.
 */
export async function changeProfiles(
  io: Pick<ProcessIo, 'env'>,
  change: (kept: Profiles) => Profiles,
): Promise<string> {
  const path = profilesPath(io)
  if (path === null) throw misconfigured('nowhere to keep profiles: set HOME or XDG_CONFIG_HOME')
  try {
    await mkdir(dirname(path), { recursive: true, mode: 0o700 })
    // What a link leads to is changed, and not the link.
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

/** Replaces a file's text; the draft, which only one can make, keeps the others from reading meanwhile. */
async function replace(path: string, text: () => Promise<string>): Promise<void> {
  const draft = `${path}.new`
  const file = await openAlone(draft)
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

async function openAlone(draft: string): ReturnType<typeof open> {
  for (;;) {
    try {
      return await open(draft, 'wx', 0o600)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    }
    const begun = await stat(draft).catch(() => null)
    if (begun && Math.abs(Date.now() - begun.mtimeMs) > CHANGE_MAX_MS)
      await rm(draft, { force: true })
    await sleep(LOOK_EVERY_MS)
  }
}

async function textOf(path: string): Promise<string> {
  const found = await stat(path)
  if (!found.isFile()) throw new Error('it is no file')
  if (found.size > BYTES_MAX) throw new Error(`it has more than ${BYTES_MAX} bytes`)
  return readFile(path, 'utf8')
}

function profilesOf(text: string, path: string): Profiles {
  const value = parsed(text) as { used?: unknown; profiles?: unknown } | null
  const entries = Object.entries(value?.profiles ?? {}) as [string, unknown][]
  const isSound = entries.every(([name, profile]) => isProfileName(name) && isProfile(profile))
  if (typeof value?.profiles !== 'object' || !isSound) {
    throw misconfigured(`${path} is not what svc profiles wrote: mend or remove it`)
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
