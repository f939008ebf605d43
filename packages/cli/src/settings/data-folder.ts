import { isAbsolute, join, relative, resolve } from 'node:path'
import type { ProcessIo } from '../process/process-io.ts'
import { defaultOf } from './setting-names.ts'

/** The absolute path of the data folder: SVC_DATA_DIR or its default, from the current folder. */
export function dataFolder({ env, cwd }: Pick<ProcessIo, 'env' | 'cwd'>): string {
  return resolve(cwd, env.SVC_DATA_DIR?.trim() || defaultOf('SVC_DATA_DIR'))
}

/** The environment with an absolute SVC_DATA_DIR, for code that does not know the current folder. */
export function settingsOf(io: Pick<ProcessIo, 'env' | 'cwd'>): NodeJS.ProcessEnv {
  return { ...io.env, SVC_DATA_DIR: dataFolder(io) }
}

/** Returns a path relative to `cwd`, or the unchanged path if it is outside `cwd`. */
export function pathFrom(cwd: string, path: string): string {
  const relativePath = relative(cwd, path)
  if (relativePath === '') return '.'
  return isAbsolute(relativePath) || relativePath.startsWith('..')
    ? path
    : `.${join('/', relativePath)}`
}
