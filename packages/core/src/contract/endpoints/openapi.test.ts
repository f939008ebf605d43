import { describe, expect, test } from 'vitest'
import { api } from '../api.ts'
import { EXAMPLES } from '../examples.ts'
import type { Endpoint } from './endpoint.ts'
import { openapi } from './openapi.ts'

const about = { version: '1.2.3', url: 'https://svc.example.com' }
const document = openapi(api, about)
const endpoints = Object.entries<Record<string, Endpoint>>(api).flatMap(([group, each]) =>
  Object.entries(each).map(([name, endpoint]) => ({
    operationId: `${group}.${name}`,
    ...endpoint,
  })),
)

interface Operation {
  operationId: string
  security: Record<string, string[]>[]
  parameters?: { name: string; in: string; required: boolean; schema: Record<string, unknown> }[]
  responses: Record<string, { $ref?: string; content?: unknown; headers?: Record<string, unknown> }>
  requestBody?: { content: { 'application/json': { schema: Schema } } }
}

interface Schema {
  type?: string
  properties?: Record<string, Schema>
  required?: string[]
  additionalProperties?: unknown
}

function operationOf(method: string, path: string): Operation {
  const operation = document.paths[path]?.[method.toLowerCase()]
  if (!operation) throw new Error(`${method} ${path} is not in the document`)
  return operation as unknown as Operation
}

function* nodes(value: unknown, path = '#'): Generator<[string, unknown]> {
  yield [path, value]
  if (typeof value !== 'object' || value === null) return
  for (const [key, child] of Object.entries(value)) yield* nodes(child, `${path}/${key}`)
}

function resolves(ref: string): boolean {
  let at: unknown = document
  for (const key of ref.slice(2).split('/')) at = (at as Record<string, unknown> | undefined)?.[key]
  return at !== undefined
}

describe('the document', () => {
  test('is JSON without undefined', () => {
    for (const [path, value] of nodes(document)) {
      expect(['string', 'number', 'boolean', 'object'], path).toContain(typeof value)
    }
    expect(JSON.parse(JSON.stringify(document))).toEqual(document)
    expect(document).toMatchObject({
      openapi: '3.1.0',
      info: { title: 'svc', version: '1.2.3' },
      servers: [{ url: 'https://svc.example.com' }],
    })
  })

  test('is the same every time', () => {
    expect(JSON.stringify(openapi(api, about))).toBe(JSON.stringify(document))
  })

  test.each(endpoints)('has $method $path', (endpoint) => {
    const operation = operationOf(endpoint.method, endpoint.path.replace(/:(\w+)/g, '{$1}'))
    expect(operation.operationId).toBe(endpoint.operationId)
    expect(operation.responses[endpoint.status]?.content).toBeDefined()
    const takesBody = endpoint.body !== undefined || endpoint.signed_by !== undefined
    expect(operation.requestBody !== undefined).toBe(takesBody)
    expect(operation.security.length > 0).toBe(endpoint.auth !== 'none')
  })

  test('has only the endpoints of the API', () => {
    const documented = Object.values(document.paths).flatMap((path) => Object.keys(path))
    expect(documented).toHaveLength(endpoints.length)
  })

  test('describes every tag', () => {
    const used = Object.values(document.paths).flatMap((path) =>
      Object.values(path).flatMap(({ tags }) => tags),
    )
    expect(document.tags.map(({ name }) => name)).toStrictEqual([...new Set(used)])
  })

  test('has no two paths that one URL could mean', () => {
    const paths = Object.keys(document.paths).map((path) => path.split('/'))
    const isParameter = (part = '') => part.startsWith('{')
    for (const one of paths) {
      for (const other of paths) {
        if (one === other || one.length !== other.length) continue
        const differs = one.some((part, i) => {
          const against = other[i]
          return part !== against && !isParameter(part) && !isParameter(against)
        })
        const isNarrower = (a: string[], b: string[]) =>
          a.every((part, i) => part === b[i] || isParameter(b[i]))
        expect(
          differs || isNarrower(one, other) || isNarrower(other, one),
          `${one.join('/')} and ${other.join('/')}`,
        ).toBe(true)
      }
    }
  })

  test('has no broken reference', () => {
    const refs = [...nodes(document)].filter(([path]) => path.endsWith('/$ref'))
    expect(refs.length).toBeGreaterThan(50)
    for (const [path, ref] of refs) expect(resolves(String(ref)), `${path} → ${ref}`).toBe(true)
  })

  test('describes every value: no empty schema, no pattern next to a format, no internal name', () => {
    for (const [path, value] of nodes(document)) {
      const isSchema = /\/(schema|properties\/[^/]+|items)$/.test(path)
      if (isSchema) expect(Object.keys(value as object), path).not.toEqual([])
      if (path.endsWith('/pattern')) expect(String(value).length, path).toBeLessThan(60)
      expect(path).not.toMatch(/\$defs|~standard/)
    }
  })

  test('names every record once', () => {
    expect(Object.keys(document.components.schemas ?? {})).toEqual([
      'ApiKey',
      'Audience',
      'AuditEntry',
      'Broadcast',
      'BroadcastPreview',
      'BroadcastResults',
      'Bulk',
      'BulkRecipient',
      'BulkRejection',
      'CodeVerification',
      'Contact',
      'CreditPackage',
      'Delivery',
      'DeliveryAttempt',
      'DeliveryWithAttempts',
      'Domain',
      'EmailAdditions',
      'EmailBulk',
      'EmailBulkFromTemplate',
      'EmailContent',
      'EmailFromTemplate',
      'EmailRequest',
      'Error',
      'ExportedMessage',
      'Invitation',
      'ListedEvent',
      'ListedTemplate',
      'ListedTemplateVersion',
      'MailRecipient',
      'Member',
      'Message',
      'Pagination',
      'PushedTemplate',
      'QuietHours',
      'ReceivedMessage',
      'Session',
      'SignInLink',
      'SmsBulk',
      'SmsBulkFromTemplate',
      'SmsContent',
      'SmsFromTemplate',
      'SmsRequest',
      'Suppression',
      'Template',
      'TemplatePreview',
      'TemplateUse',
      'TemplateVariant',
      'TemplateVersion',
      'Transaction',
      'UsedTemplate',
      'Webhook',
      'WebhookHealth',
      'WhatsappBulk',
      'WhatsappBulkFromTemplate',
      'WhatsappContent',
      'WhatsappFromTemplate',
      'WhatsappRequest',
      'Workspace',
      'WorkspaceSummary',
    ])
  })
})

describe('the examples', () => {
  test.each(endpoints)('$operationId: the body and the answer pass their schemas', (endpoint) => {
    const [group = '', name = ''] = endpoint.operationId.split('.')
    const examples: Record<string, Record<string, { body?: unknown; data: unknown }>> = EXAMPLES
    const { body, data } = examples[group]?.[name] ?? {}
    expect(endpoint.data.safeParse(data).error).toBeUndefined()
    expect(endpoint.body?.safeParse(body).error).toBeUndefined()
    const operation = operationOf(endpoint.method, endpoint.path.replace(/:(\w+)/g, '{$1}'))
    const answer = endpoint.enveloped ? { success: true, data } : data
    expect(operation.responses[endpoint.status]?.content).toMatchObject({
      'application/json': { example: answer },
    })
    if (body) {
      expect(operation.requestBody?.content).toMatchObject({
        'application/json': { example: body },
      })
    }
  })
})

describe('an operation', () => {
  test('describes its query', () => {
    const { parameters = [] } = operationOf('GET', '/api/v1/messages')
    expect(parameters.find(({ name }) => name === 'limit')).toEqual({
      name: 'limit',
      in: 'query',
      required: false,
      schema: { type: 'integer', minimum: 1, maximum: 100, default: 50 },
    })
    expect(parameters.find(({ name }) => name === 'startDate')?.schema).toMatchObject({
      type: 'string',
      format: 'date-time',
    })
  })

  test('describes its path parameters', () => {
    const { parameters } = operationOf('GET', '/api/v1/messages/{id}')
    expect(parameters).toMatchObject([
      { name: 'id', in: 'path', required: true, schema: { type: 'string', format: 'uuid' } },
    ])
  })

  test('has a body for each channel without unknown fields, and an Idempotency-Key', () => {
    const { requestBody, parameters } = operationOf('POST', '/api/v1/messages/send')
    expect(requestBody?.content['application/json'].schema).toEqual({
      anyOf: ['Request', 'FromTemplate'].map((kind) => ({
        oneOf: ['Sms', 'Whatsapp', 'Email'].map((channel) => ({
          $ref: `#/components/schemas/${channel}${kind}`,
        })),
      })),
    })
    for (const channel of ['Sms', 'Whatsapp', 'Email']) {
      const option = document.components.schemas?.[`${channel}Request`] as Schema
      expect(option).toMatchObject({
        required: ['to', 'channel', 'content'],
        additionalProperties: false,
      })
      expect(option.properties?.metadata).toMatchObject({ type: 'object', maxProperties: 50 })
    }
    expect(parameters?.map(({ name }) => name)).toEqual(['Idempotency-Key'])
  })

  test('lists its refusals', () => {
    const { responses } = operationOf('POST', '/api/v1/messages/send')
    expect(Object.keys(responses)).toEqual(['201', '400', '401', '402', '403', '429', '500'])
    expect(Object.keys(operationOf('GET', '/health').responses)).toEqual(['200'])
    expect(responses['201']?.headers).toHaveProperty('X-RateLimit-Remaining')
  })

  test('accepts either credential', () => {
    expect(operationOf('GET', '/api/v1/webhooks').security).toEqual([{ jwt: [] }, { api_key: [] }])
  })
})
