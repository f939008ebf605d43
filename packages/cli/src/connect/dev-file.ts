import { mkdir, readFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { replaceFile } from '../settings/replace-file.ts'

/** What `svc dev` remembers of a data folder, so that a restart prints the same and client commands find it. */
export interface DevFile {
  url: string
  api_key: string
  workspace: {
    id: string
    email: string
    /** Null when the workspace was there before this file. */
    password: string | null
  }
}

/** The file of a data folder. */
export function devFilePath(folder: string): string {
  return join(folder, 'dev.json')
}

/** What is remembered of the data folder, or null when that is nothing, or nothing that can be read. */
export async function readDevFile(folder: string): Promise<DevFile | null> {
  try {
    const value: unknown = JSON.parse(await readFile(devFilePath(folder), 'utf8'))
    return isDevFile(value) ? value : null
  } catch {
    return null
  }
}

/** Remembers, readable by its owner only; a reader sees the old file or the new one, never half of one. */
export async function writeDevFile(folder: string, content: DevFile): Promise<void> {
  const file = devFilePath(folder)
  await mkdir(dirname(file), { recursive: true })
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
