import { dirname, resolve } from 'node:path'
import type { Setting } from '@svc/server/settings'
import { holdsSecret } from '@svc/server/settings'
import { misconfigured } from '../process/failure.ts'
import type { ProcessIo } from '../process/process-io.ts'
import { pathFrom } from './data-folder.ts'
import { replaceFile } from './replace-file.ts'

/** Writes a configuration file atomically. If it contains a secret, only its owner can read it. */
export async function writeConfigFile(
  path: string,
  shown: string,
  settings: readonly { setting: Setting; text: string }[],
  { cwd }: Pick<ProcessIo, 'cwd'>,
): Promise<void> {
  const folder = dirname(path)
  const members = settings.map(({ setting, text }) => [
    setting.key,
    jsonOf(setting, text, { cwd, folder }),
  ])
  const isSecret = settings.some(({ setting, text }) => holdsSecret(setting, text))
  try {
    const { makeFolder } = await import('@svc/core/operate')
    makeFolder(folder, 0o777)
    const json = JSON.stringify(Object.fromEntries(members), null, 2)
    await replaceFile(path, `${json}\n`, { mode: isSecret ? 0o600 : 0o644 })
  } catch (error) {
    throw misconfigured(`cannot write ${shown}: ${(error as NodeJS.ErrnoException).code}`)
  }
}

/** The JSON value of a setting. Paths in `text` start at the current folder, and paths in JSON at the file's folder. */
function jsonOf(
  { kind }: Setting,
  text: string,
  { cwd, folder }: { cwd: string; folder: string },
): unknown {
  if (kind === 'path') return pathFrom(folder, resolve(cwd, text))
  const file = kind === 'database' && /^file:(?!\/\/)(.+)$/.exec(text)?.[1]
  if (file) return `file:${pathFrom(folder, resolve(cwd, file))}`
  if (kind === 'number' && String(Number(text)) === text) return Number(text)
  if (kind === 'boolean') return text === 'true'
  return kind === 'list' ? text.split(',').map((item) => item.trim()) : text
}
