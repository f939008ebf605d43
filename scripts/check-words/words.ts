/** A word or phrase that `docs/internals/STYLE.md` rejects. */
interface Rejected {
  /** Whole words, in lower case. A space stands for any white space, also across lines of a comment. */
  readonly words: readonly string[]
  /** What a writer puts in its place. */
  readonly write: string
}

const ROLE = 'the role (the caller, the client, the receiver, the worker)'

const REJECTED: readonly Rejected[] = [
  { words: ['whoever', 'whomever', 'whosoever', 'whom'], write: ROLE },
  { words: ['somebody', 'someone', 'anybody', 'anyone', 'everybody', 'everyone'], write: ROLE },
  { words: ['nobody', 'no one'], write: '"no" and the role ("no client", "no worker")' },
  {
    words: ['unless told', 'unless given', 'unless it is told'],
    write: '"default" or "by default"',
  },
  {
    words: ['is told', 'are told', 'was told', 'were told', 'be told', 'been told', 'being told'],
    write: '"is notified", "receives" or "is reported"',
  },
  { words: ['tells of', 'tell of', 'told of'], write: '"reports", "describes" or "names"' },
  {
    words: ['under way', 'under-way', 'underway'],
    write: '"in flight", "running" or "in progress"',
  },
  { words: ['at the most'], write: '"at most"' },
  { words: ['so many of'], write: 'the number or the limit' },
  { words: ['what is left of'], write: '"the rest of" or "the remaining"' },
  {
    words: ['hear out', 'hears out', 'heard out', 'hear-out'],
    write: '"drain" or "read to the end"',
  },
  { words: ['hung up on'], write: '"the connection is closed"' },
  { words: ['tell-plans', 'tell-attempts'], write: '"report-plans", "report-attempts"' },
  { words: ['shall'], write: '"must" or "will"' },
  { words: ['lest'], write: '"so that … not"' },
  { words: ['albeit'], write: '"although"' },
  { words: ['thereof', 'whereof', 'hereof'], write: '"of it", or the noun' },
]

/** Parts of identifiers: matched inside a name, with the case shown or with a capital. */
const REJECTED_NAMES: readonly Rejected[] = [
  { words: ['underWay'], write: '`inFlight`' },
  { words: ['hearOut'], write: '`drainBody`' },
  { words: ['tellPlans', 'tellAttempts'], write: '`reportPlans`, `reportAttempts`' },
]

/** A line break may carry the mark of a comment or of a quotation. */
const SPACE = String.raw`(?:[^\S\n]+|[^\S\n]*\n[^\S\n]*(?:\/\/+|\*|#+|>)?[^\S\n]*)`

const instead = new Map<string, string>()
for (const { words, write } of [...REJECTED, ...REJECTED_NAMES]) {
  for (const word of words) instead.set(word.toLowerCase(), write)
}

// An address such as nobody@example.com is no prose.
const PROSE = new RegExp(
  String.raw`(?<![\w-])(?:${alternatives(REJECTED).replaceAll(' ', SPACE)})(?![\w@])`,
  'gi',
)
const NAMES = new RegExp(
  `(?:${alternatives(REJECTED_NAMES).replace(/\b[a-z]/g, (first) => `[${first}${first.toUpperCase()}]`)})`,
  'g',
)

export interface Finding {
  /** From 1. */
  readonly line: number
  /** The rejected words as the text has them, with single spaces. */
  readonly words: string
  readonly write: string
}

/** Finds the rejected words of one text, in its order. */
export function findWords(text: string): Finding[] {
  const matches = [...text.matchAll(PROSE), ...text.matchAll(NAMES)]
  // Both patterns find a name that is one word of the list.
  const at = new Map(matches.map((match) => [match.index, match[0]]))
  return [...at]
    .sort(([a], [b]) => a - b)
    .map(([index, found]) => {
      const words = found.replace(/[\s/*#>]+/g, ' ')
      const line = text.slice(0, index).split('\n').length
      return { line, words, write: instead.get(words.toLowerCase()) ?? '' }
    })
}

function alternatives(rejected: readonly Rejected[]): string {
  return rejected.flatMap(({ words }) => words).join('|')
}
