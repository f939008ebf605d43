/** As many letters as may be wrong. */
const WRONG_MAX = 3

/** The word that was probably meant: the one with the fewest changes of letters, if they are few; else null. */
export function nearest(word: string, words: readonly string[]): string | null {
  let best: { word: string; changes: number } | null = null
  for (const candidate of words) {
    const changes = changesBetween(word, candidate)
    const isClose = changes <= Math.min(WRONG_MAX, Math.ceil(candidate.length / 3))
    if (isClose && (best === null || changes < best.changes)) best = { word: candidate, changes }
  }
  return best?.word ?? null
}

/** How many letters are put in, left out, changed, or swapped with the next one. */
function changesBetween(a: string, b: string): number {
  if (Math.abs(a.length - b.length) > WRONG_MAX) return WRONG_MAX + 1
  let before: number[] = []
  let row = Array.from({ length: b.length + 1 }, (_, j) => j)
  for (let i = 1; i <= a.length; i++) {
    const next = [i]
    for (let j = 1; j <= b.length; j++) {
      const isSame = a[i - 1] === b[j - 1]
      const isSwapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]
      const least = Math.min(
        (row[j] ?? 0) + 1,
        (next[j - 1] ?? 0) + 1,
        (row[j - 1] ?? 0) + (isSame ? 0 : 1),
        isSwapped ? (before[j - 2] ?? 0) + 1 : Number.POSITIVE_INFINITY,
      )
      next.push(least)
    }
    before = row
    row = next
  }
  return row[b.length] ?? 0
}
