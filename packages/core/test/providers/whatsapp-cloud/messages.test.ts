import fc from 'fast-check'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { Provider } from '../../../src/contract/outside/provider.ts'
import type { WhatsappContent } from '../../../src/contract/resources/content.ts'
import { openWhatsappCloud } from '../../../src/providers/whatsapp-cloud/whatsapp-cloud.ts'
import { anyCharacter } from '../../any-character.ts'
import { jobOf, MESSAGE, sendOne, WORKSPACE } from './jobs.ts'
import { type MetaPeer, startMetaPeer } from './peer.ts'

let peer: MetaPeer
let provider: Provider

beforeAll(async () => {
  peer = await startMetaPeer()
  const templates = { welcome: { name: 'hello_world', language: 'en_US' } }
  provider = openWhatsappCloud(peer.settings({ templates }))
})
afterAll(async () => {
  await provider.close?.()
  await peer.close()
})
beforeEach(() => {
  peer.requests.length = 0
  peer.accepted.length = 0
})

/** The message that Meta accepted. */
async function taken(content: WhatsappContent) {
  expect(await sendOne(provider, jobOf(content))).toMatchObject({ type: 'accepted' })
  const { type, body } = peer.accepted.at(-1) ?? {}
  return body?.[type ?? '']
}

const template = (variables: Record<string, string>, name = 'order_update', language = 'en_US') =>
  jobOf({ template: { name, language, variables } })

const texts = (...values: string[]) => values.map((text) => ({ type: 'text', text }))

describe('a message', () => {
  it('is sent once, with our ids, and the outcome has the id of Meta', async () => {
    const outcome = await sendOne(provider, jobOf({ text: 'Hello 🙂 "\\ \u2028' }))
    const [message] = peer.accepted
    expect(outcome).toEqual({
      type: 'accepted',
      provider_message_id: message?.wamid,
      lookup_after_ms: null,
      part_ids: [message?.wamid],
      identities: [message?.to],
    })
    expect(peer.requests).toHaveLength(1)
    expect(peer.requests[0]).toMatchObject({
      path: '/v25.0/106540352242922/messages',
      headers: { authorization: 'Bearer EAAlocal', 'content-type': 'application/json' },
    })
    expect(message?.body).toEqual({
      messaging_product: 'whatsapp',
      recipient_type: 'individual',
      to: '+14155550100',
      type: 'text',
      text: { body: 'Hello 🙂 "\\ \u2028', preview_url: false },
      biz_opaque_callback_data: `${WORKSPACE}.${MESSAGE}`,
    })
  })

  it('is sent from the number in the job', async () => {
    await sendOne(provider, jobOf({ text: 'a' }, { sender: '+15550783882' }))
    expect(peer.accepted).toMatchObject([{ phone_number_id: '106540352242923' }])
  })

  it('waits if its number is no longer in the settings', async () => {
    const outcome = await sendOne(provider, jobOf({ text: 'a' }, { sender: '+15550000000' }))
    expect(outcome).toMatchObject({ type: 'retry', misconfigured: 'sender' })
    expect(peer.requests).toEqual([])
  })

  it('of another channel is rejected', async () => {
    const outcome = await sendOne(provider, jobOf({ text: 'a' }, { channel: 'sms' }))
    expect(outcome).toMatchObject({ type: 'rejected', error_code: 'unsupported_channel' })
    expect(peer.requests).toEqual([])
  })

  it('may show a preview of its links', async () => {
    expect(await taken({ text: 'https://a.example', preview_url: true })).toEqual({
      body: 'https://a.example',
      preview_url: true,
    })
  })
})

describe('media', () => {
  const url = 'https://cdn.example/a.pdf?x=1&y="2"'

  it.each(['image', 'video', 'document'] as const)('%s may have a caption', async (type) => {
    const caption = '","to":"+19005550100'
    expect(await taken({ media: { type, url, caption } })).toEqual({ link: url, caption })
    expect(peer.accepted[0]?.to).toBe('+14155550100')
  })

  it.each(['audio', 'sticker'] as const)('%s may not', async (type) => {
    expect(await taken({ media: { type, url } })).toEqual({ link: url })
    const outcome = await sendOne(provider, jobOf({ media: { type, url, caption: 'a' } }))
    expect(outcome).toMatchObject({ type: 'rejected', error_code: 'invalid_content' })
    expect(peer.requests).toHaveLength(1)
  })

  it('have a file name only on documents', async () => {
    const filename = 'a"b\\c.pdf'
    const document = await taken({ media: { type: 'document', url, filename } })
    expect(document).toEqual({ link: url, filename })
    expect(await taken({ media: { type: 'image', url, filename } })).toEqual({ link: url })
  })
})

describe('a template', () => {
  it('without variables has no components', async () => {
    const content = { template: { name: 'hello_world', language: 'en_US' } }
    expect(await taken(content)).toEqual({ name: 'hello_world', language: { code: 'en_US' } })
  })

  it('may be an id in the settings', async () => {
    const body = { name: 'hello_world', language: { code: 'en_US' } }
    expect(await taken({ template: { id: 'welcome' } })).toEqual(body)
    peer.templates.push({ name: 'hello_world', language: 'sw', body: 0 })
    const inSwahili = await taken({ template: { id: 'welcome', language: 'sw' } })
    expect(inSwahili).toEqual({ ...body, language: { code: 'sw' } })
  })

  it.each(['nowhere', '__proto__', 'constructor'])(
    'of the settings must be there: %s',
    async (id) => {
      const outcome = await sendOne(provider, jobOf({ template: { id } }))
      expect(outcome).toMatchObject({ type: 'rejected', error_code: 'template_unknown' })
      expect(peer.requests).toEqual([])
    },
  )

  it('accepts variables by position, in the order of their numbers', async () => {
    peer.templates.push({ name: 'twelve', language: 'en_US', body: 12 })
    const names = Array.from({ length: 12 }, (_, i) => String(12 - i))
    const variables = Object.fromEntries(names.map((name) => [name, `v${name}`]))
    expect(await sendOne(provider, template(variables, 'twelve'))).toMatchObject({
      type: 'accepted',
    })
    const values = Array.from({ length: 12 }, (_, i) => `v${i + 1}`)
    expect(peer.accepted[0]?.body.template).toMatchObject({
      components: [{ type: 'body', parameters: texts(...values) }],
    })
  })

  it('accepts variables by name', async () => {
    const variables = { first_name: 'Asha', order_id: 'A1' }
    await sendOne(provider, template(variables, 'order_named', 'sw'))
    expect(peer.accepted[0]?.body.template).toMatchObject({
      components: [
        {
          type: 'body',
          parameters: [
            { type: 'text', parameter_name: 'first_name', text: 'Asha' },
            { type: 'text', parameter_name: 'order_id', text: 'A1' },
          ],
        },
      ],
    })
  })

  it('accepts variables for its header and its button', async () => {
    await sendOne(provider, template({ '1': '4711', 'button.0': '4711' }, 'login_code'))
    await sendOne(provider, template({ '1': 'b', 'header.1': 'h' }, 'headed'))
    const components = peer.accepted.map(({ body }) => body.template)
    expect(components).toMatchObject([
      {
        components: [
          { type: 'body', parameters: texts('4711') },
          { type: 'button', sub_type: 'url', index: '0', parameters: texts('4711') },
        ],
      },
      {
        components: [
          { type: 'header', parameters: texts('h') },
          { type: 'body', parameters: texts('b') },
        ],
      },
    ])
  })

  it.each([
    ['a line break', 'a\nb'],
    ['a carriage return', 'a\rb'],
    ['a tab', 'a\tb'],
    ['five spaces', 'a     b'],
    ['nothing', ''],
    ['blanks alone', '   '],
  ])('is refused before any call for a value with %s', async (_, value) => {
    const outcome = await sendOne(provider, template({ '1': 'a', '2': value }))
    expect(outcome).toMatchObject({ type: 'rejected', error_code: 'invalid_template_variables' })
    expect(peer.requests).toEqual([])
  })

  it('accepts four spaces', async () => {
    const outcome = await sendOne(provider, template({ '1': 'a    b', '2': 'c' }))
    expect(outcome).toMatchObject({ type: 'accepted' })
  })

  it.each([
    ['a gap', { '1': 'a', '3': 'c' }],
    ['no first', { '2': 'b', '3': 'c' }],
    ['positions and names', { '1': 'a', order_id: 'b' }],
    ['a zero before a position', { '1': 'a', '02': 'b' }],
    ['a gap in the header', { 'header.2': 'a' }],
  ])('is refused before any call for %s', async (_, variables) => {
    const outcome = await sendOne(provider, template(variables))
    expect(outcome).toMatchObject({ type: 'rejected', error_code: 'invalid_template_variables' })
    expect(peer.requests).toEqual([])
  })

  it('is rejected by Meta if it is not approved', async () => {
    expect(await sendOne(provider, template({}, 'unheard_of'))).toEqual({
      type: 'rejected',
      error_code: 'template_unknown',
      error_message: 'whatsapp_cloud:132001 There is no such template in this language',
    })
    expect(await sendOne(provider, template({ '1': 'a' }))).toMatchObject({
      error_code: 'template_mismatch',
    })
  })
})

describe('any text of a workspace', () => {
  it('stays inside its field', async () => {
    const nasty = fc.oneof(
      fc.string({ unit: anyCharacter, minLength: 1, maxLength: 50 }),
      fc.constantFrom('"},"to":"+19005550100', '\\', '\\"', '{{1}}', '</script>', '__proto__'),
    )
    await fc.assert(
      fc.asyncProperty(nasty, nasty, async (name, value) => {
        peer.accepted.length = 0
        await sendOne(provider, jobOf({ text: value }))
        expect(peer.accepted[0]?.body).toMatchObject({
          to: '+14155550100',
          text: { body: value.toWellFormed() },
        })
        peer.requests.length = 0
        const variables = Object.defineProperty({}, name, { value, enumerable: true })
        await sendOne(provider, jobOf({ template: { name: 'x', language: 'en', variables } }))
        for (const { body } of peer.requests) {
          const read = JSON.parse(body)
          expect(Object.keys(read).sort()).toEqual([
            'biz_opaque_callback_data',
            'messaging_product',
            'recipient_type',
            'template',
            'to',
            'type',
          ])
          expect(read.to).toBe('+14155550100')
        }
      }),
      { numRuns: 100 },
    )
  })
})
