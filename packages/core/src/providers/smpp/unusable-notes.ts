const EVERY_MS = 60_000

/** Tells of a delivery that cannot be kept, and why. */
export type UnusableNotes = (reason: string) => void

/**
 * Notes deliveries that cannot be kept, at most one line a minute however many there are: `count` is how many there were
 * since the line before, this one included, and `reason` the latest one's.
 */
export function createUnusableNotes(
  note: (fields: { reason: string; count: number }) => void,
  now_ms: () => number = () => performance.now(),
): UnusableNotes {
  let noted_at = Number.NEGATIVE_INFINITY
  let count = 0
  return (reason) => {
    count += 1
    if (now_ms() - noted_at < EVERY_MS) return
    noted_at = now_ms()
    note({ reason, count })
    count = 0
  }
}
