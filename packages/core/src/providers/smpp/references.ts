const PAIRS_MAX = 50_000

/**
 * Numbers the long texts from one sender to one recipient, 0 to 255 and round again: two that are under way at once must not
 * be taken for one. Begins anywhere, so that what was sent before a restart is hardly met. Forgets the pairs that waited
 * longest once there are `pairs_max`.
 */
export function createReferences(
  random: () => number,
  pairs_max = PAIRS_MAX,
): (sender: string | null, recipient: string) => number {
  const last = new Map<string, number>()
  return (sender, recipient) => {
    const pair = `${sender ?? ''}\n${recipient}`
    const before = last.get(pair) ?? Math.floor(random() * 256)
    const reference = (before + 1) % 256
    // Set anew, so that the map's order is that of use.
    last.delete(pair)
    last.set(pair, reference)
    if (last.size > pairs_max) last.delete(last.keys().next().value as string)
    return reference
  }
}
