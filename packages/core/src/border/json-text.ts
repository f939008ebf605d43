import { setImmediate as turn } from 'node:timers/promises'
import { isRecord } from '../contract/fields/fields.ts'
import type { Awaitable } from '../runtime/awaitable.ts'
import { malformedJson } from '../runtime/read-json.ts'

/** How many items of a list are written in one turn of the event loop: 10,000 recipients with variables take 50 ms. */
const ITEMS_PER_TURN = 500

/**
 * A request as JSON. The items of a long list are written in several turns of the event loop.
 * @throws SvcError `validation_error` for a value that JSON cannot hold; for a long list, the promise rejects.
 */
export function jsonText(given: unknown): Awaitable<string> {
  return hasLongList(given) ? inTurns(given) : textOf(given) || refuse()
}

function hasLongList(given: unknown): given is Record<string, unknown> {
  return (
    isRecord(given) &&
    typeof given.toJSON !== 'function' &&
    Object.values(given).some((value) => Array.isArray(value) && value.length > ITEMS_PER_TURN)
  )
}

async function inTurns(given: Record<string, unknown>): Promise<string> {
  const members: string[] = []
  for (const [name, value] of Object.entries(given)) {
    const text = Array.isArray(value) ? await listText(value) : textOf(value)
    if (text !== '') members.push(`${JSON.stringify(name)}:${text}`)
  }
  return `{${members.join(',')}}`
}

async function listText(list: readonly unknown[]): Promise<string> {
  const texts: string[] = []
  for (let from = 0; from < list.length; from += ITEMS_PER_TURN) {
    if (from > 0) await turn()
    texts.push(textOf(list.slice(from, from + ITEMS_PER_TURN)).slice(1, -1))
  }
  return `[${texts.join(',')}]`
}

/** The JSON of a value; empty for a value that an object would omit. */
function textOf(value: unknown): string {
  try {
    return JSON.stringify(value) ?? ''
  } catch {
    // The cause can name members of the request.
    throw malformedJson('it has a circular reference, a BigInt, or too many levels')
  }
}

function refuse(): never {
  throw malformedJson('it is a function or a symbol')
}
