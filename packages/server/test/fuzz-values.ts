import type { OpenApiDocument } from '@svc/core/contract'
import fc from 'fast-check'
import type { Schema } from './fuzz-operations.ts'
import { BEGINNING_MS } from './world.ts'

type Values = fc.Arbitrary<unknown>

export interface Known {
  /** The document with the components that the schemas refer to. */
  document: OpenApiDocument
  /** Ids that exist. */
  ids: string[]
  /** Bodies that the document does not describe, by operation. */
  bodies: Record<string, object>
}

/** The maximum of items: more would find no new faults. */
const ITEMS_MAX = 3
/** The maximum of a text, unless its schema's maximum is the point. */
const TEXT_MAX = 24
/** The bound of a number without one in its schema. */
const NUMBER_MAX = 1_000_000
const SIXTY_DAYS_MS = 60 * 86_400_000

const TEXTS: Record<string, (known: Known) => fc.Arbitrary<string>> = {
  uuid: ({ ids }) => fc.oneof(fc.constantFrom(...ids), fc.uuid()),
  email: () => fc.emailAddress(),
  // Some lead to hosts that the service must not reach.
  uri: () =>
    fc.oneof(
      {
        weight: 3,
        arbitrary: fc.webUrl({ validSchemes: ['https', 'http'], withQueryParameters: true }),
      },
      {
        weight: 1,
        arbitrary: fc.constantFrom('https://127.0.0.1/', 'http://[::1]/', 'https://10.0.0.1/a'),
      },
    ),
  // Most fields accept only times near now.
  'date-time': () =>
    fc.oneof(
      fc.integer({ min: -SIXTY_DAYS_MS, max: SIXTY_DAYS_MS }).map((ms) => isoOf(BEGINNING_MS + ms)),
      fc.date({ noInvalidDate: true, min: new Date(0), max: new Date('2200-01-01') }).map(isoOf),
      fc.constantFrom('2026-05-05', '2026-05-04T10:00:00+03:00', '2026-05-04T10:00:00'),
    ),
}

/** Values that a schema allows: its example, its bounds, and values between them. */
export function valuesOf(schema: Schema, known: Known): Values {
  const made = madeOf(schema, known)
  if (schema.example === undefined) return made
  return fc.oneof(fc.constant(schema.example), made)
}

function madeOf(schema: Schema, known: Known): Values {
  if (schema.$ref) return valuesOf(referred(schema.$ref, known.document), known)
  if (schema.const !== undefined) return fc.constant(schema.const)
  if (schema.enum) return fc.constantFrom(...schema.enum)
  const choices = schema.anyOf ?? schema.oneOf
  if (choices) return fc.oneof(...choices.map((choice) => valuesOf(choice, known)))
  const types = [schema.type ?? 'any'].flat()
  return fc.oneof(...types.map((type) => ofType(type, schema, known)))
}

function ofType(type: string, schema: Schema, known: Known): Values {
  if (type === 'object') return objectsOf(schema, known)
  if (type === 'array') return arraysOf(schema, known)
  if (type === 'string') return textsOf(schema, known)
  if (type === 'boolean') return fc.boolean()
  if (type === 'null') return fc.constant(null)
  if (type === 'any') return fc.jsonValue({ maxDepth: 3 })
  const { minimum: min = -NUMBER_MAX, maximum: max = NUMBER_MAX } = schema
  const whole = fc.oneof(fc.constantFrom(min, max), fc.integer({ min, max }))
  return type === 'integer' ? whole : fc.oneof(whole, fc.double({ min, max, noNaN: true }))
}

function objectsOf(schema: Schema, known: Known): Values {
  const { properties, required = [], additionalProperties: rest = !properties } = schema
  const named = fc.record(
    Object.fromEntries(
      Object.entries(properties ?? {}).map(([name, inner]) => [name, valuesOf(inner, known)]),
    ),
    { requiredKeys: required },
  )
  if (!rest) return named
  const others = fc.dictionary(
    fc.string({ maxLength: TEXT_MAX }),
    rest === true ? fc.jsonValue({ maxDepth: 3 }) : valuesOf(rest, known),
    { maxKeys: Math.min(schema.maxProperties ?? ITEMS_MAX, ITEMS_MAX) },
  )
  return fc.tuple(others, named).map(([more, own]) => ({ ...more, ...own }))
}

function arraysOf(
  { items = {}, minItems = 0, maxItems = ITEMS_MAX }: Schema,
  known: Known,
): Values {
  const maxLength = Math.max(minItems, Math.min(maxItems, ITEMS_MAX))
  return fc.array(valuesOf(items, known), { minLength: minItems, maxLength })
}

function textsOf({ pattern, format, minLength = 0, maxLength }: Schema, known: Known): Values {
  const formatted = TEXTS[format ?? '']
  if (formatted) return formatted(known)
  if (pattern) return fc.stringMatching(new RegExp(pattern))
  const longest = maxLength ?? TEXT_MAX
  return fc.oneof(
    { weight: 4, arbitrary: plain(minLength, longest) },
    { weight: 2, arbitrary: fc.string({ ...within(minLength, longest), unit: 'grapheme' }) },
    { weight: 1, arbitrary: fc.constantFrom('a'.repeat(minLength), 'a'.repeat(longest)) },
  )
}

function plain(minLength: number, longest: number): fc.Arbitrary<string> {
  return fc.string({ ...within(minLength, longest), unit: 'grapheme-ascii' })
}

function within(minLength: number, longest: number): { minLength: number; maxLength: number } {
  return { minLength, maxLength: Math.max(minLength, Math.min(longest, TEXT_MAX)) }
}

function referred($ref: string, { components }: OpenApiDocument): Schema {
  return components.schemas?.[$ref.replace('#/components/schemas/', '')] as Schema
}

function isoOf(at: number | Date): string {
  return new Date(at).toISOString()
}
