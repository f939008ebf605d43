import { readdirSync, readFileSync } from 'node:fs'

/** The unit of processor time on Linux is a hundredth of a second. */
const TICK_MS = 10

/** Positions in /proc/<pid>/stat after the name of the program, proc(5). */
const FIELDS = { parent: 1, user: 11, system: 12, ended_user: 13, ended_system: 14 }

/** Milliseconds of CPU of a process so far. Linux only. */
export function cpuOf(pid: number): number {
  const fields = fieldsOf(pid)
  return ((fields[FIELDS.user] ?? 0) + (fields[FIELDS.system] ?? 0)) * TICK_MS
}

/** Milliseconds of CPU of the children of a process that have ended. Linux only. */
export function cpuOfEnded(pid: number): number {
  const fields = fieldsOf(pid)
  return ((fields[FIELDS.ended_user] ?? 0) + (fields[FIELDS.ended_system] ?? 0)) * TICK_MS
}

/** Milliseconds of CPU of a process and of its children, which may have ended. Linux only. */
export function cpuOfFamily(pid: number): number {
  const children = readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((each) => fieldsOf(each)[FIELDS.parent] === pid)
  return [pid, ...children].reduce((sum, each) => sum + cpuOf(each), cpuOfEnded(pid))
}

/** The fields after the name; none if the process has ended. */
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
