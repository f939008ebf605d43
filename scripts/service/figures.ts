import { readdirSync, readFileSync } from 'node:fs'

/** Of a process, from `/proc`. */
export interface Figures {
  rss_mib: number
  threads: number
  /** Of all threads, since the process began. */
  cpu_s: number
}

/** What `/proc` counts processor time in, on every Linux. */
const TICKS_PER_S = 100

export function figuresOf(pid: number): Figures {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8')
  const of = (name: string) => Number(new RegExp(`^${name}:\\s+(\\d+)`, 'm').exec(status)?.[1])
  // The name of the program, which may have spaces, is in brackets. Source: proc_pid_stat(5).
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    .replace(/^.*\) /s, '')
    .split(' ')
  return {
    rss_mib: of('VmRSS') / 1024,
    threads: of('Threads'),
    cpu_s: (Number(stat[11]) + Number(stat[12])) / TICKS_PER_S,
  }
}

export function descriptorsOf(pid: number): number {
  return readdirSync(`/proc/${pid}/fd`).length
}

/** How many files this process, and each that it starts, may have open. */
export function descriptorsMax(): number {
  const limits = readFileSync('/proc/self/limits', 'utf8')
  return Number(/^Max open files +(\S+)/m.exec(limits)?.[1] ?? 0)
}
