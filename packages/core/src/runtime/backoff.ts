/**
 * Full jitter: a random wait in [0, min(cap, base * 2^(attempt - 1))]. Spreads retries evenly, so that a recovering
 * provider does not get all of them at once.
 */
export function backoffMs(
  attempt: number,
  { base_ms, cap_ms }: { base_ms: number; cap_ms: number },
  random: () => number,
): number {
  return Math.round(random() * Math.min(cap_ms, base_ms * 2 ** Math.min(attempt - 1, 30)))
}
