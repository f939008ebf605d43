/** The words of a contact that are indexed. A name has at most 200 characters, so most contacts have fewer. */
const WORDS_MAX = 24

/** The characters of a word that are indexed. */
const WORD_LENGTH_MAX = 40

/** The migration 0054 has the same characters. */
const SEPARATORS = /[ \n'"(),/+’-]+/

/** The words of a folded text, each once and cut to 40 characters: those of contacts, and those of a search for contacts. */
export function wordsOf(text: string): string[] {
  const words = text.split(SEPARATORS).filter((word) => word !== '')
  return [...new Set(words.slice(0, WORDS_MAX).map(cut))]
}

function cut(word: string): string {
  return word.length > WORD_LENGTH_MAX ? [...word].slice(0, WORD_LENGTH_MAX).join('') : word
}

/** Whether each of the words is the beginning of a word of this text. */
export function hasWords(text: string, words: readonly string[]): boolean {
  const own = wordsOf(text)
  return words.every((word) => own.some((one) => one.startsWith(word)))
}

/**
 * A word as the index has it: its bytes in UTF-8 as hex. Databases sort texts in many orders, and hex digits in one, so that
 * the words with a beginning are a range of the index in each of them.
 */
export function wordKey(word: string): string {
  return Buffer.from(word).toString('hex')
}

/** The end of the range of keys that begin with this one: no hex digit comes after it. */
export function wordKeyEnd(key: string): string {
  return `${key}g`
}
