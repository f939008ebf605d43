import { setImmediate as turn } from 'node:timers/promises'
import { invalid, type SvcError } from '../contract/errors.ts'
import { checkValue, type JsonShape, jsonShape, longestList } from '../contract/fields/json-text.ts'
import { LIMITS } from '../contract/limits.ts'
import type { Awaitable } from './awaitable.ts'

/** How many values are read in one turn of the event loop: 100,000 new member names take 200 ms. */
const VALUES_PER_TURN = 2_000

/**
 * Reads a request in JSON: at most 16 levels deep, without texts that a database cannot store. Returns the value of a short
 * text at once, so that a send needs no extra turn of the event loop; reads a long text in several turns.
 * @throws SvcError `validation_error`; for a long text, the promise rejects.
 */
export function readJson(text: string): Awaitable<unknown> {
  // Checked before parsing: a value with 500,000 levels can be parsed, but breaks the code that walks it.
  const shape = jsonShape(text)
  if (shape.depth > LIMITS.json_depth) {
    throw invalid('', `JSON must be at most ${LIMITS.json_depth} levels deep`)
  }
  if (shape.values > LIMITS.json_values_of_all) {
    throw invalid('', `JSON must have at most ${LIMITS.json_values_of_all} values`)
  }
  // NUL and lone surrogates are possible only as escapes.
  const isSuspect = shape.has_vast_number || text.includes('\\u')
  if (shape.values <= VALUES_PER_TURN) return parseWhole(text, isSuspect)
  return parseInTurns(text, shape, isSuspect)
}

function parseWhole(text: string, isSuspect: boolean): unknown {
  const value = parseJson(text)
  if (isSuspect) checkValue(value)
  return value
}

/** Parses the items of the longest list in small groups, so that the event loop serves other requests in between. */
async function parseInTurns(text: string, shape: JsonShape, isSuspect: boolean): Promise<unknown> {
  await turn()
  const list = longestList(text, VALUES_PER_TURN)
  const around = list ? list.around : text
  const parts = [list ? jsonShape(around) : shape, ...(list?.parts ?? [])]
  if (parts.some(({ values }) => values > LIMITS.json_values)) {
    throw invalid(
      '',
      `JSON must have at most ${LIMITS.json_values} values, not counting the items of its longest list, and in each of them`,
    )
  }
  const count = list?.parts.reduce((sum, { items }) => sum + items, 0) ?? 0
  if (count > LIMITS.json_items) {
    throw invalid('', `JSON must have at most ${LIMITS.json_items} items in a list`)
  }
  const body = parseWhole(around, isSuspect)
  if (!list) return body
  // This way of parsing would misread a repeated member name, and a list around the list.
  const place = (body as Record<string, unknown> | null)?.[list.name]
  if (Array.isArray(body) || !Array.isArray(place) || place.length > 0) {
    throw malformedJson('it could not be parsed')
  }
  const items: unknown[] = []
  for (const { start, end, items: count } of list.parts) {
    await turn()
    const part = parseJson(`[${text.slice(start, end)}]`) as unknown[]
    if (part.length !== count) throw malformedJson('it could not be parsed')
    for (const item of part) {
      if (isSuspect) checkValue(item, [list.name, String(items.length)])
      items.push(item)
    }
  }
  return { ...(body as object), [list.name]: items }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw malformedJson('it could not be parsed')
  }
}

/** The error for a request that is not JSON. */
export function malformedJson(why: string): SvcError {
  return invalid('', `Request body must be valid JSON: ${why}`)
}
