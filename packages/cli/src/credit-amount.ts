import type { Units } from '@svc/core/contract'
import { usage } from './failure.ts'

/**
 * The credits that an argument says, `name` being what the help calls it.
 * @throws Failure for anything but a number with at most six decimals.
 */
export async function readCredits(name: string, text: string): Promise<Units> {
  const { parseCredits } = await import('@svc/core/contract')
  try {
    return parseCredits(text)
  } catch {
    throw usage(`${name} must be a number of credits with at most six decimals, got "${text}"`)
  }
}
