import { randomHex } from '../../shell/random.ts'

/** Requests that failed one after the other; a request may have 4 MB. */
const KEPT_MAX = 10

const keys = new Map<string, string>()

/**
 * The idempotency key of a request: the same as long as the page is loaded and the request does not change, so that a repeat
 * after a lost answer sends nothing twice. `used` forgets it after a success, so that the same message can be sent again.
 */
export function keyFor(body: object): string {
  const text = JSON.stringify(body)
  const known = keys.get(text)
  if (known) return known
  const key = `console-${randomHex()}`
  if (keys.size >= KEPT_MAX) keys.clear()
  keys.set(text, key)
  return key
}

/** Forgets the key of a request that succeeded. */
export function used(body: object): void {
  keys.delete(JSON.stringify(body))
}
