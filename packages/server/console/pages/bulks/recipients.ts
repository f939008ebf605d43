import type { ReadRecipient } from '../../../src/console-api/console-answers.ts'

/** A value that fills a placeholder; an object fills none. */
export function textOf(value: unknown): string {
  return typeof value === 'object' || value === undefined ? '' : `${value}`
}

/** The placeholders of a content that have no fallback, and no value of the recipient. */
export function missingFor(content: object, { name, variables }: ReadRecipient = {}): string {
  const values: Record<string, string | undefined> = { name, ...variables }
  const found = [...JSON.stringify(content).matchAll(/\{\{([^{}|]*)\}\}/g)]
  const names = found.flatMap(([, one = '']) => (values[one.trim()] ? [] : one.trim()))
  return [...new Set(names)].join(', ')
}
