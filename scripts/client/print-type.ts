/** A JSON Schema as the OpenAPI document has it. */
export interface Schema {
  readonly $ref?: string
  readonly type?: string | readonly string[]
  readonly const?: unknown
  readonly enum?: readonly unknown[]
  readonly anyOf?: readonly Schema[]
  readonly oneOf?: readonly Schema[]
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
  readonly additionalProperties?: boolean | Schema
  readonly items?: Schema
  readonly format?: string
  readonly description?: string
}

/** What a type is for. Requests take instants also as `Date`, and `undefined` as an absent field. */
export type Side = 'request' | 'response'

/** Longer types get lines of their own. */
const WIDTH = 80

/** The TypeScript type of a schema. `indent` is the indentation of the line on which it begins. */
export function typeOf(schema: Schema, side: Side, indent = ''): string {
  const { $ref, enum: values, anyOf, oneOf, type } = schema
  if ($ref !== undefined) return $ref.slice($ref.lastIndexOf('/') + 1)
  if ('const' in schema) return literal(schema.const)
  if (values) return values.map(literal).join(' | ')
  const options = anyOf ?? oneOf
  if (options) return unionOf(options.map((option) => typeOf(option, side, indent)))
  if (Array.isArray(type)) return unionOf(type.map((each) => typeOf({ type: each }, side, indent)))
  if (type === 'array') return `${itemOf(schema.items ?? {}, side, indent)}[]`
  if (type === 'object') return objectType(schema, side, indent)
  if (type === 'string') {
    return side === 'request' && schema.format === 'date-time' ? 'Instant' : 'string'
  }
  if (type === 'integer' || type === 'number') return 'number'
  return type === 'boolean' || type === 'null' ? type : 'unknown'
}

/** The fields of an object type, one in a line; `indent` is the indentation of its closing brace. */
export function fieldsOf(schema: Schema, side: Side, indent: string): string {
  const { properties = {}, required = [], additionalProperties } = schema
  const inner = `${indent}  `
  const fields = Object.entries(properties).map(([name, field]) => {
    const isRequired = required.includes(name)
    const type = typeOf(field, side, inner)
    const value = !isRequired && side === 'request' ? `${type} | undefined` : type
    const key = /^\w+$/.test(name) ? name : JSON.stringify(name)
    return `${docOf(field.description, inner)}${inner}${key}${isRequired ? '' : '?'}: ${value}\n`
  })
  if (typeof additionalProperties === 'object') fields.push(`${inner}[field: string]: unknown\n`)
  return fields.join('')
}

/** A comment in the indentation; empty without a text. */
export function docOf(text: string | undefined, indent: string): string {
  if (!text) return ''
  const safe = text.replaceAll('*/', '*\\/')
  return `${indent}/** ${safe} */\n`
}

function objectType(schema: Schema, side: Side, indent: string): string {
  const { properties, additionalProperties } = schema
  if (properties === undefined) {
    const value =
      typeof additionalProperties === 'object' ? typeOf(additionalProperties, side, indent) : ''
    return `Record<string, ${value || 'unknown'}>`
  }
  const fields = fieldsOf(schema, side, indent)
  const line = `{ ${fields.trim().replaceAll(/\n\s*/g, '; ')} }`
  return line.length <= WIDTH && !line.includes('/**') ? line : `{\n${fields}${indent}}`
}

function unionOf(types: readonly string[]): string {
  return [...new Set(types)].join(' | ')
}

function itemOf(schema: Schema, side: Side, indent: string): string {
  const { anyOf, oneOf, enum: values, type } = schema
  const options = anyOf ?? oneOf ?? values ?? (Array.isArray(type) ? type : [])
  const text = typeOf(schema, side, indent)
  return options.length > 1 ? `(${text})` : text
}

function literal(value: unknown): string {
  return typeof value === 'string' ? `'${value}'` : JSON.stringify(value)
}
