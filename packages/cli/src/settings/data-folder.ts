import { isAbsolute, join, relative, resolve } from 'node:path'
import type { ProcessIo } from '../process/process-io.ts'
import { defaultOf } from './setting-texts.ts'

/** The absolute path of the folder that the service keeps its files in: SVC_DATA_DIR, or its default in the run's folder. */
export function dataFolder({ env, cwd }: Pick<ProcessIo, 'env' | 'cwd'>): string {
  return resolve(cwd, env.SVC_DATA_DIR?.trim() || defaultOf('SVC_DATA_DIR'))
}

/** The environment with the data folder as an absolute path, for whoever does not know the run's folder. */
export function settingsOf(io: Pick<ProcessIo, 'env' | 'cwd'>): NodeJS.ProcessEnv {
  return { ...io.env, SVC_DATA_DIR: dataFolder(io) }
}

/** A path as it is called from the run's folder: relative where that is shorter to say. */
export function pathFrom(cwd: string, path: string): string {
  const short = relative(cwd, path)
  if (short === '') return '.'
  return isAbsolute(short) || short.startsWith('..') ? path : `.${join('/', short)}`
}
