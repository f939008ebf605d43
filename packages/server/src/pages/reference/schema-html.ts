import { escapeHtml } from '../plain-page.ts'
import { nameOf, type Schema } from './document.ts'

/** A larger maximum only keeps numbers exact. */
const ENDLESS = 1_000_000_000

/** How deep fields are shown inside fields; deeper ones are only named by their type. */
const DEPTH_MAX = 4

/** Shows schemas as lists of fields. */
export interface SchemaHtml {
  /** The fields of an object, or of each alternative; `opens`: of a request, with named schemas inside shown in place. */
  fields(schema: Schema, how?: { opens?: boolean }): string
  /** The type in words, with links to named schemas. */
  type(schema: Schema): string
}

/** `records`: the named schemas, which the page shows at `#record-<name>`. */
export function schemaHtml(records: Record<string, Schema>): SchemaHtml {
  const opened = (schema: Schema): Schema =>
    schema.$ref === undefined ? schema : (records[nameOf(schema.$ref)] ?? {})

  function fields(schema: Schema, { opens = false, depth = 0 } = {}): string {
    const object = depth === 0 || opens ? opened(schema) : schema
    const choices = object.oneOf ?? object.anyOf
    if (choices) return alternatives(choices, { opens, depth })
    if (object.items) return fields(object.items, { opens, depth })
    const { properties, required = [] } = object
    if (!properties || depth >= DEPTH_MAX) return ''
    const rows = Object.entries(properties).map(([name, field]) => {
      const must = presence({ opens, required: required.includes(name) })
      const inner = fields(field, { opens, depth: depth + 1 })
      return `<div><dt><code>${escapeHtml(name)}</code> <span class="type">${type(field)}</span>${must}</dt><dd>${aboutField(field)}${inner}</dd></div>`
    })
    return `<dl class="fields">${rows.join('')}</dl>`
  }

  function alternatives(choices: Schema[], how: { opens: boolean; depth: number }): string {
    const shown = choices.filter((choice) => fields(choice, how) !== '')
    if (shown.length < 2) return shown.map((choice) => fields(choice, how)).join('')
    return shown
      .map((choice, at) => {
        const isOpen = at === 0 && how.depth === 0 ? ' open' : ''
        return `<details${isOpen}><summary>${titleOf(choice)}</summary>${fields(choice, how)}</details>`
      })
      .join('')
  }

  /** The alternative by its channel or another fixed field, otherwise by its type. */
  function titleOf(choice: Schema): string {
    const { properties = {} } = opened(choice)
    const fixed = Object.entries(properties).find(([, { const: value }]) => value !== undefined)
    // A summary must not contain links.
    if (!fixed) return typeOf(choice, (name) => name)
    return `<code>${escapeHtml(`${fixed[0]}: ${JSON.stringify(fixed[1].const)}`)}</code>`
  }

  const type = (schema: Schema) => typeOf(schema, (name) => `<a href="#record-${name}">${name}</a>`)

  /** `named`: the HTML of a named schema. */
  function typeOf(schema: Schema, named: (name: string) => string): string {
    const { $ref, anyOf, oneOf, items, enum: values, const: value, format } = schema
    if ($ref !== undefined) return named(escapeHtml(nameOf($ref)))
    const choices = anyOf ?? oneOf
    if (choices) return [...new Set(choices.map((choice) => typeOf(choice, named)))].join(' or ')
    if (value !== undefined) return `<code>${escapeHtml(JSON.stringify(value))}</code>`
    if (values) {
      return values.map((one) => `<code>${escapeHtml(JSON.stringify(one))}</code>`).join(' ')
    }
    if (items) return `list of ${typeOf(items, named)}`
    const words = [schema.type ?? 'any value'].flat().join(' or ')
    return escapeHtml(format === undefined ? words : `${words}, ${format}`)
  }

  return { fields: (schema, how) => fields(schema, how), type }
}

/** A request marks what it needs, an answer what may be absent. */
function presence({ opens, required }: { opens: boolean; required: boolean }): string {
  if (opens) return required ? ' <b class="must">required</b>' : ''
  return required ? '' : ' <span class="type">if there is one</span>'
}

/** The description and the limits of a field. */
export function aboutField(schema: Schema): string {
  const { description } = schema
  const limits = limitsOf(schema)
  return [
    ...(description === undefined ? [] : [`<p>${wordsHtml(description)}</p>`]),
    ...(limits.length === 0 ? [] : [`<p class="quiet">${escapeHtml(limits.join('; '))}</p>`]),
  ].join('')
}

function limitsOf(schema: Schema): string[] {
  const range = (least: number | undefined, most: number | undefined, unit: string) => {
    if (most === undefined || most >= ENDLESS) {
      return least === undefined || least <= 0 ? [] : [`at least ${least}${unit}`]
    }
    return least === undefined || least <= 0
      ? [`at most ${most}${unit}`]
      : [`${least} to ${most}${unit}`]
  }
  return [
    ...range(schema.minLength, schema.maxLength, ' characters'),
    ...range(schema.minimum, schema.maximum, ''),
    ...range(schema.minItems, schema.maxItems, ' items'),
    ...(schema.default === undefined ? [] : [`default: ${JSON.stringify(schema.default)}`]),
  ]
}

/** A text of the contract, whose code is in backticks. */
export function wordsHtml(text: string): string {
  return escapeHtml(text).replace(/`([^`]{1,200})`/g, '<code>$1</code>')
}
