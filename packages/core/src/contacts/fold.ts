/**
 * A text as a search compares it, so that case and the ways to write one letter do not matter: `STRASSE` finds `Straße`.
 * In JavaScript, because each database folds by its own rules, and SQLite only ASCII.
 */
export function fold(text: string): string {
  // Up first: only so does `ß` become `ss`. Down then gives a sigma two forms, by where it stands.
  return text.normalize('NFKC').toUpperCase().toLowerCase().replaceAll('ς', 'σ').normalize('NFC')
}
