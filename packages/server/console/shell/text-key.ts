/** The number that replaces an English text in the languages (FNV-1a): with the texts as keys, Arabic has 5.8 kB more, compressed. */
export function keyOf(text: string): number {
  let key = 0x811c9dc5
  for (let i = 0; i < text.length; i++) key = Math.imul(key ^ text.charCodeAt(i), 0x01000193)
  // The lowest bits of the hash depend on less of the text than the others.
  return key >>> 6
}
