import type { Gsm7Suggestion, NonGsmCharacter } from '@svc/core/sms'
import { printable } from './text.ts'

/** How many of the characters that forced UCS-2 are shown to people. */
const SHOWN_MAX = 10

/** Which characters forced UCS-2, and where they stand. */
export function charactersText(found: readonly NonGsmCharacter[]): string {
  const shown = found.slice(0, SHOWN_MAX).map(({ char, index }) => `${char} at ${index}`)
  const more = found.length - shown.length
  return more > 0 ? `${shown.join(', ')} and ${more} more` : shown.join(', ')
}

/** The cheaper text that says the same. */
export function suggestionText({ text, segments }: Gsm7Suggestion): string {
  return `${JSON.stringify(printable(text))} (${segments} ${segments === 1 ? 'segment' : 'segments'})`
}
