import { Resend } from 'resend'
import { beforeAll, expect, test } from 'vitest'
import type { Account } from '../accounts.ts'
import { useWorld } from '../world.ts'

const world = useWorld({ listen: true })

let owner: Account
let key: string
let resend: Resend
beforeAll(async () => {
  owner = await world().signup({ credits: 1_000 })
  key = (await world().key(owner)).key
  resend = clientOf(key)
})

const clientOf = (apiKey: string) => new Resend(apiKey, { baseUrl: `${world().url}/compat/resend` })

const TEMPLATE = {
  name: 'Order confirmation',
  subject: 'Order {{{ORDER}}}',
  html: '<p>Hi {{{NAME}}}, {{{ORDER}}}: {{{COUNT}}}</p>',
  replyTo: ['shop@acme.example'],
  variables: [
    { key: 'NAME', type: 'string' as const, fallbackValue: 'there' },
    { key: 'ORDER', type: 'string' as const },
    { key: 'COUNT', type: 'number' as const, fallbackValue: 1 },
  ],
}

const messageOf = async (id: string) =>
  (await world().call('GET', `/api/v1/messages/${id}`, { key })).body.data.message

test('a template is created, published and sent with the official package', async () => {
  const made = await resend.templates.create({ ...TEMPLATE, alias: 'order' }).publish()
  expect(made).toMatchObject({ error: null, data: { object: 'template', id: 'order' } })
  const { data: got } = await resend.templates.get('order')
  expect(got).toEqual({
    ...{ object: 'template', id: 'order', alias: 'order', name: 'Order confirmation' },
    ...{ status: 'published', has_unpublished_versions: false, current_version_id: 'order:1' },
    ...{ subject: TEMPLATE.subject, html: TEMPLATE.html, text: null, from: null },
    reply_to: ['shop@acme.example'],
    variables: TEMPLATE.variables.map(({ fallbackValue = null, ...one }) => ({
      ...one,
      fallback_value: fallbackValue,
      created_at: expect.any(String),
      updated_at: expect.any(String),
    })),
    ...{ published_at: expect.any(String), created_at: expect.any(String) },
    updated_at: expect.any(String),
  })

  const sent = await resend.emails.send({
    ...{ from: 'Acme <shop@acme.example>', to: 'delivered@sandbox.svc', cc: 'cc@example.com' },
    template: { id: 'order', variables: { ORDER: '<A1>', COUNT: 2 } },
    attachments: [{ filename: 'a.txt', content: Buffer.from('hello') }],
  })
  expect(sent.error).toBeNull()
  const message = await messageOf(sent.data?.id ?? '')
  expect(message).toMatchObject({
    sender: 'Acme',
    template: { name: 'order', version: 1, locale: 'en' },
    content: {
      subject: 'Order <A1>',
      html: '<p>Hi there, &lt;A1&gt;: 2</p>',
      from_address: 'shop@acme.example',
      reply_to: ['shop@acme.example'],
      attachments: [{ filename: 'a.txt' }],
    },
  })
  expect((await resend.emails.get(message.id)).data?.subject).toBe('Order <A1>')

  const other = await resend.emails.send({
    ...{ from: 'shop@acme.example', to: 'delivered@sandbox.svc', subject: 'Mine' },
    template: { id: 'order', variables: { ORDER: 'A2' } },
  })
  expect((await messageOf(other.data?.id ?? '')).content.subject).toBe('Mine')
  const lacking = await resend.emails.send({
    ...{ from: 'shop@acme.example', to: 'delivered@sandbox.svc' },
    template: { id: 'order' },
  })
  expect(lacking.error).toMatchObject({
    ...{ statusCode: 422, name: 'validation_error', message: 'No value for {{ORDER}}' },
  })
})

test('a template is changed, copied, listed and removed', async () => {
  const first = await resend.templates.create(TEMPLATE)
  const second = await resend.templates.create(TEMPLATE)
  expect([first.data?.id, second.data?.id]).toEqual(['order-confirmation', 'order-confirmation-2'])
  const id = 'order-confirmation'
  expect((await resend.templates.get(id)).data).toMatchObject({
    ...{ status: 'draft', published_at: null, current_version_id: `${id}:0` },
  })
  const unsent = await resend.emails.send({
    ...{ from: 'shop@acme.example', to: 'delivered@sandbox.svc', template: { id } },
  })
  expect(unsent.error?.message).toContain('is a draft')

  await resend.templates.publish(id)
  const changed = await resend.templates.update(id, {
    ...{ subject: 'New {{{ORDER}}}', from: 'Acme <news@acme.example>', text: 'Plain' },
    variables: [{ key: 'ORDER', type: 'string' }],
  })
  expect(changed).toMatchObject({ error: null, data: { object: 'template', id } })
  expect((await resend.templates.get(id)).data).toMatchObject({
    ...{ subject: 'New {{{ORDER}}}', html: TEMPLATE.html, text: 'Plain' },
    ...{ from: 'news@acme.example', has_unpublished_versions: true, status: 'published' },
  })
  expect((await resend.templates.update(id, { alias: 'x' })).error).toMatchObject({
    ...{ statusCode: 422, message: 'The `alias` of a template cannot change.' },
  })

  const copy = await resend.templates.duplicate(id).publish()
  expect(copy.data?.id).toBe(`${id}-copy`)
  expect((await resend.templates.get(`${id}-copy`)).data).toMatchObject({
    ...{ name: 'Order confirmation', subject: 'New {{{ORDER}}}', status: 'published' },
  })

  // Templates without an e-mail are not Resend's.
  const sms = [{ channel: 'sms', locale: 'en', content: { text: 'Hi' } }]
  const json = { name: 'texts', variants: sms }
  expect((await world().call('POST', '/api/v1/templates', { key, json })).status).toBe(201)
  const all = await resend.templates.list()
  expect(all.data?.data.map((one) => one.id)).toEqual([
    `${id}-copy`,
    'order-confirmation-2',
    id,
    'order',
  ])
  const { data: page } = await resend.templates.list({ limit: 1, after: 'order-confirmation-2' })
  expect(page).toMatchObject({ has_more: true, data: [{ id, alias: id, status: 'published' }] })
  expect((await resend.templates.get('texts')).error).toMatchObject({ statusCode: 404 })

  expect((await resend.templates.remove(id)).data).toEqual({
    object: 'template',
    id,
    deleted: true,
  })
  for (const name of [id, 'unknown', 'Größe']) {
    expect((await resend.templates.get(encodeURIComponent(name))).error?.statusCode).toBe(404)
    expect((await resend.templates.remove(encodeURIComponent(name))).error?.statusCode).toBe(404)
  }
})

test('a template belongs to its workspace, and needs the scope', async () => {
  await resend.templates.create({ ...TEMPLATE, alias: 'mine' }).publish()
  const other = await world().signup({ credits: 10 })
  const stranger = clientOf((await world().key(other)).key)
  expect((await stranger.templates.get('mine')).error).toMatchObject({ statusCode: 404 })
  expect((await stranger.templates.list()).data?.data).toEqual([])
  const used = await stranger.emails.send({
    ...{ from: 'a@acme.example', to: 'delivered@sandbox.svc', template: { id: 'mine' } },
  })
  expect(used.error?.message).toContain('No template has the name mine')
  const narrow = clientOf((await world().key(owner, { scopes: ['send_messages'] })).key)
  expect((await narrow.templates.list()).error).toMatchObject({
    ...{ statusCode: 401, name: 'restricted_api_key' },
  })
})

test('names that slugs cannot have become numbers, and faults name their field', async () => {
  const made = await resend.templates.create({ name: '日本', html: '<p>Hi</p>' })
  expect(made.data?.id).toBe('template')
  expect((await resend.templates.create({ name: 'a', html: '{{#if a}}' })).error).toMatchObject({
    statusCode: 422,
    message: expect.stringContaining('{{#if a}} has no {{/if}}'),
  })
  expect((await resend.templates.create({ name: 'a' } as never)).error?.statusCode).toBe(422)
  expect(
    (await resend.templates.create({ name: 'a', html: 'b', alias: 'A b' })).error,
  ).toMatchObject({ statusCode: 422, message: expect.stringContaining('The name of a template') })
})

test('layouts, which Resend does not have, are not shown', async () => {
  const variants = [{ channel: 'email', locale: 'en', content: { html: '<i>{{content}}</i>' } }]
  const json = { name: 'brand', category: 'layout', variants }
  expect((await world().call('POST', '/api/v1/templates', { key, json })).status).toBe(201)
  const { data } = await resend.templates.list()
  expect(data?.data.map(({ id }) => id)).not.toContain('brand')
  expect((await resend.templates.get('brand')).error?.name).toBe('not_found')
})
