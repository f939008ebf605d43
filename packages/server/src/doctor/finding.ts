/** A result of a check. An `error` means that the service breaks a promise, or soon may; `skipped`, that nothing was checked. */
export interface Finding {
  check: string
  level: 'ok' | 'skipped' | 'warning' | 'error'
  message: string
  /** The action that the operator should take; null for `ok`. */
  advice: string | null
}

/** Creates findings of one check. */
export function findingsOf(check: string) {
  return {
    ok: (message: string): Finding => ({ check, level: 'ok', message, advice: null }),
    skipped: (message: string, advice: string): Finding => ({
      check,
      level: 'skipped',
      message,
      advice,
    }),
    warning: (message: string, advice: string): Finding => ({
      check,
      level: 'warning',
      message,
      advice,
    }),
    error: (message: string, advice: string): Finding => ({
      check,
      level: 'error',
      message,
      advice,
    }),
  }
}

/** The reason of an error in one line. */
export function reasonOf(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error)
  const cause = error instanceof Error ? (error.cause as { code?: unknown } | undefined) : undefined
  const code = typeof cause?.code === 'string' ? ` (${cause.code})` : ''
  return `${text.split('\n')[0]}${code}`
}

/** A count with its noun, exact for any size: `1 entry`, `1,234,567 entries`. */
export function counted(n: number, noun: string, plural = `${noun}s`): string {
  return `${n.toLocaleString('en')} ${n === 1 ? noun : plural}`
}
