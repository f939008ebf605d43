import type { Submission } from './smsc-submission.ts'

/** A text as the recipient's phone shows it. */
export interface Whole<S extends Submission> {
  from: string
  to: string
  /** Null if it is not a text. */
  text: string | null
  /** In order. */
  parts: S[]
}

/** Joins long texts as phones do: by sender, recipient, reference and total. A repeated part replaces the previous one. */
export function createAssembly<S extends Submission>() {
  const wholes: Whole<S>[] = []
  const begun = new Map<string, Map<number, S>>()

  function add(one: S): void {
    if (!one.part) {
      wholes.push(wholeOf([one]))
      return
    }
    const { by, reference, total, number } = one.part
    const key = [one.source, one.dest, by, reference, total].join('\n')
    const parts = begun.get(key) ?? new Map<number, S>()
    begun.set(key, parts.set(number, one))
    if (parts.size < total) return
    begun.delete(key)
    wholes.push(wholeOf([...parts].sort(([a], [b]) => a - b).map(([, part]) => part)))
  }

  return {
    add,
    wholes,
    /** The number of incomplete texts. */
    begun: () => begun.size,
  }
}

function wholeOf<S extends Submission>(parts: S[]): Whole<S> {
  const { source, dest } = parts[0] as S
  const texts = parts.map(({ text }) => text)
  return {
    from: source,
    to: dest,
    text: texts.includes(null) ? null : texts.join(''),
    parts,
  }
}
