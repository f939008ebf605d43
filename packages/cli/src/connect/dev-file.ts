import { readFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { replaceFile } from '../settings/replace-file.ts'

/** The file that `svc dev` keeps in its data folder, for its next start and for client commands. */
export interface DevFile {
  url: string
  api_key: string
  workspace: {
    id: string
    email: string
    /** The password; null when the workspace is older than this file. */
    password: string | null
  }
}

/** The path of the file in a data folder. */
export function devFilePath(folder: string): string {
  return join(folder, 'dev.json')
}

/** Reads the file; null when it is missing or invalid. */
export async function readDevFile(folder: string): Promise<DevFile | null> {
  try {
    const value: unknown = JSON.parse(await readFile(devFilePath(folder), 'utf8'))
    return isDevFile(value) ? value : null
  } catch {
    return null
  }
}

/** Writes the file atomically, readable by its owner only. */
export async function writeDevFile(folder: string, content: DevFile): Promise<void> {
  const file = devFilePath(folder)
  const { makeFolder } = await import('@svc/core/operate')
  makeFolder(dirname(file), 0o777)
  await replaceFile(file, `${JSON.stringify(content, null, 2)}\n`, { mode: 0o600 })
}

function isDevFile(value: unknown): value is DevFile {
  if (typeof value !== 'object' || value === null) return false
  const { url, api_key, workspace } = value as Partial<DevFile>
  if (typeof workspace !== 'object' || workspace === null) return false
  const { id, email, password } = workspace
  const isPassword = password === null || typeof password === 'string'
  return [url, api_key, id, email].every((text) => typeof text === 'string') && isPassword
}
