import { GSM7_EXTENSION, segments } from '@svc/core/sms'

/** The pieces that a text is sent in as SMS, in order: together they are the text. */
export function segmentTexts(text: string): string[] {
  const { encoding, parts } = segments(text)
  const pieces: string[] = []
  let piece = ''
  let units = 0
  for (const character of text) {
    piece += character
    units += encoding === 'UCS-2' ? character.length : GSM7_EXTENSION.has(character) ? 2 : 1
    if (units === parts[pieces.length]) {
      pieces.push(piece)
      piece = ''
      units = 0
    }
  }
  return pieces
}
