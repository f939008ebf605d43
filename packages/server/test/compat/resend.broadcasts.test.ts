import { LIMITS } from '@svc/core/contract'
import { readProvider } from '@svc/core/operate'
import { Resend } from 'resend'
import { beforeAll, describe, expect, it } from 'vitest'
import type { Account } from '../accounts.ts'
import { useWorld } from '../world.ts'

const world = useWorld({ listen: true, dispatch: true })

let owner: Account
let key: string
let resend: Resend
beforeAll(async () => {
  owner = await world().signup({ credits: 1_000 })
  key = (await world().key(owner)).key
  resend = clientOf(key)
})

const clientOf = (apiKey: string) => new Resend(apiKey, { baseUrl: `${world().url}/compat/resend` })

const UNKNOWN = '019a9c60-4f20-7e52-9c73-5b2e8f3d4a03'

const LETTER = {
  from: 'Acme <news@acme.example>',
  subject: 'News for {{{FIRST_NAME|you}}}',
  html: '<html><body class="a"><p>Hi {{{contact.first_name}}} {{{LAST_NAME}}}, {{{contact.city|here}}}: {{{EMAIL}}}</p><a href="{{{RESEND_UNSUBSCRIBE_URL}}}">Leave</a></body></html>',
  replyTo: 'shop@acme.example',
  previewText: 'Tea & "more" for {{{FIRST_NAME}}}',
}

async function passTime(ms = 60_000): Promise<void> {
  await world().dispatcher.idle()
  await world().advance(ms)
  await world().dispatcher.idle()
}

const idOf = async (made: Promise<{ data: { id: string } | null; error: unknown }>) => {
  const { data, error } = await made
  expect(error).toBeNull()
  return data?.id ?? ''
}

const segment = (name: string) => idOf(resend.segments.create({ name }))

async function sentTo(to: string) {
  const { body } = await world().call('GET', '/api/v1/messages?channel=email&limit=100', { key })
  return body.data.messages.filter((one: { recipient: string }) => one.recipient === to)
}

describe('a broadcast', () => {
  it('is created, read, changed and sent with the official package', async () => {
    const segmentId = await segment('Newsletter 2026')
    expect(segmentId).toBe('Newsletter 2026')
    const other = await segment('Others')
    const segments = [{ id: segmentId }]
    const asha = 'asha@example.com'
    await resend.contacts.create({
      ...{ email: asha, firstName: 'Asha', lastName: '<J>', segments },
      properties: { city: 'Moshi' },
    })
    await resend.contacts.create({ email: 'nameless@example.com', segments })
    await resend.contacts.create({ email: 'other@example.com', segments: [{ id: other }] })
    await resend.contacts.create({ email: 'left@example.com', unsubscribed: true, segments })

    const id = await idOf(resend.broadcasts.create({ ...LETTER, segmentId: other }))
    const { data: draft } = await resend.broadcasts.get(id)
    expect(draft).toStrictEqual({
      ...{ object: 'broadcast', id, name: LETTER.subject, segment_id: other, audience_id: other },
      ...{ from: LETTER.from, subject: LETTER.subject, html: LETTER.html, text: null },
      ...{ reply_to: [LETTER.replyTo], preview_text: LETTER.previewText, status: 'draft' },
      created_at: world().now().toISOString(),
      ...{ scheduled_at: null, sent_at: null, topic_id: null },
    })
    const changed = await resend.broadcasts.update(id, {
      ...{ name: 'May', segmentId, subject: 'May, {{{FIRST_NAME|you}}}', from: 'may@acme.example' },
    })
    expect(changed).toMatchObject({ error: null, data: { id } })
    expect((await resend.broadcasts.get(id)).data).toMatchObject({
      ...{ name: 'May', segment_id: segmentId, from: 'may@acme.example', html: LETTER.html },
      ...{ preview_text: LETTER.previewText, subject: 'May, {{{FIRST_NAME|you}}}' },
    })

    expect((await resend.broadcasts.send(id)).data).toMatchObject({ id })
    expect((await resend.broadcasts.get(id)).data?.status).toBe('queued')
    await passTime()
    await passTime()
    const { data: sent } = await resend.broadcasts.get(id)
    expect(sent).toMatchObject({ status: 'sent', sent_at: expect.any(String), html: LETTER.html })
    expect((await resend.broadcasts.list()).data).toMatchObject({
      ...{ object: 'list', has_more: false },
      data: [{ id, name: 'May', status: 'sent', segment_id: segmentId }],
    })

    const [first] = await sentTo(asha)
    expect(first.content).toMatchObject({
      ...{ subject: 'May, Asha', from_address: 'may@acme.example', reply_to: [LETTER.replyTo] },
      html: `<html><body class="a"><div data-preview-text style="display:none">Tea &amp; &quot;more&quot; for Asha</div><p>Hi Asha &lt;J&gt;, Moshi: ${asha}</p><a href="{{unsubscribe_url}}">Leave</a></body></html>`,
    })
    const [nameless] = await sentTo('nameless@example.com')
    // Without a value and a fallback the place stays empty.
    expect(nameless.content.html).toContain('<p>Hi  , here: nameless@example.com</p>')
    expect(nameless.content.subject).toBe('May, you')
    expect(await sentTo('other@example.com')).toEqual([])
    expect(await sentTo('left@example.com')).toEqual([])
  })

  it('shows the e-mail that it sends, and its template is not in the list', async () => {
    const id = await idOf(
      resend.broadcasts.create({ ...LETTER, segmentId: await segment('Drafts') }),
    )
    const listed = (await world().call('GET', '/api/v1/templates?limit=100', { key })).body.data
    const { name } = listed.templates.find((one: { name: string }) => /^broadcast-/.test(one.name))
    const content = { subject: 'Not published', html: '<p>Not published</p>' }
    const changed = await world().call('PUT', `/api/v1/templates/${name}`, {
      key,
      json: { variants: [{ channel: 'email', locale: 'en', content }] },
    })
    expect(changed.status, changed.text).toBe(200)
    expect((await resend.broadcasts.get(id)).data).toMatchObject({ html: LETTER.html })
    const { data } = await resend.templates.list()
    expect(data?.data.map((one) => one.id).filter((one) => one.startsWith('broadcast-'))).toEqual(
      [],
    )
    // A change publishes the template in the same transaction.
    await resend.broadcasts.update(id, { subject: 'New' })
    const after = (await world().call('GET', `/api/v1/templates/${name}`, { key })).body.data
    expect(after.template).toMatchObject({
      ...{
        is_changed: false,
        variants: [{ content: { subject: 'New', html: expect.any(String) } }],
      },
    })
    expect((await resend.broadcasts.get(id)).data).toMatchObject({
      ...{ subject: 'New', html: LETTER.html },
    })
  })

  it('lists its recipients by event, without opens and clicks', async () => {
    const own = await world().signup({ credits: 100 })
    const client = clientOf((await world().key(own)).key)
    const segments = [{ id: 'all' }]
    const addresses = [
      'Asha@example.com',
      'bounced@sandbox.svc',
      'juma@example.com',
      'lea@x.example',
    ]
    const contacts = new Map<string, string>()
    for (const email of addresses) {
      const made = client.contacts.create({
        email,
        segments,
        unsubscribed: email === 'lea@x.example',
      })
      contacts.set(email, await idOf(made))
    }
    const [asha = '', bounced = '', juma = ''] = addresses
    const id = await idOf(client.broadcasts.create({ ...LETTER, segmentId: 'all' }))
    const page = async (type: string, options: object = {}) => {
      const { data, error } = await client.broadcasts.recipients(id, { type, ...options } as never)
      expect(error, type).toBeNull()
      return data
    }
    expect(await page('sent')).toStrictEqual({ object: 'list', has_more: false, data: [] })
    await client.broadcasts.send(id)
    await passTime()
    await passTime()
    await client.contacts.update({ email: juma, unsubscribed: true })

    const emails = async (type: string, options: object = {}) =>
      (await page(type, options))?.data.map(({ email }) => email)
    expect(await emails('sent')).toEqual([juma, bounced, asha])
    expect(await emails('delivered')).toEqual([juma, asha])
    expect(await emails('unsubscribed')).toEqual([juma])
    expect(await emails('complained')).toEqual([])
    expect(await emails('sent', { email: 'ASHA@example.com' })).toEqual([asha])
    expect(await emails('delivered', { email: bounced })).toEqual([])
    const { data: failed } = (await page('bounced')) ?? { data: [] }
    expect(failed).toStrictEqual([
      {
        ...{ id: expect.any(String), contact_id: contacts.get(bounced), email: bounced },
        // The sandbox's bounce suppresses nothing.
        bounce_type: 'undetermined',
      },
    ])
    expect(await page('bounced', { bounceType: 'undetermined' })).toMatchObject({ data: failed })
    for (const bounceType of ['permanent', 'transient']) {
      expect((await page('bounced', { bounceType }))?.data, bounceType).toEqual([])
    }

    const [first] = (await page('sent', { limit: 1 }))?.data ?? []
    expect(await page('sent', { limit: 1 })).toMatchObject({ has_more: true })
    expect(await emails('sent', { limit: 1, after: first?.id })).toEqual([bounced])
    const oldest = (await page('sent'))?.data[2]?.id
    expect(await emails('sent', { limit: 1, before: oldest })).toEqual([bounced])
    expect(await page('sent', { limit: 2, before: oldest })).toMatchObject({ has_more: false })

    const refused = { statusCode: 422, name: 'validation_error' }
    for (const type of ['opened', 'clicked', 'suppressed'] as const) {
      const { error } = await client.broadcasts.recipients(id, { type })
      expect(error, type).toMatchObject(refused)
    }
    expect((await client.broadcasts.clickedLinks(id)).error).toMatchObject({
      ...refused,
      message: 'This service does not record clicks.',
    })
    for (const options of [
      { type: 'x' },
      {},
      { type: 'sent', bounceType: 'permanent' },
      { type: 'sent', limit: 0 },
      { type: 'sent', after: oldest, before: oldest },
    ]) {
      const { error } = await client.broadcasts.recipients(id, options as never)
      expect(error, JSON.stringify(options)).toMatchObject(refused)
    }
    const other = await client.broadcasts.recipients(UNKNOWN, { type: 'sent' })
    expect(other.error).toMatchObject({ statusCode: 404 })
    const stranger = await resend.broadcasts.recipients(id, { type: 'sent' })
    expect(stranger.error).toMatchObject({ statusCode: 404 })
    expect((await resend.broadcasts.clickedLinks(id)).error).toMatchObject({ statusCode: 404 })
  })

  it('is sent at its creation or at a time, and canceled back to a draft', async () => {
    const segmentId = await segment('later')
    await resend.contacts.create({ email: 'later@example.com', segments: [{ id: segmentId }] })
    const letter = { ...LETTER, segmentId }
    const id = await idOf(
      resend.broadcasts.create({ ...letter, send: true, scheduledAt: 'in 1 hour' }),
    )
    const at = new Date(world().now().getTime() + 60 * 60_000).toISOString()
    expect((await resend.broadcasts.get(id)).data).toMatchObject({
      ...{ status: 'scheduled', scheduled_at: at },
    })
    const refused = { statusCode: 403, name: 'validation_error' }
    expect((await resend.broadcasts.update(id, { name: 'x' })).error).toMatchObject(refused)
    expect((await resend.broadcasts.send(id)).error).toMatchObject({
      ...refused,
      message: 'The broadcast is scheduled: it cannot be changed or sent.',
    })
    expect((await resend.broadcasts.cancel(id)).data).toEqual({ object: 'broadcast', id })
    expect((await resend.broadcasts.get(id)).data).toMatchObject({
      ...{ status: 'draft', scheduled_at: null },
    })
    expect((await resend.broadcasts.cancel(id)).error).toMatchObject(refused)
    await passTime(61 * 60_000)
    expect(await sentTo('later@example.com')).toEqual([])

    const scheduledAt = 'in 2 minutes'
    expect((await resend.broadcasts.send(id, { scheduledAt })).error).toBeNull()
    const copy = await idOf(resend.broadcasts.duplicate(id))
    await passTime(3 * 60_000)
    await passTime()
    expect(await sentTo('later@example.com')).toHaveLength(1)
    expect((await resend.broadcasts.get(id)).data?.status).toBe('sent')
    for (const call of ['update', 'send', 'cancel', 'remove'] as const) {
      expect((await resend.broadcasts[call](id, {})).error, call).toMatchObject(refused)
    }
    expect((await resend.broadcasts.get(copy)).data).toMatchObject({
      ...{ status: 'draft', html: LETTER.html, from: LETTER.from, segment_id: segmentId },
    })

    const now = await idOf(resend.broadcasts.create({ ...letter, send: true }))
    await passTime()
    expect((await resend.broadcasts.get(now)).data?.status).toBe('sent')
    expect(await sentTo('later@example.com')).toHaveLength(2)
  })

  it('that did not begin is removed, with its template', async () => {
    const own = await world().signup({ credits: 10 })
    const { key: ownKey } = await world().key(own)
    const client = clientOf(ownKey)
    const letter = { ...LETTER, segmentId: 'none' }
    const ids: string[] = []
    for (let i = 0; i < 4; i++) ids.unshift(await idOf(client.broadcasts.create(letter)))
    await client.broadcasts.send(ids[0] ?? '', { scheduledAt: 'in 1 hour' })
    const page = async (options: object) => {
      const { data } = await client.broadcasts.list(options)
      return [data?.has_more, ...(data?.data ?? []).map(({ id }) => ids.indexOf(id))]
    }
    expect(await page({})).toEqual([false, 0, 1, 2, 3])
    expect(await page({ limit: 2 })).toEqual([true, 0, 1])
    expect(await page({ limit: 2, after: ids[1] })).toEqual([false, 2, 3])
    expect(await page({ limit: 1, before: ids[3] })).toEqual([true, 2])
    for (const id of [ids[0] ?? '', ids[1] ?? '']) {
      expect((await client.broadcasts.remove(id)).data).toEqual({
        ...{ object: 'broadcast', id, deleted: true },
      })
      expect((await client.broadcasts.get(id)).error).toMatchObject({ statusCode: 404 })
      expect((await client.broadcasts.send(id)).error).toMatchObject({ statusCode: 404 })
    }
    expect(await page({})).toEqual([false, 2, 3])
    const { templates } = (await world().call('GET', '/api/v1/templates', { key: ownKey })).body
      .data
    expect(templates).toHaveLength(2)
    // Broadcasts of the API are not Resend's.
    const name = await world().template(own)
    const json = { channel: 'sms', template: { name }, audience: {}, draft: true }
    const made = await world().call('POST', '/api/v1/broadcasts', { key: ownKey, json })
    const { id } = made.body.data.broadcast
    expect((await client.broadcasts.get(id)).error).toMatchObject({ statusCode: 404 })
    expect((await client.broadcasts.remove(id)).error).toMatchObject({ statusCode: 404 })
    expect(await page({})).toEqual([false, 2, 3])
  })

  it('makes room for new templates: those of the oldest ended broadcasts are deleted', async () => {
    const { core } = world()
    const one = await world().signup({ credits: 100 })
    const apiKey = (await world().key(one)).key
    const client = clientOf(apiKey)
    const segments = [{ id: 'all' }]
    await client.contacts.create({ email: 'asha@example.com', segments })
    const make = (subject: string) =>
      idOf(client.broadcasts.create({ ...LETTER, subject, segmentId: 'all' }))
    const names = async () => {
      const all: string[] = []
      let after: string | undefined
      do {
        const page = await core.templates.list(one.id, { limit: 100, offset: 0, after })
        all.push(...page.templates.map(({ name }) => name))
        after = page.next_after ?? undefined
      } while (after)
      return all
    }
    const variants = [
      { channel: 'email' as const, locale: 'en', content: { subject: 'a', text: 'a' } },
    ]
    const push = (all: string[]) =>
      core.templates.push(one.id, { templates: all.map((name) => ({ name, variants })) } as never)
    // The oldest template of an ended broadcast, whose name only begins like those of the door.
    const MINE = 'broadcast-mine'
    await push([MINE])
    const identity = await core.apiKeys.authenticate(apiKey, '127.0.0.1')
    const { data } = await core.broadcasts.create(identity, {
      ...{ channel: 'email', template: { name: MINE }, audience: { tags: ['all'] } },
      draft: true,
    })
    await core.broadcasts.cancel(one.id, data.broadcast.id)
    const sent = await make('Sent')
    await client.broadcasts.send(sent)
    await passTime()
    await passTime()
    for (let i = 0; i < 21; i++) await core.broadcasts.cancel(one.id, await make(`Canceled ${i}`))
    const draft = await make('Draft')
    const [ofDraft, ...ofEnded] = (await names()).filter((name) => name !== MINE)
    expect(ofEnded).toHaveLength(22)

    const others = Array.from({ length: LIMITS.templates - 24 }, (_, i) => `other-${i}`)
    for (let i = 0; i < others.length; i += LIMITS.template_push) {
      await push(others.slice(i, i + LIMITS.template_push))
    }
    await expect(push(['one-more'])).rejects.toMatchObject({ code: 'validation_error' })

    const made = await make('New')
    const left = await names()
    expect(left).toHaveLength(LIMITS.templates - 20 + 1)
    expect(left).toEqual(expect.arrayContaining([ofDraft, MINE, ...others]))
    expect(left.filter((name) => ofEnded.includes(name))).toEqual(ofEnded.slice(0, 2))
    // Ended broadcasts stay as they are, and can be copied.
    expect((await client.broadcasts.get(sent)).data).toMatchObject({
      ...{ status: 'sent', subject: 'Sent', html: LETTER.html },
    })
    for (const id of [draft, made]) {
      expect((await client.broadcasts.get(id)).data?.status).toBe('draft')
    }
    const copy = await idOf(client.broadcasts.duplicate(sent))
    expect((await client.broadcasts.get(copy)).data?.subject).toBe('Sent')
  })

  it('with a fault is refused, and leaves no template', async () => {
    const count = async () =>
      (await world().call('GET', '/api/v1/templates', { key })).body.data.pagination.total
    const before = await count()
    const letter = { ...LETTER, segmentId: 'none' }
    const wrong: [object, object][] = [
      [{ from: undefined }, { message: 'Missing `from` field.' }],
      [{ subject: undefined }, { message: 'Missing `subject` field.' }],
      [{ segmentId: undefined }, { message: 'Missing `segment_id` field.' }],
      [{ html: undefined, text: 'x' }, { message: 'The `preview_text` field needs `html`.' }],
      [{ html: undefined, previewText: undefined }, { statusCode: 422 }],
      [{ html: '{{name}' }, { statusCode: 422, message: expect.stringContaining('{{') }],
      [{ scheduledAt: 'in 1 hour' }, { message: 'The `scheduled_at` field needs `send: true`.' }],
      [{ send: true, scheduledAt: 'someday' }, { statusCode: 422 }],
      [{ send: true, scheduledAt: 'in 100 days' }, { statusCode: 422 }],
      [{ topicId: 'x' }, { message: 'The `topic_id` field is not supported.' }],
      [{ name: 'n'.repeat(201) }, { statusCode: 422 }],
      [
        { subject: 'Leave: {{{RESEND_UNSUBSCRIBE_URL}}}' },
        {
          message:
            'The broadcast: only the HTML and the text of an e-mail have {{{RESEND_UNSUBSCRIBE_URL}}}: remove it from subject',
        },
      ],
    ]
    for (const [fields, error] of wrong) {
      const made = await resend.broadcasts.create({ ...letter, ...fields } as never)
      expect(made.error, JSON.stringify(fields)).toMatchObject(error)
    }
    expect(await count()).toBe(before)
  })

  it('belongs to its workspace, and needs the scopes and a live key', async () => {
    const id = await idOf(resend.broadcasts.create({ ...LETTER, segmentId: 'mine' }))
    const stranger = clientOf((await world().key(await world().signup())).key)
    for (const call of ['get', 'update', 'send', 'cancel', 'duplicate', 'remove'] as const) {
      expect((await stranger.broadcasts[call](id, {})).error, call).toMatchObject({
        ...{ statusCode: 404, name: 'not_found' },
      })
    }
    expect((await stranger.broadcasts.list()).data?.data).toEqual([])
    for (const options of [
      { scopes: ['send_messages', 'read_messages'] as const },
      { mode: 'test' as const },
    ]) {
      const weak = clientOf((await world().key(owner, options as never)).key)
      const made = await weak.broadcasts.create({ ...LETTER, segmentId: 'mine' })
      expect(made.error, JSON.stringify(options)).toMatchObject({ name: 'restricted_api_key' })
    }
    expect((await resend.broadcasts.get(id)).data?.status).toBe('draft')
  })
})

describe('a broadcast without one-click unsubscribe', () => {
  const mailer = readProvider({
    ...{ type: 'smtp', name: 'mailer', url: 'smtp://127.0.0.1:1', mail_domain: 'mail.example' },
    unsubscribe: false,
  })
  const plain = useWorld({ listen: true, providers: [mailer] })

  it('is refused in words of the caller', async () => {
    const { key } = await plain().key(await plain().signup())
    const client = new Resend(key, { baseUrl: `${plain().url}/compat/resend` })
    const made = await client.broadcasts.create({ ...LETTER, segmentId: 'mine' })
    expect(made.error).toMatchObject({
      ...{ statusCode: 422, name: 'validation_error' },
      message:
        'The broadcast: its marketing e-mails would lack one-click unsubscribe (RFC 8058), because a provider of e-mail has it turned off. Ask the operator',
    })
  })
})

describe('a segment', () => {
  it('has contacts, which join, leave and are all removed', async () => {
    const own = clientOf((await world().key(await world().signup())).key)
    const id = await idOf(own.segments.create({ name: 'VIP ümlaut' }))
    expect((await own.segments.get(id)).error).toMatchObject({ statusCode: 404 })
    const email = 'asha@example.com'
    await own.contacts.create({ email, segments: [{ id: 'first' }] })
    await own.contacts.create({ email: 'juma@example.com', segments: [{ id }] })
    expect((await own.contacts.segments.add({ email, segmentId: id })).data).toEqual({ id })
    const { data } = await own.contacts.segments.list({ email })
    expect(data?.data.map((one) => one.name)).toEqual([id, 'first'])
    const created_at = world().now().toISOString()
    expect((await own.segments.get(id)).data).toStrictEqual({
      ...{ object: 'segment', id, name: id, created_at },
    })
    const left = await own.contacts.segments.remove({ email, segmentId: 'first' })
    expect(left.data).toMatchObject({ audienceId: 'first', deleted: true })
    expect((await own.segments.get('first')).error).toMatchObject({ statusCode: 404 })

    expect((await own.audiences.remove(id)).data).toStrictEqual({
      ...{ object: 'segment', id, deleted: true },
    })
    expect((await own.segments.remove(id)).error).toMatchObject({ statusCode: 404 })
    expect((await own.segments.list()).data?.data).toEqual([])
    // The contacts stay.
    expect((await own.contacts.list()).data?.data).toHaveLength(2)
    expect((await own.contacts.segments.list({ email })).data?.data).toEqual([])
  })

  it('gets another name and id, which its contacts have then', async () => {
    const account = await world().signup({ credits: 10 })
    const own = clientOf((await world().key(account)).key)
    const [asha, juma] = ['asha@example.com', 'juma@example.com']
    await own.contacts.create({ email: asha, segments: [{ id: 'old' }, { id: 'kept' }] })
    await own.contacts.create({ email: juma, segments: [{ id: 'old' }, { id: 'new' }] })
    expect((await own.segments.update('old', { name: 'new' })).data).toStrictEqual({
      ...{ object: 'segment', id: 'new' },
    })
    const ids = async (email: string) =>
      (await own.contacts.segments.list({ email })).data?.data.map(({ id }) => id)
    expect([await ids(asha), await ids(juma)]).toEqual([['kept', 'new'], ['new']])
    expect((await own.segments.update('old', { name: 'x' })).error).toMatchObject({
      ...{ statusCode: 404, name: 'not_found' },
    })
    expect((await own.segments.update('new', { name: 'a/b' })).error).toMatchObject({
      ...{ statusCode: 422, name: 'validation_error' },
    })

    // A draft would have no audience.
    const draft = await idOf(own.broadcasts.create({ ...LETTER, segmentId: 'new' }))
    expect((await own.segments.update('new', { name: 'newer' })).error).toMatchObject({
      ...{ statusCode: 403, message: expect.stringContaining('broadcast that is not finished') },
    })
    expect((await own.segments.update('new', { name: 'new' })).error).toBeNull()
    expect(await ids(asha)).toEqual(['kept', 'new'])
    await own.broadcasts.remove(draft)
    expect((await own.segments.update('new', { name: 'newer' })).data?.id).toBe('newer')
    expect(await ids(asha)).toEqual(['kept', 'newer'])
  })

  it('of many contacts loses all of them, and only this tag', async () => {
    const account = await world().signup()
    const { key: ownKey } = await world().key(account)
    const contacts = Array.from({ length: 120 }, (_, i) => ({
      email: `c${i}@example.com`,
      tags: i % 2 ? ['many', 'kept'] : ['many'],
    }))
    const json = { contacts }
    const made = await world().call('POST', '/api/v1/contacts/import', { key: ownKey, json })
    expect(made.status, made.text).toBe(200)
    const own = clientOf(ownKey)
    expect((await own.segments.remove('many')).error).toBeNull()
    const { data } = await own.segments.list()
    expect(data?.data.map((one) => one.id)).toEqual(['kept'])
    const kept = await world().call('GET', '/api/v1/contacts?tag=kept', { key: ownKey })
    expect(kept.body.data.pagination.total).toBe(60)
    expect(kept.body.data.contacts[0].tags).toEqual(['kept'])
  })

  it('has a name that a path can hold', async () => {
    for (const name of ['', 'a/b', 'a?b', 'a#b', 'a%b', '..', 'x'.repeat(51)]) {
      expect((await resend.segments.create({ name })).error, name).toMatchObject({
        statusCode: 422,
      })
    }
  })
})
