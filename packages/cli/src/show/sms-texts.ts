import type { Gsm7Suggestion, NonGsmCharacter } from '@svc/core/sms'
import { counted } from './counted.ts'
import { printable } from './text.ts'

/** The number of characters that are shown to people. */
const SHOWN_MAX = 10

/** The characters that require UCS-2, with their positions. */
export function charactersText(found: readonly NonGsmCharacter[]): string {
  const shown = found.slice(0, SHOWN_MAX).map(({ char, index }) => `${char} at ${index}`)
  const more = found.length - shown.length
  return more > 0 ? `${shown.join(', ')} and ${more} more` : shown.join(', ')
}

/** The suggested GSM-7 text and its number of segments. */
export function suggestionText({ text, segments }: Gsm7Suggestion): string {
  return `${JSON.stringify(printable(text))} (${counted(segments, 'segment')})`
}
