import type { OpenApiDocument } from '@svc/core/contract'
import { Ajv2020 } from 'ajv/dist/2020.js'
import formats from 'ajv-formats'
import type { Schema } from './fuzz-operations.ts'

/** The fault of a value; null for none. */
export type Check = (value: unknown) => unknown

/** Checks answers: formats count, and fields outside the document are faults. */
export function answerChecks(document: OpenApiDocument): (schema: Schema) => Check {
  const ajv = new Ajv2020({ strict: false, allErrors: true })
  formats.default(ajv)
  return compiled(ajv, closed(document.components) as object, (schema) => closed(schema) as object)
}

/** Checks requests by their shape only: the service checks formats more strictly. */
export function requestChecks(document: OpenApiDocument): (schema: Schema) => Check {
  const ajv = new Ajv2020({ strict: false, validateFormats: false })
  return compiled(ajv, document.components, (schema) => schema)
}

function compiled(
  ajv: Ajv2020,
  components: object,
  prepared: (schema: Schema) => object,
): (schema: Schema) => Check {
  const checks = new Map<Schema, Check>()
  return (schema) => {
    const known = checks.get(schema)
    if (known) return known
    const validate = ajv.compile({ ...prepared(schema), components })
    const check: Check = (value) => (validate(value) ? null : validate.errors)
    checks.set(schema, check)
    return check
  }
}

/** The same schema, in which every object with named properties allows no others. */
function closed(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(closed)
  if (typeof schema !== 'object' || schema === null) return schema
  const inner = Object.fromEntries(
    Object.entries(schema).map(([name, value]) => [name, closed(value)]),
  )
  const names = inner.type === 'object' && typeof inner.properties === 'object'
  return names ? { additionalProperties: false, ...inner } : inner
}
