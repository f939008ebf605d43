import { readFile } from 'node:fs/promises'
import { packageFile } from '../pages/page.ts'

/** The files of the built console. */
export interface Bundle {
  /** The script with which the console begins, and the files that its first page needs. */
  main: string
  styles: string
  icon: string
  /** All files, by name, with their sizes in bytes. Beside each is its compressed form, with `.br` behind the name. */
  files: Record<string, { bytes: number; brotli_bytes: number; is_initial: boolean }>
}

/** The folder of the built console in this package. */
export const BUNDLE_FOLDER = packageFile('@svc/server', 'dist/console')

/** Reads the list of the console's files; null if the package was not built. */
export async function readBundle(folder: string): Promise<Bundle | null> {
  try {
    return JSON.parse(await readFile(`${folder}/bundle.json`, 'utf8')) as Bundle
  } catch (error) {
    if ((error as { code?: unknown }).code === 'ENOENT') return null
    throw error
  }
}
