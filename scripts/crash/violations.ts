/** What was found wrong, by the rule it breaks. */
export interface Violations {
  /** How many rules were looked at. */
  rules(): number
  /** Announces a rule, in words that say what holds; answers where to note what breaks it. */
  rule(text: string): (example: string) => void
  broken(): { rule: string; times: number; examples: string[] }[]
}

const EXAMPLES_MAX = 3

export function createViolations(): Violations {
  const found = new Map<string, { times: number; examples: string[] }>()
  return {
    rules: () => found.size,
    rule(text) {
      const one = found.get(text) ?? { times: 0, examples: [] }
      found.set(text, one)
      return (example) => {
        one.times += 1
        if (one.examples.length < EXAMPLES_MAX) one.examples.push(example)
      }
    },
    broken: () =>
      [...found].filter(([, { times }]) => times > 0).map(([rule, one]) => ({ rule, ...one })),
  }
}
