/** A form of Stripe's library: brackets in names make objects, and numbers in brackets make lists. */
export type Form = { [name: string]: string | Form }

/** Reads `a[b][0][c]=d&…`. */
export function readForm(text: string): Form {
  const form: Form = {}
  for (const [name, value] of new URLSearchParams(text)) {
    const path = name.replaceAll(']', '').split('[')
    const last = path.pop() as string
    let at = form
    for (const part of path) {
      const next = at[part]
      if (typeof next === 'object') at = next
      else {
        const made: Form = {}
        at[part] = made
        at = made
      }
    }
    at[last] = value
  }
  return form
}

/** The text at a path of the form, or undefined. */
export function textAt(form: Form, ...path: string[]): string | undefined {
  const value = valueAt(form, path)
  return typeof value === 'string' ? value : undefined
}

/** The texts below a path of the form. */
export function textsAt(form: Form, ...path: string[]): Record<string, string> {
  const value = valueAt(form, path)
  if (typeof value !== 'object') return {}
  return Object.fromEntries(
    Object.entries(value).filter(
      (entry): entry is [string, string] => typeof entry[1] === 'string',
    ),
  )
}

function valueAt(form: Form, path: string[]): string | Form | undefined {
  let at: string | Form | undefined = form
  for (const part of path) at = typeof at === 'object' ? at[part] : undefined
  return at
}
