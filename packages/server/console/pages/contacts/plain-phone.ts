/**
 * A phone number as the API takes it, without the separators that people and spreadsheets write; other texts unchanged, also
 * one with a second number or an extension after a separator with blanks.
 */
export function plainPhone(text: string): string {
  const international = text.trim().replace(/^00/, '+')
  if (/\s[/\u2010-\u2014-]\s/.test(international)) return text.trim()
  // Italy keeps the 0 of an area code.
  const number = international.startsWith('+39') ? international : international.replace('(0)', '')
  return /^\+?[\d\s()./\u2010-\u2014-]+$/.test(number) ? number.replace(/[^\d+]/g, '') : text.trim()
}
