import * as z from 'zod'
import { GROUPS } from '../api.ts'
import { ERRORS, type ErrorCode, type ErrorDetail, type SvcError } from '../errors.ts'
import { EXAMPLES } from '../examples.ts'
import { idempotencyKey } from '../fields/fields.ts'
import { LIMITS, RATES } from '../limits.ts'
import { FILE_META, fileContent } from '../resources/email-attachments.ts'
import type { Api, Endpoint } from './endpoint.ts'

type Json = string | number | boolean | null | Json[] | { [key: string]: Json }
type JsonObject = { [key: string]: Json }

/** An OpenAPI 3.1 document: plain JSON. */
export type OpenApiDocument = {
  openapi: string
  info: JsonObject
  servers: JsonObject[]
  tags: JsonObject[]
  paths: Record<string, Record<string, JsonObject>>
  components: Record<string, JsonObject>
}

/** What the document says about the service. `url`: its address, without a slash at its end. */
export interface OpenApiAbout {
  version: string
  url: string
}

/** The OpenAPI 3.1 document of an API. The same input gives the same document. */
export function openapi(api: Api, about: OpenApiAbout): OpenApiDocument {
  const steps = openapiSteps(api, about)
  for (;;) {
    const { done, value } = steps.next()
    if (done) return value
  }
}

/** Makes the document of `openapi` in steps of one endpoint, for a server that serves other requests meanwhile. */
export function* openapiSteps(
  api: Api,
  { version, url }: OpenApiAbout,
): Generator<void, OpenApiDocument> {
  const schemas: JsonObject = {}
  const paths: OpenApiDocument['paths'] = {}
  for (const [group, endpoints] of Object.entries(api)) {
    for (const [name, endpoint] of Object.entries(endpoints)) {
      const path = endpoint.path.replace(/:(\w+)/g, '{$1}')
      paths[path] ??= {}
      paths[path][endpoint.method.toLowerCase()] = operation(group, name, endpoint, schemas)
      yield
    }
  }
  schemaOf(failureEnvelope, schemas)
  return {
    openapi: '3.1.0',
    info: {
      title: 'svc',
      version,
      description: 'Sends messages over several channels and reports their outcomes.',
    },
    servers: [{ url }],
    tags: Object.entries(GROUPS).map(([name, description]) => ({ name, description })),
    paths,
    components: {
      schemas: Object.fromEntries(Object.entries(schemas).sort(([a], [b]) => (a < b ? -1 : 1))),
      responses: failureResponses(),
      headers: responseHeaders(),
      securitySchemes: {
        api_key: { type: 'apiKey', in: 'header', name: 'X-API-Key' },
        jwt: { type: 'http', scheme: 'bearer', bearerFormat: 'JWT' },
      },
    },
  }
}

function operation(group: string, name: string, e: Endpoint, schemas: JsonObject): JsonObject {
  const data = schemaOf(e.data, schemas)
  const { body: bodyExample, data: dataExample } = exampleOf(group, name)
  const parameters = parametersOf(e, schemas)
  return {
    operationId: `${group}.${name}`,
    tags: [group],
    summary: e.summary,
    ...textOf(e),
    ...(e.auth === 'none' ? { security: [] } : { security: securityOf(e) }),
    ...(parameters.length > 0 && { parameters }),
    ...(e.signed_by && {
      requestBody: {
        required: true,
        description: 'The notification. The signature covers its exact bytes.',
        content: { 'application/json': { schema: { type: 'object' } } },
      },
    }),
    ...(e.body && {
      requestBody: {
        required: true,
        description: `At most ${e.body_limit ?? LIMITS.body_bytes} bytes.`,
        content: {
          'application/json': {
            schema: schemaOf(e.body, schemas),
            ...(bodyExample && { example: bodyExample }),
          },
          ...(e.takes_csv && CSV_CONTENT),
        },
      },
    }),
    responses: {
      [e.status]: {
        description: 'Success',
        headers: headerRefs(COMMON_HEADERS),
        content: {
          'application/json': {
            schema: e.enveloped ? enveloped(data) : data,
            ...(dataExample && {
              example: e.enveloped ? { success: true, data: dataExample } : dataExample,
            }),
          },
          ...(e.gives_csv && CSV_CONTENT),
        },
      },
      ...Object.fromEntries(
        failuresOf(e).map((status) => [status, { $ref: `#/components/responses/${status}` }]),
      ),
    },
  }
}

/** The example of an endpoint; empty for an endpoint of another API. */
function exampleOf(group: string, name: string): { body?: JsonObject; data?: JsonObject } {
  const examples: Record<string, Record<string, object>> = EXAMPLES
  return examples[group]?.[name] ?? {}
}

const CSV_CONTENT: JsonObject = { 'text/csv': { schema: { type: 'string' } } }

function textOf({ description, scope, also_scope, rate }: Endpoint): { description?: string } {
  const limit = rate === 'exempt' ? undefined : RATES[rate]
  const sentences = [
    description,
    scope &&
      (also_scope
        ? `An API key needs the scopes \`${scope}\` and \`${also_scope}\`.`
        : `An API key needs the scope \`${scope}\`.`),
    limit && `Default rate limit: ${limit.max} in ${limit.window_s} s.`,
  ].filter(Boolean)
  return sentences.length > 0 ? { description: sentences.join(' ') } : {}
}

function securityOf({ auth }: Endpoint): JsonObject[] {
  const schemes = auth === 'jwt_or_api_key' ? ['jwt', 'api_key'] : [auth]
  return schemes.map((scheme) => ({ [scheme]: [] }))
}

function parametersOf(
  { params, query, takes_csv, idempotent, signed_by }: Endpoint,
  schemas: JsonObject,
): JsonObject[] {
  const header = {
    name: 'Idempotency-Key',
    in: 'header',
    required: false,
    description: 'For 24 hours, a repeat with the same key and body gets the first answer.',
    schema: schemaOf(idempotencyKey, schemas),
  }
  return [
    ...(params ? parametersIn('path', params, schemas) : []),
    ...(query ? parametersIn('query', query, schemas) : []),
    ...(takes_csv ? parametersIn('query', takes_csv, schemas) : []),
    ...(idempotent ? [header] : []),
    ...(signed_by
      ? [{ name: signed_by, in: 'header', required: true, schema: { type: 'string' } }]
      : []),
  ]
}

function parametersIn(place: string, object: z.ZodObject, schemas: JsonObject): JsonObject[] {
  const { properties = {}, required = [] } = schemaOf(object, schemas) as {
    properties?: Record<string, JsonObject>
    required?: string[]
  }
  return Object.entries(properties).map(([name, schema]) => ({
    name,
    in: place,
    required: required.includes(name),
    schema,
  }))
}

function enveloped(data: JsonObject): JsonObject {
  return {
    type: 'object',
    properties: { success: { const: true }, data },
    required: ['success', 'data'],
  }
}

/** The JSON Schema of the encoded form. Schemas with an id become components; each component has only this form. */
function schemaOf(schema: z.ZodType, schemas: JsonObject): JsonObject {
  const text = JSON.stringify(
    z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any', override: plain }),
  )
  const { $schema, $defs, ...own } = JSON.parse(
    text.replaceAll('"#/$defs/', '"#/components/schemas/'),
  ) as JsonObject
  Object.assign(schemas, $defs)
  const { id, ...body } = own
  if (typeof id !== 'string') return own
  schemas[id] = body
  return { $ref: `#/components/schemas/${id}` }
}

interface Overridden {
  zodSchema: unknown
  jsonSchema: z.core.JSONSchema.BaseSchema
}

/** Removes parts without information: a pattern beside its format, the bounds of safe integers, and what is no JSON. */
function plain({ zodSchema, jsonSchema }: Overridden): void {
  if (zodSchema === fileContent) {
    delete jsonSchema.anyOf
    Object.assign(jsonSchema, { type: 'string', minLength: 1, ...FILE_META })
  }
  if (jsonSchema.format !== undefined) delete jsonSchema.pattern
  if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum
  if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum
}

function failuresOf(e: Endpoint) {
  const { auth, scope, needs, rate, not_found, failures = [] } = e
  if (!e.enveloped) return []
  // An endpoint without a query or a body also refuses an unknown parameter and an unreadable body.
  const codes: ErrorCode[] = [...failures, 'internal_error', 'validation_error']
  if (rate !== 'exempt') codes.push('rate_limit_exceeded')
  if (auth !== 'none') codes.push('unauthorized')
  if (scope || (auth === 'jwt' && needs !== 'belong')) codes.push('forbidden')
  if (not_found) codes.push('not_found')
  return [...new Set(codes.map((code) => ERRORS[code]))].sort()
}

function failureResponses(): JsonObject {
  const statuses = [...new Set(Object.values(ERRORS))]
  return Object.fromEntries(
    statuses.map((status) => {
      const codes = Object.keys(ERRORS).filter((code) => ERRORS[code as ErrorCode] === status)
      const headers = status === 429 ? [...COMMON_HEADERS, 'Retry-After'] : COMMON_HEADERS
      return [
        String(status),
        {
          description: codes.map((code) => `\`${code}\``).join(' or '),
          headers: headerRefs(headers),
          content: { 'application/json': { schema: { $ref: '#/components/schemas/Error' } } },
        },
      ]
    }),
  )
}

const COMMON_HEADERS = [
  'X-Request-Id',
  'X-RateLimit-Limit',
  'X-RateLimit-Remaining',
  'X-RateLimit-Reset',
]

function headerRefs(names: readonly string[]): JsonObject {
  return Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]))
}

function responseHeaders(): JsonObject {
  const header = (description: string): JsonObject => ({
    description,
    schema: { type: 'integer', minimum: 0 },
  })
  return {
    'X-RateLimit-Limit': header('Requests allowed in the window.'),
    'X-RateLimit-Remaining': header('Requests left in the window.'),
    'X-RateLimit-Reset': header('Whole seconds until the window resets.'),
    'X-Request-Id': {
      description: 'The id of the request in the log.',
      schema: { type: 'string' },
    },
    'Retry-After': header('Whole seconds until the client may retry.'),
  }
}

/** The body of every success. Source: interface, Response envelope. */
export interface Success<T> {
  success: true
  data: T
}

/** The body of every failure. Source: interface, Errors; contract section 1. */
export interface Failure {
  success: false
  error: ErrorCode
  message: string
  details?: ErrorDetail[]
}

/** Wraps an encoded answer. */
export function success<T>(data: T): Success<T> {
  return { success: true, data }
}

/** The body for an error, without its cause. */
export function failure({ code, message, details }: SvcError): Failure {
  return { success: false, error: code, message, ...(details && { details }) }
}

/** The schema of `Failure`. */
export const failureEnvelope = z
  .object({
    success: z.literal(false),
    error: z.enum(Object.keys(ERRORS) as [ErrorCode, ...ErrorCode[]]),
    message: z.string(),
    details: z
      .array(z.object({ path: z.string(), message: z.string() }))
      .optional()
      .meta({
        description:
          'With every `validation_error`: all faults of the request; the first is also the message.',
      }),
  })
  .meta({ id: 'Error' })
