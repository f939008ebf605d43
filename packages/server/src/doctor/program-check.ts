import { type Finding, findingsOf } from './finding.ts'

/** Major versions without fixes, with the end of their support. Source: the release schedule of Node.js. */
const ENDED: Record<number, string> = { 20: 'April 2026', 21: 'June 2024', 23: 'June 2025' }

const SUPPORTED = '20.19, 22.14 or 24'

/** Checks that this version of Node is supported. */
export function checkProgram(version: string): Finding[] {
  const is = findingsOf('node')
  const [major = 0, minor = 0] = version.replace(/^v/, '').split('.').map(Number)
  const isSupported = (major === 20 && minor >= 19) || (major === 22 && minor >= 14) || major >= 24
  if (!isSupported) {
    return [is.error(`Node ${version} is not supported`, `install ${SUPPORTED}, or newer`)]
  }
  const ended = ENDED[major]
  if (ended === undefined) return [is.ok(`Node ${version}`)]
  return [
    is.warning(
      `Node ${version} has had no security fixes since ${ended}`,
      'install Node 24 (or 22); the database needs no change',
    ),
  ]
}
