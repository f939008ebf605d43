import { execFileSync, spawnSync } from 'node:child_process'

/** Whether Prometheus' checker is installed; Debian's package is `prometheus`. */
export const isPromtoolInstalled = spawnSync('promtool', ['--version']).status === 0

/** The text for the title of a suite. */
export const PROMTOOL = isPromtoolInstalled
  ? 'promtool'
  : 'promtool (not installed: apt-get install prometheus)'

/** Runs promtool; returns its output, or throws it on a failure. */
export function promtool(args: readonly string[], input = ''): string {
  try {
    return execFileSync('promtool', args, { input, encoding: 'utf8', stdio: 'pipe' })
  } catch (error) {
    const { stdout, stderr } = error as { stdout: string; stderr: string }
    throw new Error(`promtool ${args.join(' ')}: ${stdout}${stderr}`)
  }
}
