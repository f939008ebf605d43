import type { OpenApiDocument } from '@svc/core/contract'

/** A schema of the OpenAPI document: the keywords that the reference shows. */
export interface Schema {
  $ref?: string
  type?: string | string[]
  format?: string
  const?: unknown
  enum?: unknown[]
  default?: unknown
  description?: string
  properties?: Record<string, Schema>
  required?: string[]
  items?: Schema
  anyOf?: Schema[]
  oneOf?: Schema[]
  minLength?: number
  maxLength?: number
  minimum?: number
  maximum?: number
  minItems?: number
  maxItems?: number
}

/** A parameter of an operation. */
export interface Parameter {
  name: string
  in: 'path' | 'query' | 'header'
  required?: boolean
  description?: string
  schema: Schema
}

/** The content of a request or an answer. */
interface Content {
  schema: Schema
  example?: unknown
}

/** An operation of the document, with its method and path. */
export interface Operation {
  method: string
  /** With parameters in braces: `/api/v1/messages/{id}`. */
  path: string
  operationId: string
  tags: string[]
  summary: string
  description?: string
  security: Record<string, unknown>[]
  parameters?: Parameter[]
  requestBody?: { description?: string; content: Record<string, Content> }
  responses: Record<
    string,
    { $ref?: string; description?: string; content?: Record<string, Content> }
  >
}

const JSON_TYPE = 'application/json'

/** The operations of a document, in its order. */
export function operationsOf({ paths }: OpenApiDocument): Operation[] {
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({
      ...(operation as unknown as Omit<Operation, 'method' | 'path'>),
      method: method.toUpperCase(),
      path,
    })),
  )
}

/** The JSON body of a request; undefined for a request without one. */
export function bodyOf({ requestBody }: Operation): Content | undefined {
  return requestBody?.content[JSON_TYPE]
}

/** The status and the JSON of the success. */
export function successOf({ responses }: Operation): {
  status: string
  content?: Content | undefined
} {
  const [status = '200', answer] =
    Object.entries(responses).find(([code]) => code.startsWith('2')) ?? []
  return { status, content: answer?.content?.[JSON_TYPE] }
}

/** The named schemas of a document. */
export function recordsOf({ components }: OpenApiDocument): Record<string, Schema> {
  return (components.schemas ?? {}) as unknown as Record<string, Schema>
}

/** The name in `#/components/schemas/<name>`. */
export function nameOf(ref: string): string {
  return ref.slice(ref.lastIndexOf('/') + 1)
}
