/** The meaning of a keyword. Source: CTIA Messaging Principles, section 5.1.2; 47 CFR 64.1200(a)(10). */
export type Keyword = 'stop' | 'start' | 'help'

const WORDS: ReadonlyMap<string, Keyword | 'yes'> = new Map(
  Object.entries({
    stop: [
      'STOP',
      'STOPALL',
      'STOP ALL',
      'UNSUBSCRIBE',
      'CANCEL',
      'END',
      'QUIT',
      'REVOKE',
      'OPTOUT',
      'OPT OUT',
      'ARRET',
      'ARRÊT',
    ],
    start: ['START', 'UNSTOP'],
    help: ['HELP', 'INFO'],
    yes: ['YES'],
  }).flatMap(([keyword, words]) => words.map((word) => [word, keyword as Keyword | 'yes'])),
)

/** Longer texts are not keywords, even if they are one word between punctuation marks. */
const LENGTH_MAX = 160

const INVISIBLE = /\p{Cf}/gu
const LEADING = /^[^\p{L}\p{N}]+/u
const TRAILING = /(?<![^\p{L}\p{N}])[^\p{L}\p{N}]+$/u

/**
 * The keyword that a text consists of, in any case and character width, with any punctuation around it; otherwise null.
 * `yes` counts as `start` only from a recipient who opted out.
 *
 * @example keywordOf('“Stop!” 🙏') // 'stop'
 * @example keywordOf('please stop') // null
 */
export function keywordOf(text: string): Keyword | 'yes' | null {
  if (text.length > LENGTH_MAX) return null
  const visible = text.normalize('NFKC').replace(INVISIBLE, '')
  const bare = visible.replace(LEADING, '').replace(TRAILING, '')
  return WORDS.get(bare.replace(/\s+/g, ' ').toUpperCase()) ?? null
}
