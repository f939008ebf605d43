/** A number with its noun: `1 message`, `1,200 messages`. An amount of credits is a text: `0.5 credits`. */
export function counted(n: number | string, noun: string, plural = `${noun}s`): string {
  const text = typeof n === 'number' ? n.toLocaleString('en') : n
  return `${text} ${text === '1' ? noun : plural}`
}
