/** A number for an English text, in place of it (FNV-1a): with the texts themselves, a catalogue is 6 kB larger, compressed. */
export function keyOf(text: string): number {
  let key = 0x811c9dc5
  for (let i = 0; i < text.length; i++) key = Math.imul(key ^ text.charCodeAt(i), 0x01000193)
  // The lowest bits are those of a short text: the others are mixed better.
  return key >>> 6
}
