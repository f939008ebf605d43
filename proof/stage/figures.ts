import { readdirSync, readFileSync } from 'node:fs'

// Figures of processes, from `/proc`: Linux only.

export interface Figures {
  rss_mib: number
  threads: number
  /** Of all threads, since the start of the process. */
  cpu_s: number
}

/** The unit of processor time in `/proc`, on every Linux, is a hundredth of a second. */
const TICK_MS = 10

/** Positions in `/proc/<pid>/stat` after the name of the program. Source: proc_pid_stat(5). */
const FIELDS = { parent: 1, user: 11, system: 12, ended_user: 13, ended_system: 14 }

export function figuresOf(pid: number): Figures {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8')
  const of = (name: string) => Number(new RegExp(`^${name}:\\s+(\\d+)`, 'm').exec(status)?.[1])
  return { rss_mib: of('VmRSS') / 1024, threads: of('Threads'), cpu_s: cpuOf(pid) / 1000 }
}

/** Milliseconds of CPU of a process so far; 0 if it has ended. */
export function cpuOf(pid: number): number {
  const fields = fieldsOf(pid)
  return ((fields[FIELDS.user] ?? 0) + (fields[FIELDS.system] ?? 0)) * TICK_MS
}

/** Milliseconds of CPU of the children of a process that have ended. */
export function cpuOfEnded(pid: number): number {
  const fields = fieldsOf(pid)
  return ((fields[FIELDS.ended_user] ?? 0) + (fields[FIELDS.ended_system] ?? 0)) * TICK_MS
}

/** Milliseconds of CPU of a process and of its children, which may have ended. */
export function cpuOfFamily(pid: number): number {
  const children = readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((each) => fieldsOf(each)[FIELDS.parent] === pid)
  return [pid, ...children].reduce((sum, each) => sum + cpuOf(each), cpuOfEnded(pid))
}

/** The fields after the name, which is in brackets and may contain spaces; none if the process has ended. */
function fieldsOf(pid: number): number[] {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'latin1')
    return text
      .slice(text.lastIndexOf(') ') + 2)
      .split(' ')
      .map(Number)
  } catch {
    return []
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
