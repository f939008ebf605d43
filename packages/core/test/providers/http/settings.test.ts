import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { NAMES } from '../../../src/providers/http/values.ts'
import { openProvider, providerSettings, traitsOf } from '../../../src/providers/registry.ts'
import { CONTEXT, jsonSettings, querySettings } from './gateway.ts'

const json = jsonSettings('https://gateway.test')

it('settings need only a name, channels and send', () => {
  const settings = providerSettings.parse({
    type: 'http',
    name: 'gw',
    channels: ['sms'],
    send: { url: 'https://gateway.test/send', body: { text: '{{text}}' } },
  })
  expect(traitsOf(settings)).toEqual({
    channels: ['sms'],
    senders: {},
    idempotent: false,
    lookup: false,
    callback_bytes: null,
    listens: false,
    connected: false,
    messages_per_second: null,
    handles_stop: false,
    connections: 50,
  })
  expect(structuredClone(settings)).toEqual(settings)
  expect(providerSettings.safeParse(json).success).toBe(true)
  expect(providerSettings.safeParse(querySettings('http://127.0.0.1:13013')).success).toBe(true)
})

it('settings open a provider with the methods of its traits', async () => {
  const provider = await openProvider(providerSettings.parse(json), CONTEXT)
  expect(provider).toMatchObject({
    name: 'gateway',
    lookup: expect.any(Function),
    readCallback: expect.any(Function),
  })
  await provider.close?.()
})

function deep(levels: number): unknown {
  return levels === 1 ? '{{text}}' : [deep(levels - 1)]
}

const sending = (changes: object) => ({ ...json, send: { ...json.send, ...changes } })

describe('settings are refused', () => {
  it.each<[string, object, string]>([
    ['an unknown field', { ...json, timeout: 1 }, 'Unrecognized key'],
    ['an unknown placeholder', sending({ body: { a: ['{{other}}'] } }), '{{other}}'],
    ['a prototype’s member', sending({ body: '{{constructor}}' }), '{{constructor}}'],
    ['the content inside a text', sending({ body: 'x {{content}}' }), 'must stand alone'],
    ['a body and a form', sending({ form: {} }), 'at most one of: body, form'],
    ['a body with GET', sending({ method: 'GET' }), 'has no body with GET'],
    [
      'a text in a header',
      sending({ headers: { a: '{{text}}' } }),
      'may only have the placeholders',
    ],
    ['a header that breaks the line', sending({ headers: { a: 'x\r\ny' } }), 'printable ASCII'],
    ['a placeholder for the host', sending({ url: 'https://{{to}}/' }), 'after the host'],
    ['a placeholder in the host', sending({ url: 'https://a.{{to}}.test/' }), 'after the host'],
    ['a password in the address', sending({ url: 'https://u:p@gw.test/' }), 'must not have a user'],
    ['another protocol', sending({ url: 'file:///etc/passwd' }), 'must be an http'],
    ['a body too deep', sending({ body: deep(17) }), 'at most 16 levels'],
    ['no placeholder for the content', sending({ body: { to: '{{to}}' } }), 'a placeholder for'],
    ['only a subject', sending({ body: { subject: '{{subject}}' } }), 'a placeholder for'],
    ['callbacks without a layout', { ...json, callback: {} }, 'at least one of: receipts'],
    [
      'a sender for a channel that it does not serve',
      { ...json, senders: { voice: ['+15005550100'] } },
      'the channels of',
    ],
    [
      'a look-up by an id that no answer has',
      {
        ...json,
        answer: {},
        lookup: { ...json.lookup, request: { url: 'https://gw.test/{{provider_message_id}}' } },
      },
      'answer.id',
    ],
    ['a status without statuses', { ...json, answer: { status: '/s' } }, 'status, statuses'],
    ['an invalid pointer', { ...json, answer: { id: 'id' } }, 'JSON pointer'],
    ['a pointer too deep', { ...json, answer: { id: '/a'.repeat(17) } }, 'JSON pointer'],
    [
      'a reference, authenticated by the URL of another message',
      { ...json, callback: { receipts: json.callback.receipts } },
      'an address is signed for one message',
    ],
    [
      'messages of recipients, authenticated by a URL',
      { ...json, callback: { inbound: json.callback.inbound } },
      'not signed for a message',
    ],
    [
      'a token that ends its line',
      { ...json, auth: { type: 'bearer', token: 't\n' } },
      'printable',
    ],
    [
      'a header’s value that ends its line',
      { ...json, auth: { type: 'header', name: 'X-Key', value: 't\n' } },
      'printable ASCII',
    ],
    [
      'fields that the signature does not cover',
      {
        ...json,
        callback: {
          ...json.callback,
          receipts: { status: '?status', provider_message_id: '?id', statuses: {} },
        },
      },
      'covers the body only',
    ],
  ])('for %s', (_, settings, reason) => {
    const { success, error } = providerSettings.safeParse(settings)
    expect(success).toBe(false)
    expect(JSON.stringify(error?.issues)).toContain(reason)
  })

  it('except a body of 16 levels, which is valid', () => {
    expect(providerSettings.safeParse(sending({ body: deep(16) })).success).toBe(true)
  })
})

const GUIDES = '../../../../../docs/guides/'

function guideOf(name: string): { text: string; examples: unknown[] } {
  const text = readFileSync(new URL(`${GUIDES}${name}`, import.meta.url), 'utf8')
  const examples = [...text.matchAll(/```json\n(.*?)```/gs)].map(([, code = '']) =>
    JSON.parse(code),
  )
  return { text, examples }
}

describe('the guides', () => {
  const { text: guide, examples } = guideOf('generic-http-provider.md')

  it('have valid examples', () => {
    const [gateway, answer] = examples
    const lists = [gateway, ...guideOf('kannel.md').examples].map((list) => list as unknown[])
    expect(lists.map(({ length }) => length)).toEqual([1, 1])
    for (const one of lists.flat()) expect(providerSettings.safeParse(one).error).toBeUndefined()
    expect(providerSettings.safeParse({ ...json, answer }).error).toBeUndefined()
  })

  it('name every placeholder', () => {
    for (const name of NAMES) expect(guide).toContain(`\`${name}\``)
  })
})
