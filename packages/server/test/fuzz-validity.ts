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
  return compiled(ajv, closed(document.components) as object, closed)
}

/** Checks requests by their shape only: the service checks formats more strictly. */
export function requestChecks(document: OpenApiDocument): (schema: Schema) => Check {
  const ajv = new Ajv2020({ strict: false, validateFormats: false })
  return compiled(ajv, document.components, (schema) => schema)
}

function compiled(
  ajv: Ajv2020,
  components: object,
  prepared: (schema: unknown) => unknown,
): (schema: Schema) => Check {
  // Under an id, so that not every schema compiles its own copy.
  ajv.addSchema({ $id: DOCUMENT, components })
  const checks = new Map<Schema, Check>()
  return (schema) => {
    const known = checks.get(schema)
    if (known) return known
    const validate = ajv.compile(referring(prepared(schema)) as object)
    const check: Check = (value) => (validate(value) ? null : validate.errors)
    checks.set(schema, check)
    return check
  }
}

const DOCUMENT = 'document'

/** The same schema, whose references lead to the document. */
function referring(schema: unknown): unknown {
  const text = JSON.stringify(schema)
  return JSON.parse(text.replaceAll('"$ref":"#/', `"$ref":"${DOCUMENT}#/`))
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
