/** A number for an English text, in place of it: with the texts themselves, a catalogue is 6 kB larger, compressed. */
export function keyOf(text: string): number {
  let key = 0
  for (let i = 0; i < text.length; i++) key = Math.imul(key, 31) + text.charCodeAt(i)
  // Mixed, because short texts differ in the last bits only.
  return Math.imul(key, 0x9e3779b1) >>> 6
}
