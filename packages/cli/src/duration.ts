const MS: Record<string, number> = {
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
  w: 604_800_000,
}

/**
 * Reads a span of time as people write it; null for any other text.
 *
 * @example durationMs('30d') // 2592000000
 */
export function durationMs(text: string): number | null {
  const [, amount, unit = ''] = /^(\d{1,6})([smhdw])$/.exec(text) ?? []
  const unit_ms = MS[unit]
  return amount === undefined || unit_ms === undefined ? null : Number(amount) * unit_ms
}
