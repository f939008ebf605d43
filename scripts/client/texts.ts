import { readFileSync } from 'node:fs'
import {
  type Api,
  apiFor,
  CHANNELS,
  type Endpoint,
  EVENT_KINDS,
  EVENTS,
  MESSAGE_STATUSES,
  openapi,
  RECIPIENT_FAULTS,
  SCOPES,
  TRANSACTION_TYPES,
} from '@svc/core/contract'
import { ERRORS } from '../../packages/core/src/contract/errors.ts'
import { AUDIT_ACTIONS } from '../../packages/core/src/contract/resources/audit.ts'
import { docOf, fieldsOf, type Schema, typeOf } from './print-type.ts'

const HEAD = `// Made from the table of the API by \`npm run docs\`; a test compares the two.
`

/** Components are printed once; those of requests take a \`Date\` for an instant. */
const REQUESTS = /(Request|Bulk|BulkRecipient|Content)$/
/** The record of a bulk ends as requests do. */
const RECORDS = new Set(['Bulk'])

/** The unions of words that get a name, by their words. */
const WORDS: Readonly<Record<string, readonly string[]>> = {
  Channel: CHANNELS,
  MessageStatus: MESSAGE_STATUSES,
  EventKind: EVENT_KINDS,
  Scope: SCOPES,
  AuditAction: Object.keys(AUDIT_ACTIONS),
  RecipientFault: RECIPIENT_FAULTS,
  TransactionType: TRANSACTION_TYPES,
}

/** A longer type of an answer gets a name. */
const INLINE_MAX = 48

interface Operation {
  readonly group: string
  readonly name: string
  readonly endpoint: Endpoint
  readonly query: Schema | null
  readonly body: Schema | null
  readonly data: Schema
}

/** The files of the client that follow from core, indexed by their names. */
export function clientTexts(): Record<string, string> {
  // Every channel, because a client does not know the providers of its server.
  const api: Api = apiFor({ voice: true })
  const { paths, components } = openapi(api, { version: '', url: '' })
  const operations = Object.entries(api).flatMap(([group, endpoints]) =>
    Object.entries(endpoints)
      // Only payment providers call these.
      .filter(([, endpoint]) => !endpoint.signed_by)
      .map(([name, endpoint]) => operationOf(group, name, endpoint, paths)),
  )
  const schemas = components.schemas as unknown as Record<string, Schema>
  return {
    'endpoints.ts': endpointsText(operations, schemas),
    'types.ts': typesText(operations, schemas),
    'verdict.ts': verdictText(),
  }
}

/** The verifier of the client and that of core decide by the same code; the client imports nothing, so it has a copy. */
function verdictText(): string {
  const file = '../../packages/core/src/contract/signing/verdict.ts'
  const head = '// Copied from @svc/core by `npm run docs`; a test compares the two.\n'
  return head + readFileSync(new URL(file, import.meta.url), 'utf8')
}

function operationOf(
  group: string,
  name: string,
  endpoint: Endpoint,
  paths: Record<string, Record<string, object>>,
): Operation {
  const path = endpoint.path.replace(/:(\w+)/g, '{$1}')
  const described = paths[path]?.[endpoint.method.toLowerCase()] as {
    parameters?: { name: string; in: string; required: boolean; schema: Schema }[]
    requestBody?: { content: Record<string, { schema: Schema }> }
    responses: Record<string, { content: Record<string, { schema: Schema }> }>
  }
  // The client reads and sends JSON only.
  const asked = endpoint.takes_csv
    ? []
    : described.parameters?.filter((one) => one.in === 'query' && one.name !== 'format')
  const query = asked?.length
    ? {
        type: 'object',
        properties: Object.fromEntries(asked.map(({ name, schema }) => [name, schema])),
        required: asked.filter(({ required }) => required).map(({ name }) => name),
      }
    : null
  const json = described.responses[endpoint.status]?.content['application/json']?.schema as Schema
  return {
    group,
    name,
    endpoint,
    query,
    body: described.requestBody?.content['application/json']?.schema ?? null,
    data: endpoint.enveloped ? (json.properties?.data as Schema) : json,
  }
}

/** A field that every answer has. @throws Error if there is none. */
function fieldOf(data: Schema, schemas: Record<string, Schema>): string {
  const record = data.$ref ? schemas[data.$ref.slice(data.$ref.lastIndexOf('/') + 1)] : data
  const [field] = record?.required ?? []
  if (field === undefined) throw new Error('an answer has no required field')
  return field
}

function endpointsText(operations: readonly Operation[], schemas: Record<string, Schema>): string {
  const groups = byGroup(operations).map(([group, members]) => {
    const lines = members.map(({ name, endpoint, body, query, data }) => {
      const { method, path, auth, idempotent, enveloped } = endpoint
      const list = listOf(data)
      const more = [
        ...(body ? ['body: true'] : []),
        ...(query ? ['query: true'] : []),
        ...(idempotent ? ['idempotent: true'] : []),
        list ? `list: '${list}'` : `has: '${fieldOf(data, schemas)}'`,
        ...(enveloped ? [] : ['bare: true']),
      ]
      const fields = [`method: '${method}'`, `path: '${path}'`, `auth: '${auth}'`, ...more]
      return `    ${camel(name)}: { ${fields.join(', ')} },\n`
    })
    return `  ${camel(group)}: {\n${lines.join('')}  },\n`
  })
  const kinds = Object.keys(EVENTS).map((kind) => `  '${kind}',\n`)
  return `${HEAD}import type { Endpoint } from '../transport/endpoint.ts'

/** The endpoints of the API, by group and method. */
export const ENDPOINTS = {
${groups.join('')}} as const satisfies Record<string, Record<string, Endpoint>>

/** The kinds of events that this version knows. */
export const EVENT_KINDS = [
${kinds.join('')}] as const
`
}

function typesText(operations: readonly Operation[], schemas: Record<string, Schema>): string {
  const { Error: _, Message: message, ...others } = schemas
  const stored = { $ref: 'MessageContent' }
  const components: Record<string, Schema> = {
    ...others,
    Message: { ...message, properties: { ...message?.properties, content: stored } },
  }
  const records = Object.entries(components).map(([name, schema]) => {
    const side = REQUESTS.test(name) && !RECORDS.has(name) ? 'request' : 'response'
    return declared(name, schema, side, schema.description ?? `\`${name}\` in JSON.`)
  })
  const resources = byGroup(operations).map(([group, members]) => resourceText(group, members))
  const words = Object.entries(WORDS).map(
    ([name, values]) =>
      `${docOf(`A word of the API: one \`${name}\`.`, '')}export type ${name} = ${unionText(values)}\n`,
  )
  return `${HEAD}import type { Call, CallOptions, List } from '../transport/call.ts'

/** An instant of a request: a \`Date\`, or ISO 8601. A date alone is its first instant; without an offset it is UTC. */
export type Instant = string | Date

/** The stored content of a message; the channel decides which fields it has. Empty after an erasure. */
export interface MessageContent {
  text?: string
  subject?: string
  html?: string
  [field: string]: unknown
}

/** An error code of the API, with its HTTP status. */
export interface ErrorStatuses {
${Object.entries(ERRORS)
  .map(([code, status]) => `  ${code}: ${status}\n`)
  .join('')}}

${words.join('\n')}
${withWords(`${records.join('\n')}\n${eventsText()}\n${resources.join('\n')}`)}`
}

function unionText(values: readonly string[]): string {
  return values.map((value) => `'${value}'`).join(' | ')
}

/** The text with the names of unions in place of their words. */
function withWords(text: string): string {
  return Object.entries(WORDS).reduce(
    (changed, [name, values]) => changed.replaceAll(unionText(values), name),
    text,
  )
}

function eventsText(): string {
  const types = new Map<string, string>()
  const kinds = Object.entries(EVENTS).map(([kind, { description, data }]) => {
    const { $ref = '', $defs } = data.toJSONSchema({ io: 'input', unrepresentable: 'any' })
    const name = $ref.slice($ref.lastIndexOf('/') + 1)
    const schema = ($defs as unknown as Record<string, Schema> | undefined)?.[name]
    if (!schema) throw new Error(`the data of ${kind} has no name`)
    types.set(name, declared(name, schema, 'response', 'The `data` of an event.'))
    return `${docOf(description, '  ')}  '${kind}': ${name}\n`
  })
  return `${[...types.values()].join('\n')}
/** The \`data\` of each kind of event. */
export interface EventData {
${kinds.join('')}}
`
}

/** The methods of a group, after the types of their arguments and answers. */
function resourceText(group: string, members: readonly Operation[]): string {
  const types: string[] = []
  const methods = members.map((operation) => {
    const { name, endpoint, query, body, data } = operation
    const title = pascal(group) + pascal(name)
    const route = `\`${endpoint.method} ${endpoint.path}\``
    const named = (suffix: string, schema: Schema, side: 'request' | 'response', doc: string) => {
      const inline = typeOf(schema, side)
      const isShort = inline.length <= INLINE_MAX && !inline.includes('\n')
      if (isShort && side === 'response') return inline
      types.push(declared(title + suffix, schema, side, doc))
      return title + suffix
    }
    const answer = named('Data', data, 'response', `The answer of ${route}.`)
    const list = listOf(data)
    const item = list && typeOf(data.properties?.[list]?.items ?? {}, 'response')
    const args = [
      ...[...endpoint.path.matchAll(/:(\w+)/g)].map(([, param]) => `${camel(param ?? '')}: string`),
      ...(body ? [`body: ${named('Body', body, 'request', `The body of ${route}.`)}`] : []),
      ...(query ? [`query?: ${named('Query', query, 'request', `The query of ${route}.`)}`] : []),
      'options?: CallOptions',
    ]
    const promise = item ? `List<${answer}, ${item}>` : `Call<${answer}>`
    const text = [`${endpoint.summary}.`, endpoint.description].filter(Boolean).join(' ')
    return `${docOf(text, '  ')}  ${camel(name)}(${args.join(', ')}): ${promise}\n`
  })
  return `${types.map((type) => `${type}\n`).join('')}/** The methods of \`svc.${camel(group)}\`. */
export interface ${pascal(group)}Resource {
${methods.join('')}}
`
}

function declared(name: string, schema: Schema, side: 'request' | 'response', doc: string): string {
  const isPlain = schema.type === 'object' && schema.properties !== undefined
  const text = docOf(doc, '')
  return isPlain
    ? `${text}export interface ${name} {\n${fieldsOf(schema, side, '')}}\n`
    : `${text}export type ${name} = ${typeOf(schema, side)}\n`
}

/** The name of the field with the items of a list; null for other answers. */
function listOf({ properties = {} }: Schema): string | null {
  if (!('next_after' in properties)) return null
  return Object.keys(properties).find((name) => properties[name]?.type === 'array') ?? null
}

function byGroup(operations: readonly Operation[]): [string, Operation[]][] {
  const groups = new Map<string, Operation[]>()
  for (const one of operations) groups.set(one.group, [...(groups.get(one.group) ?? []), one])
  return [...groups]
}

function camel(name: string): string {
  return name.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase())
}

function pascal(name: string): string {
  const text = camel(name)
  return text.charAt(0).toUpperCase() + text.slice(1)
}
