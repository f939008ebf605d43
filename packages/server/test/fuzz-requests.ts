import fc from 'fast-check'
import { nasty, text, withDamage, withOneChange } from './fuzz-faults.ts'
import type { Operation, Parameter } from './fuzz-operations.ts'
import { type Known, valuesOf } from './fuzz-values.ts'

/** The credentials of a request: the owner's, a key with one scope, a workspace without credits, or invalid ones. */
const CALLERS = [
  'owner',
  'contacts_only',
  'webhooks_only',
  'viewer',
  'billing',
  'poor',
  'none',
  'swapped',
  'old',
  'junk',
] as const
export type Caller = (typeof CALLERS)[number]

/** A request of one operation; the stage chooses the id in its path if it must exist. */
export interface FuzzedRequest {
  /** The id of its operation. */
  operation: string
  caller: Caller
  /** Percent-encoded; null for an id that exists. */
  id: string | null
  /** What the stage decides by it: the age of the object, and the credential where two are possible. */
  choice: number
  /** Percent-encoded. */
  query: [string, string][]
  body: string | Buffer | undefined
  headers: Record<string, string>
}

const bytes = fc.uint8Array({ maxLength: 50 }).map((array) => Buffer.from(array))

const unlikelyHeaders = fc.dictionary(
  fc.constantFrom(
    'content-type',
    'idempotency-key',
    'x-forwarded-for',
    'accept',
    'content-encoding',
    'cookie',
  ),
  fc.oneof(
    fc.constantFrom('application/json', 'text/csv', 'text/plain', '*/*', 'gzip', 'a'),
    fc.stringMatching(/^[\x20-\x7e\xa0-\xff]{0,300}$/),
  ),
  { minKeys: 1, maxKeys: 1 },
)

const query = {
  name: text.map(encodeSafely),
  value: fc.oneof(nasty.map(asQuery), fc.constantFrom('%', '%ff', '1', '2')),
}

const id = fc.oneof(
  { weight: 3, arbitrary: fc.constant(null) },
  {
    weight: 1,
    arbitrary: fc.oneof(fc.uuid(), text.map(encodeSafely), fc.constantFrom('%zz', '%00', '..%2f')),
  },
)

const caller = fc.oneof(
  { weight: 12, arbitrary: fc.constant<Caller>('owner') },
  { weight: 1, arbitrary: fc.constant<Caller>('poor') },
  { weight: 7, arbitrary: fc.constantFrom<Caller>(...CALLERS) },
)

/** Requests of one operation: valid by its schemas, with a field changed, or with random bytes. */
export function requestsOf(operation: Operation, known: Known): fc.Arbitrary<FuzzedRequest> {
  const { parameters } = operation
  return fc.record({
    operation: fc.constant(operation.id),
    caller,
    id,
    choice: fc.nat(3),
    query: queriesOf(parameters, known),
    body: bodiesOf(operation, known),
    headers: headersOf(parameters, known),
  })
}

/** Some requests of one operation; the same for the same seed. */
export function sampleOf(
  operation: Operation,
  known: Known,
  { seed, count }: { seed: number; count: number },
): FuzzedRequest[] {
  return fc.sample(requestsOf(operation, known), { seed, numRuns: count })
}

function queriesOf(parameters: Parameter[], known: Known): fc.Arbitrary<[string, string][]> {
  const named = parameters.filter((parameter) => parameter.in === 'query')
  const valid = named.map(({ name, schema }) =>
    fc.tuple(fc.constant(name), valuesOf(schema, known).map(asQuery)),
  )
  const changed = fc.tuple(fc.constantFrom(...named.map(({ name }) => name), 'a'), query.value)
  const strange = fc.tuple(query.name, query.value)
  if (valid.length === 0) {
    // An unknown parameter is refused before the work.
    const none = fc.constant<[string, string][]>([])
    const one = fc.tuple(strange)
    return fc.oneof({ weight: 9, arbitrary: none }, { weight: 1, arbitrary: one })
  }
  return fc.oneof(
    { weight: 4, arbitrary: fc.array(fc.oneof(...valid), { maxLength: 3 }) },
    { weight: 1, arbitrary: fc.array(fc.oneof(...valid, changed, strange), { maxLength: 3 }) },
  )
}

function bodiesOf(
  { id: name, method, body }: Operation,
  known: Known,
): fc.Arbitrary<string | Buffer | undefined> {
  const any = fc.oneof(fc.json({ maxDepth: 20 }), bytes)
  if (!body) {
    const weight = method === 'GET' ? 30 : 5
    return fc.oneof({ weight, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary: any })
  }
  const begun = known.bodies[name]
  const values = begun ? fc.oneof(fc.constant(begun), valuesOf(body, known)) : valuesOf(body, known)
  const valid = values.map((value) => JSON.stringify(value))
  return fc.oneof(
    { weight: 5, arbitrary: valid },
    { weight: 5, arbitrary: withOneChange(values) },
    { weight: 1, arbitrary: withDamage(valid) },
    { weight: 1, arbitrary: any },
  )
}

function headersOf(parameters: Parameter[], known: Known): fc.Arbitrary<FuzzedRequest['headers']> {
  const named = parameters.filter((parameter) => parameter.in === 'header')
  const values: Record<string, fc.Arbitrary<string>> = Object.fromEntries(
    named.map(({ name, schema }) => [name.toLowerCase(), valuesOf(schema, known).map(asHeader)]),
  )
  const valid = fc.record(values, { requiredKeys: [] }) as fc.Arbitrary<FuzzedRequest['headers']>
  return fc.oneof({ weight: 6, arbitrary: valid }, { weight: 1, arbitrary: unlikelyHeaders })
}

function asQuery(value: unknown): string {
  return encodeSafely(typeof value === 'string' ? value : JSON.stringify(value))
}

function asHeader(value: unknown): string {
  return String(value).replace(/[^\x20-\x7e]/g, 'a')
}

/** Percent-encoded if possible; a lone surrogate cannot be encoded. */
function encodeSafely(value: string): string {
  return encodeURIComponent(value.toWellFormed())
}
