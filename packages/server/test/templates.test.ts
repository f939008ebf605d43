import { Svc } from '@svc/client'
import { LIMITS } from '@svc/core/contract'
import { beforeAll, describe, expect, it } from 'vitest'
import type { Account } from './accounts.ts'
import { useWorld } from './world.ts'

const world = useWorld({ listen: true })
const TEMPLATES = '/api/v1/templates'
const SEND = '/api/v1/messages/send'

let owner: Account
let key: string
beforeAll(async () => {
  owner = await world().signup({ credits: 1_000 })
  key = (await world().key(owner)).key
})

const call = (method: string, path: string, json?: object) =>
  world().call(method, path, { key, ...(json && { json }) })

const sms = (locale: string, text: string) => ({ channel: 'sms', locale, content: { text } })
const mail = (content: object) => ({
  ...{ channel: 'email', locale: 'en' },
  content: { subject: 'Hi', text: 'Hi', ...content },
})
const order = {
  default_locale: 'en',
  variables: [
    { name: 'name', type: 'text', fallback: 'there' },
    { name: 'items', type: 'list' },
  ],
  variants: [
    sms('en', 'Hi {{name}}: {{#each items}}{{n}} {{title}}, {{/each}}{{#if vip}}thanks{{/if}}'),
    sms('de', 'Hallo {{name}}: {{order_id|-}}'),
    {
      channel: 'email',
      locale: 'en',
      content: { subject: 'Order {{order_id}}', html: '<h1>Hi {{name}}</h1><p>{{order_id}}</p>' },
    },
  ],
}

let names = 0
async function publish(json: object = order): Promise<string> {
  const name = `order-${++names}`
  const made = await call('POST', TEMPLATES, { name, ...json })
  expect(made.status, made.text).toBe(201)
  const published = await call('POST', `${TEMPLATES}/${name}/publish`)
  expect(published.status, published.text).toBe(201)
  return name
}

const messageOf = async (id: string) =>
  (await call('GET', `/api/v1/messages/${id}`)).body.data.message

describe('a template', () => {
  it('is a draft until it is published, and its versions never change', async () => {
    const name = `order-${++names}`
    const made = await call('POST', TEMPLATES, { name, ...order })
    expect(made.body.data.template).toMatchObject({
      ...{ name, version: null, is_changed: true, category: 'transactional', description: null },
      variants: order.variants,
    })
    const to = '+15005550006'
    const use = { to, channel: 'sms', template: { name, variables: { items: [] } } }
    expect((await call('POST', SEND, use)).body).toMatchObject({
      error: 'validation_error',
      message: `Template ${name} is a draft: publish it first`,
    })
    const path = `${TEMPLATES}/${name}`
    const first = await call('POST', `${path}/publish`)
    expect(first.body.data.version).toMatchObject({ name, version: 1, variants: order.variants })
    expect((await call('POST', `${path}/publish`)).body.data.version.version).toBe(1)

    const variants = [sms('en', 'Changed')]
    const changed = await call('PUT', path, { ...made.body.data.template, variants })
    expect(changed.body.data.template).toMatchObject({ version: 1, is_changed: true, variants })
    const before = (await call('POST', SEND, use)).body.data
    expect(before.template).toEqual({ name, version: 1, locale: 'en' })
    await call('POST', `${path}/publish`)
    const after = (await call('POST', SEND, use)).body.data
    expect(after.template).toEqual({ name, version: 2, locale: 'en' })
    expect((await messageOf(after.message_id)).content).toEqual({ text: 'Changed' })

    const back = await call('POST', `${path}/publish`, { version: 1 })
    expect(back.body.data.version).toMatchObject({ version: 3, variants: order.variants })
    expect((await call('GET', path)).body.data.template).toMatchObject({
      ...{ version: 3, is_changed: false, variants: order.variants },
    })
    expect((await call('GET', `${path}/versions/2`)).body.data.version).toMatchObject({ variants })
    const { versions } = (await call('GET', `${path}/versions`)).body.data
    expect(versions.map(({ version }: { version: number }) => version)).toEqual([3, 2, 1])
  })

  it('keeps its versions readable after it was deleted, and their numbers with a new one', async () => {
    const name = await publish()
    const path = `${TEMPLATES}/${name}`
    expect((await call('DELETE', path)).body.data).toEqual({ message: 'Template deleted' })
    expect((await call('GET', path)).status).toBe(404)
    expect((await call('GET', `${path}/versions/1`)).status).toBe(200)
    const use = { to: '+15005550006', channel: 'sms', template: { name, version: 1 } }
    expect((await call('POST', SEND, use)).body.message).toBe(`No template has the name ${name}`)
    await call('POST', TEMPLATES, { name, ...order })
    expect((await call('POST', `${path}/publish`)).body.data.version.version).toBe(2)
  })

  it.each([
    [{ variants: [] }, 'variants'],
    [{ name: 'Größe' }, 'The name of a template'],
    [{ variants: [sms('en', '{{#if a}}')] }, 'variants.0.content.text: {{#if a}} has no {{/if}}'],
    [{ variants: [sms('e n', 'a')] }, 'A locale must be a language tag'],
    [{ variants: [sms('en', 'a'), sms('EN', 'b')] }, 'two variants for sms in en'],
    [{ variants: [sms('de', 'a')] }, 'sms has no variant in the default locale en'],
    [{ variables: [{ name: 'a', type: 'number', fallback: 'x' }] }, 'must be a number'],
    [
      {
        variables: [
          { name: 'a', type: 'text' },
          { name: 'a', type: 'text' },
        ],
      },
      'declared twice',
    ],
    [{ variants: [{ ...sms('en', 'a'), content: { txt: 'a' } }] }, 'variants.0.content'],
    [
      { variables: [{ name: 'items', type: 'list', example: { title: 'Tea' } }] },
      'The example of items cannot be used: Variable items must be a string',
    ],
    [{ variables: [{ name: 'a', type: 'list', example: 'x' }] }, 'example of a must be a list'],
    [{ variables: [{ name: 'a', type: 'text', example: true }] }, 'example of a must be a text'],
    [
      { variants: [sms('en', 'Hi {{{name}}}')] },
      'variants.0.content.text: a placeholder has two braces, such as {{name}}: it must not have "{{{"',
    ],
    [
      { variants: [mail({ headers: { 'X-Order': '{{order_id}}' } })] },
      'variants.0.content.headers.X-Order: no placeholder is filled in here',
    ],
    [{ variants: [mail({ reply_to: ['{{a}}@acme.example'] })] }, 'content.reply_to.0: no place'],
    [
      {
        variants: [
          {
            ...{ channel: 'whatsapp', locale: 'en' },
            content: { template: { name: 'order_{{a}}', language: 'en' } },
          },
        ],
      },
      'variants.0.content.template.name: no placeholder is filled in here',
    ],
    [
      {
        category: 'marketing',
        variants: [mail({ headers: { 'List-Unsubscribe': '<mailto:off@acme.example>' } })],
      },
      'needs List-Unsubscribe-Post too',
    ],
  ])('refuses %j', async (fault, message) => {
    const answer = await call('POST', TEMPLATES, { name: 'faulty', ...order, ...fault })
    expect([answer.status, answer.body.error]).toEqual([400, 'validation_error'])
    expect(answer.text.replaceAll('\\', '')).toContain(message)
  })

  it('refuses a name that is in use', async () => {
    const name = await publish()
    const again = await call('POST', TEMPLATES, { name, ...order })
    expect(again.body.message).toBe(`A template has the name ${name} already`)
  })
})

describe('a send from a template', () => {
  it.each([
    ['de-AT', 'de', 'Hallo Asha: A1'],
    ['de', 'de', 'Hallo Asha: A1'],
    ['fr', 'en', 'Hi Asha: 2 Tea, '],
    [undefined, 'en', 'Hi Asha: 2 Tea, '],
  ])('in %s uses the variant in %s', async (locale, used, text) => {
    const name = await publish()
    const variables = { name: 'Asha', order_id: 'A1', items: [{ n: 2, title: 'Tea' }] }
    const template = { name, variables, ...(locale && { locale }) }
    const sent = await call('POST', SEND, { to: '+15005550006', channel: 'sms', template })
    expect(sent.body.data.template).toEqual({ name, version: 1, locale: used })
    expect(await messageOf(sent.body.data.message_id)).toMatchObject({
      content: { text },
      template: { name, version: 1, locale: used },
    })
    const list = await call('GET', `/api/v1/messages?template=${name}`)
    expect(list.body.data).toMatchObject({
      pagination: { total: 1 },
      messages: [{ id: sent.body.data.message_id }],
    })
    expect((await call('GET', '/api/v1/messages?template=other')).body.data.messages).toEqual([])
  })

  it('names the variables without a value, and charges nothing', async () => {
    const name = await publish()
    const balance = () => world().call('GET', '/api/v1/account', { token: owner.token })
    const before = (await balance()).body.data.credits_balance
    for (const path of [SEND, '/api/v1/messages/estimate']) {
      const answer = await call('POST', path, {
        to: 'asha@example.com',
        channel: 'email',
        template: { name, variables: { constructor: null } },
      })
      expect(answer.body).toMatchObject({
        message: 'No value for {{order_id}}',
        details: [{ path: 'template.variables' }],
      })
    }
    const wrong = await call('POST', SEND, {
      ...{ to: '+15005550006', channel: 'sms', template: { name, variables: { items: 'x' } } },
    })
    expect(wrong.body.message).toBe('Variable items must be a list')
    expect((await balance()).body.data.credits_balance).toBe(before)
  })

  it('escapes HTML, makes the plain text, and keeps the subject in one line', async () => {
    const name = await publish()
    const send = (order_id: string) =>
      call('POST', SEND, {
        to: 'delivered@sandbox.svc',
        channel: 'email',
        template: { name, variables: { order_id, name: '<A & B>' } },
      })
    const sent = await send('A1')
    expect((await messageOf(sent.body.data.message_id)).content).toEqual({
      subject: 'Order A1',
      html: '<h1>Hi &lt;A &amp; B&gt;</h1><p>A1</p>',
      text: 'Hi <A & B>\n\nA1',
    })
    expect((await send('A1\r\nBcc: x@example.com')).body).toMatchObject({
      error: 'validation_error',
      message: 'Subject must not contain line breaks',
    })
  })

  it('gives a repeated request its answer, although the template changed or is gone', async () => {
    const name = await publish()
    const json = { to: '+15005550006', channel: 'sms', template: { name, locale: 'de' } }
    const send = () =>
      world().call('POST', SEND, { key, json, headers: { 'idempotency-key': `k-${name}` } })
    const first = await send()
    expect(first.status, first.text).toBe(201)
    await call('DELETE', `${TEMPLATES}/${name}`)
    const again = await send()
    expect([again.text, again.headers['idempotent-replayed']]).toEqual([first.text, 'true'])
  })

  it('takes copies, files and other fields of an e-mail beside it', async () => {
    const name = await publish()
    const content = {
      cc: ['cc@example.com'],
      bcc: ['bcc@example.com'],
      reply_to: 'shop@acme.example',
      headers: { 'X-Campaign': 'a' },
      tags: [{ name: 'a', value: 'b' }],
      attachments: [{ filename: 'a.txt', content: 'aGVsbG8=' }],
    }
    const json = {
      ...{ to: 'delivered@sandbox.svc', channel: 'email', content },
      template: { name, variables: { order_id: 'A1' } },
    }
    const headers = { 'idempotency-key': `with-${name}` }
    const test = (await world().key(owner, { mode: 'test' })).key
    const send = (body: object) => world().call('POST', SEND, { key: test, json: body, headers })
    const sent = await send(json)
    expect(sent.status, sent.text).toBe(201)
    const path = `/api/v1/messages/${sent.body.data.message_id}`
    const { message } = (await world().call('GET', path, { key: test })).body.data
    expect(message.content).toMatchObject({
      ...{ subject: 'Order A1', html: '<h1>Hi there</h1><p>A1</p>', text: 'Hi there\n\nA1' },
      ...{ cc: content.cc, bcc: content.bcc, reply_to: content.reply_to },
      ...{ headers: content.headers, tags: content.tags, attachments: [{ filename: 'a.txt' }] },
    })
    expect(message.recipients).toHaveLength(3)
    expect((await send(json)).text).toBe(sent.text)
    expect((await send({ ...json, content: { ...content, subject: 'Other' } })).status).toBe(400)
    const subject = { ...json, content: { subject: 'Other' } }
    const other = await call('POST', SEND, subject)
    expect((await messageOf(other.body.data.message_id)).content.subject).toBe('Other')
  })

  it('needs no value for a field that the request has', async () => {
    const name = await publish({ variants: [mail({ subject: 'Order {{order_id}}' })] })
    const to = 'delivered@sandbox.svc'
    const json = { to, channel: 'email', content: { subject: 'Mine {{x}}' }, template: { name } }
    const sent = await call('POST', SEND, json)
    expect(sent.status, sent.text).toBe(201)
    expect((await messageOf(sent.body.data.message_id)).content).toEqual({
      ...{ subject: 'Mine {{x}}', text: 'Hi' },
    })
    const without = await call('POST', SEND, { ...json, content: { tags: [] } })
    expect(without.body.message).toBe('No value for {{order_id}}')
  })

  it('has no unsubscribe link in its subject', async () => {
    const text = '{{unsubscribe_url}}'
    const name = await publish({
      variants: [mail({ subject: 'Leave: {{unsubscribe_url}}', text })],
    })
    const shown = await call('POST', `${TEMPLATES}/preview`, { name, channel: 'email' })
    expect(shown.body.data.preview).toMatchObject({
      ...{ missing: ['unsubscribe_url'], content: { subject: 'Leave: ', text } },
    })
    const use = { channel: 'email', template: { name } }
    const to = 'delivered@sandbox.svc'
    const sent = await call('POST', SEND, { to, ...use })
    expect(sent.body.message).toBe('No value for {{unsubscribe_url}}')
    const content = { subject: '{{unsubscribe_url}}', text: 'a' }
    for (const bulk of [use, { channel: 'email', content }]) {
      const answer = await call('POST', '/api/v1/messages/bulk', { ...bulk, recipients: [to] })
      expect(answer.text).toContain('No value for {{unsubscribe_url}}')
    }
  })

  it('for marketing takes no List-Unsubscribe without one click from the request', async () => {
    const name = await publish({ category: 'marketing', variants: [mail({})] })
    const headers = { 'List-Unsubscribe': '<mailto:off@acme.example>' }
    const to = 'delivered@sandbox.svc'
    const json = { to, channel: 'email', content: { headers }, template: { name } }
    const refused = await call('POST', SEND, json)
    expect(refused.body).toMatchObject({ details: [{ path: 'content.headers' }] })
    const post = { 'list-unsubscribe-post': 'List-Unsubscribe=One-Click' }
    const both = { ...json, content: { headers: { ...headers, ...post } } }
    expect((await call('POST', SEND, both)).status).toBe(201)
  })

  it.each([
    [{ text: 'a' }, 'text'],
    [{ cc: ['delivered@sandbox.svc'] }, 'repeats an address'],
    [{ subject: 'a\nb' }, 'line breaks'],
    [{ attachments: [{ filename: 'a.txt', content: '!' }] }, 'base64'],
  ])('refuses %j beside it', async (content, message) => {
    const name = await publish()
    const answer = await call('POST', SEND, {
      ...{ to: 'delivered@sandbox.svc', channel: 'email', content },
      template: { name, variables: { order_id: 'A1' } },
    })
    expect(answer.status).toBe(400)
    expect(answer.body.message).toContain(message)
  })

  it('refuses content beside the template, and an unknown field', async () => {
    const name = await publish()
    const send = { to: '+15005550006', channel: 'sms', template: { name } }
    const both = await call('POST', SEND, { ...send, content: { text: 'a' } })
    const misspelt = await call('POST', SEND, { ...send, sheduled_at: '2026-05-04' })
    expect([both.status, misspelt.status]).toEqual([400, 400])
    expect(both.body.message).toContain('template')
    expect(misspelt.body.message).toContain('sheduled_at')
  })
})

describe('a bulk from a template', () => {
  it('has the bytes of single sends, and says which template it used', async () => {
    const name = await publish()
    const variables = { items: [{ n: 1, title: '<Cup>' }], vip: true, order_id: 'A"1' }
    for (const channel of ['sms', 'email']) {
      const to = channel === 'sms' ? '+15005550006' : 'delivered@sandbox.svc'
      const template = { name, variables }
      const single = await call('POST', SEND, {
        ...{ to, channel },
        template: { name, variables: { ...variables, name: 'Asha' } },
      })
      const recipients = [{ to, name: 'Asha' }]
      const estimate = await call('POST', '/api/v1/messages/estimate', {
        ...{ channel, template, recipients },
      })
      const bulk = await call('POST', '/api/v1/messages/bulk', { channel, template, recipients })
      expect(bulk.status, bulk.text).toBe(201)
      const used = { name, version: 1, locale: 'en' }
      expect(bulk.body.data.template).toEqual(used)
      expect(estimate.body.data).toMatchObject({
        template: used,
        credits_needed: bulk.body.data.credits_used,
      })
      const one = await messageOf(single.body.data.message_id)
      const of = await messageOf(bulk.body.data.messages[0].message_id)
      expect(JSON.stringify(of.content)).toBe(JSON.stringify(one.content))
      expect(of.template).toEqual(used)
    }
  })

  it('takes values of the recipient before those of the request', async () => {
    const name = await publish({ variants: [sms('en', '{{a}}{{b}}{{c|-}}{{#if vip}}!{{/if}}')] })
    const bulk = await call('POST', '/api/v1/messages/bulk', {
      channel: 'sms',
      template: { name, variables: { a: 1, b: 2 } },
      defaults: { b: 3 },
      recipients: [{ to: '+15005550006', variables: { a: 4, vip: false } }],
    })
    const message = await messageOf(bulk.body.data.messages[0].message_id)
    expect(message.content).toEqual({ text: '43-' })
  })

  it('refuses a template whose work for all recipients is too much', async () => {
    const name = await publish({ variants: [sms('en', 'a{{#each l}}{{#if x}}{{/if}}{{/each}}')] })
    const bulk = await call('POST', '/api/v1/messages/bulk', {
      channel: 'sms',
      template: { name, variables: { l: Array(1_000).fill(1) } },
      recipients: Array.from({ length: 200 }, (_, i) => `+2557000${10_000 + i}`),
    })
    expect(bulk.body.message).toContain('too large together')
  })
})

describe('who may use templates', () => {
  it('lets a test key send one, and not change one', async () => {
    const name = await publish({ variants: [sms('en', 'Hi')] })
    const test = (await world().key(owner, { mode: 'test' })).key
    const json = { to: '+15005550006', channel: 'sms', template: { name } }
    expect((await world().call('POST', SEND, { key: test, json })).status).toBe(201)
    const scoped = await world().key(owner, { mode: 'test', scopes: ['manage_contacts'] })
    const change = await world().call('DELETE', `${TEMPLATES}/${name}`, { key: scoped.key })
    expect(change.status).toBe(403)
  })

  it('serves the client', async () => {
    const svc = new Svc({ baseUrl: world().url, apiKey: key, maxRetries: 0 })
    const name = `order-${++names}`
    await svc.templates.create({ name, variants: [{ ...sms('en', 'Hi {{who}}'), channel: 'sms' }] })
    const { version } = await svc.templates.publish(name, {})
    expect(version).toMatchObject({ name, version: 1 })
    const sent = await svc.messages.send({
      to: '+15005550006',
      channel: 'sms',
      template: { name, variables: { who: 'Asha' } },
    })
    expect(sent.template).toEqual({ name, version: 1, locale: 'en' })
  })
})

describe('a preview', () => {
  const preview = (json: object) => call('POST', `${TEMPLATES}/preview`, json)

  it('has the bytes of a send, from the draft, a version, or a template that is not stored', async () => {
    const name = await publish()
    const variables = { name: '<A>', order_id: 'A1', items: [{ n: 1, title: 'Tea' }], vip: true }
    for (const channel of ['sms', 'email']) {
      const to = channel === 'sms' ? '+15005550006' : 'delivered@sandbox.svc'
      const sent = await call('POST', SEND, { to, channel, template: { name, variables } })
      const { content } = await messageOf(sent.body.data.message_id)
      for (const of of [{ name }, { name, version: 1 }, { template: order }]) {
        const answer = await preview({ ...of, channel, variables })
        expect(answer.status, answer.text).toBe(200)
        const { preview: shown } = answer.body.data
        expect(JSON.stringify(shown.content)).toBe(JSON.stringify(content))
        const sms = channel === 'sms' ? { encoding: 'GSM-7', segments: 1 } : { encoding: null }
        const credits = sent.body.data.credits_used
        expect(shown).toMatchObject({ channel, locale: 'en', missing: [], credits, ...sms })
      }
    }
    await call('PUT', `${TEMPLATES}/${name}`, { variants: [sms('en', 'Draft')] })
    const of = async (version?: number) =>
      (await preview({ name, channel: 'sms', version, variables })).body.data.preview.content.text
    expect([await of(), await of(1)]).toEqual(['Draft', 'Hi <A>: 1 Tea, thanks'])
  })

  it('takes examples where nothing else is given, and names what is missing', async () => {
    const template = {
      variables: [
        { name: 'a', type: 'text', example: 'A' },
        { name: 'b', type: 'text', fallback: 'B', example: 'other' },
        { name: 'c', type: 'list', example: [1, 2] },
      ],
      variants: [sms('en', '{{a}}{{b}}{{#each c}}{{this}}{{/each}}{{d}}{{e}}')],
    }
    const answer = await preview({ template, channel: 'sms', locale: 'de' })
    expect(answer.body.data.preview).toMatchObject({
      ...{ locale: 'en', content: { text: 'AB12' }, missing: ['d', 'e'] },
    })
  })

  it.each([
    [{ channel: 'sms' }, 'Give exactly one of name and template'],
    [{ channel: 'sms', name: 'a', template: order }, 'Give exactly one of name and template'],
    [{ channel: 'sms', version: 1, template: order }, 'version needs name'],
    [{ channel: 'sms', name: 'a', layouts: [{ name: 'b', ...order }] }, 'layouts needs template'],
    [
      {
        ...{ channel: 'email', template: order },
        layouts: [{ name: 'brand', category: 'layout', variants: [mail({ html: 'a' })] }],
      },
      'brand: ',
    ],
    [{ channel: 'sms', name: 'unknown' }, 'No template has the name unknown'],
    [{ channel: 'voice', template: order }, 'has no variant for voice'],
    [{ channel: 'sms', template: order, variables: { items: 'x' } }, 'items must be a list'],
    [
      {
        channel: 'sms',
        template: { variants: [sms('en', '{{a}}')] },
        variables: { a: 'a'.repeat(2_000) },
      },
      'content.text',
    ],
  ])('refuses %j', async (json, message) => {
    const answer = await preview(json)
    expect(answer.status).toBe(400)
    expect(answer.body.message).toContain(message)
  })
})

describe('a push', () => {
  const push = (json: object) => call('POST', `${TEMPLATES}/push`, json)
  const stored = async (name: string) =>
    (await call('GET', `${TEMPLATES}/${name}`)).body.data?.template

  it('creates, changes and publishes, and does nothing the second time', async () => {
    const [one, two, three] = [`push-${++names}`, `push-${++names}`, `push-${++names}`]
    const first = { templates: [{ name: two, ...order }] }
    const created = { change: 'created', changed: [], is_published: true, version: 1 }
    expect((await push(first)).body.data.templates).toEqual([{ name: two, ...created }])
    const unchanged = { change: 'unchanged', changed: [], is_published: false, version: 1 }
    const reordered = { ...order, variants: order.variants.toReversed() }
    expect((await push({ templates: [{ name: two, ...reordered }] })).body.data.templates).toEqual([
      { name: two, ...unchanged },
    ])
    expect(await stored(two)).toMatchObject({ variants: order.variants, version: 1 })

    const templates = [
      { name: three, ...order },
      { name: two, ...order, category: 'marketing', description: 'Changed' },
      { name: one, ...order },
    ]
    const changed = [
      { name: three, ...created },
      {
        name: two,
        ...{
          change: 'updated',
          changed: ['description', 'category'],
          is_published: true,
          version: 2,
        },
      },
      { name: one, ...created },
    ]
    const plan = await push({ templates, dry_run: true })
    expect(plan.body.data.templates).toEqual(changed)
    expect([await stored(one), (await stored(two)).version]).toEqual([undefined, 1])
    expect((await push({ templates })).body.data.templates).toEqual(changed)
    expect(await stored(two)).toMatchObject({
      version: 2,
      is_changed: false,
      category: 'marketing',
    })
    expect((await push({ templates })).body.data.templates).toEqual(
      changed.map(({ name, version }) => ({ ...unchanged, name, version })),
    )
  })

  it('leaves drafts with publish: false, and publishes them later', async () => {
    const name = `push-${++names}`
    const templates = [{ name, ...order }]
    const draft = { name, change: 'created', changed: [], is_published: false, version: null }
    expect((await push({ templates, publish: false })).body.data.templates).toEqual([draft])
    const later = { ...draft, change: 'unchanged', is_published: true, version: 1 }
    expect((await push({ templates, dry_run: true })).body.data.templates).toEqual([later])
    expect((await push({ templates })).body.data.templates).toEqual([later])
    expect(await stored(name)).toMatchObject({ version: 1, is_changed: false })
    await call('DELETE', `${TEMPLATES}/${name}`)
    const again = { ...later, change: 'created', version: 2 }
    expect((await push({ templates, dry_run: true })).body.data.templates).toEqual([again])
    expect((await push({ templates })).body.data.templates).toEqual([again])
  })

  it('changes nothing if one template is wrong', async () => {
    const [good, bad] = [`push-${++names}`, `push-${++names}`]
    const wrong = { name: bad, variants: [sms('en', '{{#if a}}')] }
    const answer = await push({ templates: [{ name: good, ...order }, wrong] })
    expect([answer.status, answer.body.message]).toEqual([
      400,
      `${bad}: variants.0.content.text: {{#if a}} has no {{/if}}`,
    ])
    expect(await stored(good)).toBeUndefined()
    const twice = await push({
      templates: [
        { name: good, ...order },
        { name: good, ...order },
      ],
    })
    expect(twice.body.message).toContain(`two templates with the name ${good}`)
  })

  it('undoes the templates before one without room', async () => {
    const other = await world().signup()
    const otherKey = (await world().key(other)).key
    const many = (from: number, count: number) =>
      Array.from({ length: count }, (_, i) => ({
        name: `t-${from + i}`,
        variants: [sms('en', 'a')],
      }))
    const put = (templates: object[]) =>
      world().call('POST', `${TEMPLATES}/push`, {
        key: otherKey,
        json: { templates, publish: false },
      })
    const step = LIMITS.template_push
    for (let from = 0; from < LIMITS.templates; from += step) {
      const answer = await put(
        many(from, Math.min(step, LIMITS.templates - from) - (from === 0 ? 1 : 0)),
      )
      expect(answer.status, answer.text).toBe(200)
    }
    const over = await put(many(LIMITS.templates, 2))
    expect([over.status, over.body.message]).toEqual([
      400,
      expect.stringContaining(`at most ${LIMITS.templates} templates`),
    ])
    const path = `${TEMPLATES}/t-${LIMITS.templates}`
    expect((await world().call('GET', path, { key: otherKey })).status).toBe(404)
    expect((await put(many(LIMITS.templates, 1))).status).toBe(200)
  })
})
