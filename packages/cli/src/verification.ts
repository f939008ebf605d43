import type { Verification } from '@svc/core'
import { usage } from './failure.ts'

const LEVELS: readonly Verification[] = ['full', 'fast', 'none']

/** How closely a copy is to be looked at. @throws Failure for any other word. */
export function verificationOf(text: string): Verification {
  const found = LEVELS.find((level) => level === text)
  if (!found) throw usage(`--verify must be one of ${LEVELS.join(', ')}, got "${text}"`)
  return found
}
