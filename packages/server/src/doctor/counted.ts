/** A count with its noun, exact for any size: `1 entry`, `1,234,567 entries`. */
export function counted(n: number, noun: string, plural = `${noun}s`): string {
  return `${n.toLocaleString('en')} ${n === 1 ? noun : plural}`
}
