/** A metric selector of an expression. */
export interface Selector {
  name: string
  matchers: { label: string; operator: string; value: string }[]
}

const SELECTOR = /\b(up|(?:svc|nodejs|process)_[a-z0-9_]+)\b(?:\{([^}]*)\})?/g
const MATCHER = /([a-z_]+)\s*(=~|!~|!=|=)\s*"([^"]*)"/g
const GROUPING = /\b(?:by|without)\s*\(([^)]*)\)/g

/** The metric selectors of an expression. */
export function selectorsOf(expression: string): Selector[] {
  return [...expression.matchAll(SELECTOR)].map(([, name = '', inner = '']) => ({
    name,
    matchers: [...inner.matchAll(MATCHER)].map(([, label = '', operator = '', value = '']) => ({
      label,
      operator,
      value,
    })),
  }))
}

/** The labels that an expression groups by. */
export function groupingsOf(expression: string): string[] {
  return [...expression.matchAll(GROUPING)].flatMap(([, labels = '']) =>
    labels.split(',').flatMap((label) => label.trim() || []),
  )
}
