/** The maximum number of edits between the typed word and a suggestion. */
const EDITS_MAX = 3

/** The most similar word; null when no word is similar. */
export function nearest(word: string, words: readonly string[]): string | null {
  let best: { word: string; edits: number } | null = null
  for (const candidate of words) {
    const edits = editDistance(word, candidate)
    const isClose = edits <= Math.min(EDITS_MAX, Math.ceil(candidate.length / 3))
    if (isClose && (best === null || edits < best.edits)) best = { word: candidate, edits }
  }
  return best?.word ?? null
}

/** The number of edits between two words. An edit inserts, removes or replaces a letter, or swaps two neighbours. */
function editDistance(a: string, b: string): number {
  if (Math.abs(a.length - b.length) > EDITS_MAX) return EDITS_MAX + 1
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
