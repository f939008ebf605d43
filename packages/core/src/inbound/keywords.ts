/** What one word alone asks for. Source: CTIA Messaging Principles, section 5.1.2; 47 CFR 64.1200(a)(10). */
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

/** Longer texts are no keyword, however many signs surround a word. */
const LENGTH_MAX = 160

const INVISIBLE = /\p{Cf}/gu
const LEADING = /^[^\p{L}\p{N}]+/u
const TRAILING = /(?<![^\p{L}\p{N}])[^\p{L}\p{N}]+$/u

/**
 * What a whole text asks for, whatever its case, its width, and the signs around it; null where it says anything else.
 * `yes` asks to start again whoever was stopped, and says nothing from others.
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
