import { execFileSync, spawnSync } from 'node:child_process'

/** Whether Prometheus' own checker is there: of Debian's package `prometheus`. */
export const isPromtoolInstalled = spawnSync('promtool', ['--version']).status === 0

/** For the title of a suite. */
export const PROMTOOL = isPromtoolInstalled
  ? 'promtool'
  : 'promtool (not installed: apt-get install prometheus)'

/** Runs it; answers what it says, and throws that when it takes offence. */
export function promtool(args: readonly string[], input = ''): string {
  try {
    return execFileSync('promtool', args, { input, encoding: 'utf8', stdio: 'pipe' })
  } catch (error) {
    const { stdout, stderr } = error as { stdout: string; stderr: string }
    throw new Error(`promtool ${args.join(' ')}: ${stdout}${stderr}`)
  }
}
