import { setImmediate as turn } from 'node:timers/promises'
import * as z from 'zod'
import { type KeyIdentity, requireScope } from '../api-keys/api-keys.ts'

import type { Viewer } from '../api-keys/viewer.ts'
import type { Actor } from '../audit/entry.ts'
import { decode } from '../contract/endpoints/decode.ts'
import { type Body, type Endpoint, SCOPES, type Scope } from '../contract/endpoints/endpoint.ts'
import { LIMIT_TEXT, type Slice } from '../contract/endpoints/paging.ts'
import { invalid, SvcError } from '../contract/errors.ts'
import { idempotencyKey, isRecord, text, uuid } from '../contract/fields/fields.ts'
import { checkValue } from '../contract/fields/json-text.ts'
import { type LargeFile, largeFileOf } from '../contract/fields/large-file.ts'
import { isUnits, type Units } from '../contract/fields/units.ts'
import { LIMITS } from '../contract/limits.ts'
import { API_KEY_MODES } from '../contract/resources/api-keys.ts'
import { ACTOR_KINDS } from '../contract/resources/audit.ts'
import { type Awaitable, whenReady } from '../runtime/awaitable.ts'
import { malformedJson, readJson } from '../runtime/read-json.ts'
import { putFiles } from '../runtime/read-with-files.ts'

/**
 * Reads one parameter of a function of the core.
 * @throws SvcError for a wrong value.
 */
export type Reader<T> = (given: unknown) => Awaitable<T>

/** The maximum length of a name or a text of an operator. */
const TEXT_MAX = 1_000

/** The maximum number of rows in a page of an operator. */
const OPERATOR_PAGE_MAX = 1_000

/** The body of an endpoint, read as the API reads the same value in JSON. */
export function body<
  E extends Pick<Endpoint, 'body' | 'read_plain' | 'body_limit' | 'takes_files'>,
>({
  body: schema,
  read_plain,
  body_limit = LIMITS.body_bytes,
  takes_files = false,
}: E): Reader<Body<E>> {
  if (!schema) throw new Error('an endpoint without a body')
  return (given) =>
    whenReady(
      takes_files ? valueWithFiles(given) : jsonValue(given, body_limit),
      (value) => (read_plain?.(value) ?? decode(schema, value)) as Body<E>,
    )
}

/** A body that is read at once, for a function that returns no promise. */
export function shortBody<E extends Endpoint>(endpoint: E): (given: unknown) => Body<E> {
  const read = body(endpoint)
  return (given) => {
    const value = read(given)
    if (!(value instanceof Promise)) return value as Body<E>
    value.catch(() => {})
    throw invalid('', 'The request has too many values')
  }
}

/** The value that JSON carries: without functions and undefined members, and with instants as texts. */
function jsonValue(given: unknown, max_bytes: number): Awaitable<unknown> {
  if (given === undefined) return {}
  return whenReady(jsonText(given), (json) => {
    if (Buffer.byteLength(json) > max_bytes) throw invalid('', 'Request body is too large')
    return readJson(json)
  })
}

/**
 * The same, with LargeFiles in place of the long texts of attachments; all other parts come to at most
 * `LIMITS.send_body_bytes`.
 */
function valueWithFiles(given: unknown): Awaitable<unknown> {
  const { rest, files } = withoutFiles(given)
  return whenReady(jsonValue(rest, LIMITS.send_body_bytes), (value) => {
    if (files.length > 0) putFiles(value, (mark) => files[Number(mark)] ?? null)
    return value
  })
}

/** The request with numbers in place of its large files. */
function withoutFiles(given: unknown): { rest: unknown; files: LargeFile[] } {
  const files: LargeFile[] = []
  const { content } = isRecord(given) ? given : {}
  const { attachments } = isRecord(content) ? content : {}
  if (!isRecord(given) || !isRecord(content) || !Array.isArray(attachments)) {
    return { rest: given, files }
  }
  const marked = attachments.map((one: unknown) => {
    const file = isRecord(one) ? largeFileOf(one.content) : null
    return file && isRecord(one) ? { ...one, content: files.push(file) - 1 } : one
  })
  const rest = { ...given, content: { ...content, attachments: marked } }
  return files.length > 0 ? { rest, files } : { rest: given, files }
}

/** The values of a query, or of some of its fields. Numbers and Dates are read like the same values in a URL. */
export function query<S extends z.ZodObject>(schema: S): (given: unknown) => z.output<S> {
  return (given = {}) => {
    if (!isRecord(given)) throw invalid('', 'Query must be an object')
    const texts = Object.fromEntries(
      Object.entries(given)
        .filter(([, value]) => value !== undefined)
        .map(([name, value]) => [name, queryText(value)]),
    )
    checkValue(texts)
    return decode(schema, texts)
  }
}

function queryText(value: unknown): unknown {
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? '' : value.toISOString()
  return typeof value === 'number' ? String(value) : value
}

/** A page of a list that the API also has. */
export function slice(given: unknown): Slice {
  return decode(apiSlice, given)
}

/** A page of an operator's list. */
export function operatorSlice(given: unknown): Slice {
  return decode(operatorPage, given)
}

const offset = z.int().min(0)

/** The fields of a page of a list that the API also has. `after` is an id in most lists, and another text in some. */
export const sliceFields = {
  limit: z.int().min(1, LIMIT_TEXT).max(LIMITS.page_size_max, LIMIT_TEXT),
  offset,
  after: z
    .string()
    .max(LIMITS.cursor_length)
    .regex(/^[\x21-\x7e]+$/)
    .optional(),
}
const apiSlice = z.object(sliceFields)
const operatorPage = z.object({ limit: z.int().min(1).max(OPERATOR_PAGE_MAX), offset })

/** The id of a workspace. A malformed id gets the same error as an unknown id. */
export function workspaceId(given: unknown): string {
  return idOf(given, 'Workspace not found')
}

/** The id of the object of an endpoint. A malformed id gets the same error as an unknown id. */
export function id({ not_found = 'Not found' }: Endpoint): (given: unknown) => string {
  return (given) => idOf(given, not_found)
}

/** An id whose object is called `name`. */
export function idOfA(name: string): (given: unknown) => string {
  return (given) => idOf(given, `${name} not found`)
}

function idOf(given: unknown, notFound: string): string {
  const result = uuid.safeParse(given)
  if (result.success) return result.data
  throw new SvcError('not_found', notFound)
}

/** The identity of an API key, which needs the scope of the endpoint. */
export function identity({ scope, also_scope }: Endpoint): (given: unknown) => KeyIdentity {
  return (given) => {
    const found: KeyIdentity = decode(identitySchema, { identity: given }).identity
    requireScope(found, scope)
    requireScope(found, also_scope)
    return found
  }
}

/** A viewer. An API key needs the scope of the endpoint. */
export function viewer({ scope }: Endpoint): (given: unknown) => Viewer {
  const readIdentity = identity({ scope } as Endpoint)
  return (given) => {
    if (!isRecord(given)) return workspaceId(given)
    if ('scopes' in given) return readIdentity(given)
    return decode(viewerSchema, { viewer: given }).viewer
  }
}

const modes = z.enum(API_KEY_MODES)
const unitsField = z.custom<Units>(isUnits, {
  error: ({ path = [] }) => `${path.map(String).join('.')} must be a whole number of micro-credits`,
})
const viewerSchema = z.object({ viewer: z.object({ workspace_id: uuid, mode: modes }) })
const identitySchema = z.object({
  identity: z.object({
    workspace_id: uuid,
    api_key_id: uuid,
    scopes: z.array(z.enum(SCOPES)) satisfies z.ZodType<Scope[]>,
    mode: modes,
    daily_credit_limit: unitsField.nullable(),
  }),
})

/** The options of a request that may have an idempotency key. */
export function keyed(given: unknown = {}): { idempotency_key?: string | undefined } {
  if (!isRecord(given)) throw invalid('options', 'options must be an object')
  const { idempotency_key: key } = given
  if (key === undefined) return {}
  const result = idempotencyKey.safeParse(key)
  if (result.success) return { idempotency_key: result.data }
  throw invalid('Idempotency-Key', result.error.issues[0]?.message ?? 'Invalid request')
}

/** Checks a value that needs no decoding. `name`: the path of the value in errors; empty for an object of fields. */
export function checked<T>(name: string, schema: z.ZodType): (given: unknown) => T {
  const whole = z.object({ [name]: schema })
  return (given) => {
    if (name === '') decode(schema, given)
    else decode(whole, { [name]: given })
    return given as T
  }
}

/** A short text of the caller, such as a name. */
export function name(path: string): (given: unknown) => string {
  return checked(path, text(TEXT_MAX))
}

/** Schemas of operators' values. */
export const fields = {
  units: unitsField,
  text: text(TEXT_MAX),
  note: z.string().max(TEXT_MAX),
  signal: z.instanceof(AbortSignal, { error: 'signal must be an AbortSignal' }),
  callback: z.custom((value) => typeof value === 'function', {
    error: ({ path = [] }) => `${path.map(String).join('.')} must be a function`,
  }),
}

/** The schema of an actor, which may be absent. */
export const actorSchema = z
  .strictObject({
    kind: z.enum(ACTOR_KINDS),
    id: fields.note.nullable(),
    address: fields.note.nullable(),
    request_id: fields.note.nullable(),
    session: z
      .strictObject({
        user_id: uuid.optional(),
        session_hash: fields.text,
        token_version: z.int(),
      })
      .optional(),
  })
  .optional()

/** The actor of a change. */
export const actor = checked<Actor | undefined>('actor', actorSchema)

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
