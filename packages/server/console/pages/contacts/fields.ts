const FIELDS = ['to', 'name', 'phone', 'email', 'external_id', 'tags', 'attributes', 'unsubscribed']
/** Columns of an export that an import ignores. */
const READ_ONLY = ['id', 'created_at', 'updated_at']

/**
 * What the columns of a CSV file mean: the name of a field for its usual headings, such as `phone` for “Mobile”, otherwise the
 * heading itself. Only one column becomes a field.
 */
export function fieldsOf(header: readonly string[]): string[] {
  const names = header.map((cell) => cell.toLowerCase())
  const taken = new Set(names)
  return names.map((name, i) => {
    if ([...FIELDS, ...READ_ONLY].includes(name)) return name
    const field = /^(e-?)?mail([ _-]?address)?$/.test(name)
      ? 'email'
      : /^((tele)?phone|mobile|tel)([ _-]?number)?$/.test(name) && 'phone'
    if (!field || taken.has(field)) return header[i] ?? ''
    taken.add(field)
    return field
  })
}

/** What an import makes of a column, for people. */
export function meaningOf(field: string): string {
  if (READ_ONLY.includes(field)) return 'not imported'
  if (field === 'email') return 'e-mail'
  return FIELDS.includes(field) && field !== 'to'
    ? field.replace('external_', 'own ')
    : `attribute ${field}`
}

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
