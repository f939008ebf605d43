/** The violations found, by rule. */
export interface Violations {
  /** The number of rules that were checked. */
  rules(): number
  /** Adds a rule, as a sentence that must hold; returns the function that notes a violation. */
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
