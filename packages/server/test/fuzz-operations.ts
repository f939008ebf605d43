import type { OpenApiDocument } from '@svc/core/contract'

/** A JSON Schema of the document; `true` allows everything. */
export interface Schema {
  $ref?: string
  type?: string | string[]
  const?: unknown
  enum?: unknown[]
  anyOf?: Schema[]
  oneOf?: Schema[]
  properties?: Record<string, Schema>
  required?: string[]
  additionalProperties?: Schema | boolean
  maxProperties?: number
  items?: Schema
  minItems?: number
  maxItems?: number
  minLength?: number
  maxLength?: number
  pattern?: string
  format?: string
  minimum?: number
  maximum?: number
  example?: unknown
}

export interface Parameter {
  name: string
  in: 'path' | 'query' | 'header'
  required: boolean
  schema: Schema
}

/** The answer with one status: the names of its headers, and the schema of each body type. */
interface Response {
  headers: string[]
  content: Record<string, Schema>
}

/** One operation of the document, with references to responses resolved. */
export interface Operation {
  /** `messages.send`. */
  id: string
  method: string
  /** With `{name}` for each parameter. */
  path: string
  /** The names of the credentials that it takes; none for an operation without credentials. */
  security: string[]
  parameters: Parameter[]
  /** The schema of a JSON body; undefined for none. */
  body: Schema | undefined
  responses: Map<number, Response>
}

interface RawOperation {
  operationId: string
  security: Record<string, unknown>[]
  parameters?: Parameter[]
  requestBody?: { content: Record<string, { schema: Schema }> }
  responses: Record<string, RawResponse>
}

interface RawResponse {
  $ref?: string
  headers?: Record<string, unknown>
  content: Record<string, { schema: Schema }>
}

/** Every operation of the document, from no other source. */
export function operationsOf(document: OpenApiDocument): Operation[] {
  return Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) =>
      operationOf(method.toUpperCase(), path, operation as unknown as RawOperation, document),
    ),
  )
}

function operationOf(
  method: string,
  path: string,
  raw: RawOperation,
  document: OpenApiDocument,
): Operation {
  return {
    id: raw.operationId,
    method,
    path,
    security: raw.security.flatMap((scheme) => Object.keys(scheme)),
    parameters: raw.parameters ?? [],
    body: raw.requestBody?.content['application/json']?.schema,
    responses: new Map(
      Object.entries(raw.responses).map(([status, response]) => [
        Number(status),
        responseOf(response, document),
      ]),
    ),
  }
}

function responseOf(raw: RawResponse, { components }: OpenApiDocument): Response {
  const name = raw.$ref?.replace('#/components/responses/', '')
  const response = name === undefined ? raw : components.responses?.[name]
  const { headers = {}, content } = response as RawResponse
  return {
    headers: Object.keys(headers).map((header) => header.toLowerCase()),
    content: Object.fromEntries(
      Object.entries(content).map(([type, { schema }]) => [type, schema]),
    ),
  }
}
