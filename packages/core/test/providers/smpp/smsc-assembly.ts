import type { Submission } from './smsc-submission.ts'

/** One text as the recipient's phone shows it. */
export interface Whole<S extends Submission> {
  from: string
  to: string
  /** Null where it is no text. */
  text: string | null
  /** In their order. */
  parts: S[]
}

/** Puts long texts together as phones do: by who sends, to whom, reference and total; a part that comes again replaces the former. */
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
    /** Of how many texts some parts are missing. */
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
