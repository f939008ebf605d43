import { readdirSync, readFileSync } from 'node:fs'

/** Figures of a process, from `/proc`. */
export interface Figures {
  rss_mib: number
  threads: number
  /** Of all threads, since the start of the process. */
  cpu_s: number
}

/** The unit of processor time in `/proc`, on every Linux. */
const TICKS_PER_S = 100

export function figuresOf(pid: number): Figures {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8')
  const of = (name: string) => Number(new RegExp(`^${name}:\\s+(\\d+)`, 'm').exec(status)?.[1])
  // The name of the program is in brackets and may contain spaces. Source: proc_pid_stat(5).
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

/** The maximum of open files of this process and of its children. */
export function descriptorsMax(): number {
  const limits = readFileSync('/proc/self/limits', 'utf8')
  return Number(/^Max open files +(\S+)/m.exec(limits)?.[1] ?? 0)
}
