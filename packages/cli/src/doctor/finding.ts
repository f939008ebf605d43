/** What one look found. An `error` is something that loses, stops or endangers what the service promises. */
export interface Finding {
  check: string
  level: 'ok' | 'warning' | 'error'
  message: string
  /** What to do about it; null where nothing is. */
  advice: string | null
}

/** Findings of one check, which says of itself what it is about. */
export function findingsOf(check: string) {
  return {
    ok: (message: string): Finding => ({ check, level: 'ok', message, advice: null }),
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

/** What went wrong, in one line. */
export function reasonOf(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error)
  const cause = error instanceof Error ? (error.cause as { code?: unknown } | undefined) : undefined
  const code = typeof cause?.code === 'string' ? ` (${cause.code})` : ''
  return `${text.split('\n')[0]}${code}`
}
