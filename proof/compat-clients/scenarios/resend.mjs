// Plays with the official package `resend` against Resend's door.
import assert from 'node:assert/strict'
import { api, check, end, load, openReceiver, pause, scenario, until } from './checks.mjs'

const { Resend } = load(scenario.module)
const { service, limited } = scenario
const MAIL = {
  from: 'Acme <shop@acme.example>',
  to: 'delivered@sandbox.svc',
  subject: 'Hello',
  html: '<p>It works</p>',
}
const UNKNOWN = '019a9c60-4f20-7e52-9c73-5b2e8f3d4a03'

// Old versions ignore the option; they read RESEND_BASE_URL.
const clientOf = (place, key = place.key) =>
  new Resend(key, { baseUrl: `${place.url}/compat/resend` })
const resend = clientOf(service)
const has = (group, name) => typeof resend[group]?.[name] === 'function'

/** Version 3 has only the names with underscores, and later versions only those without. */
const isOld = scenario.module === 'resend-3'
const names = (fields) =>
  isOld
    ? Object.fromEntries(
        Object.entries(fields).map(([name, value]) => [
          name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
          value,
        ]),
      )
    : fields

async function done(work) {
  const { data, error } = await work
  assert.equal(error, null)
  return data
}

async function refused(work, statusCode, name) {
  const { data, error } = await work
  assert.equal(data, null)
  assert.equal(error.name, name, JSON.stringify(error))
  if (error.statusCode !== undefined) assert.equal(error.statusCode, statusCode)
  return error
}

await check('send', async () => {
  const more = names({ replyTo: 'help@acme.example', to: ['a@example.com', 'b@example.com'] })
  const tags = [{ name: 'campaign', value: 'may' }]
  const headers = { 'X-Order': 'A1' }
  const { id } = await done(
    resend.emails.send({ ...MAIL, ...more, cc: 'c@example.com', tags, headers, text: 'Grüße 👋' }),
  )
  const { message } = await api('GET', `messages/${id}`)
  assert.equal(message.content.text, 'Grüße 👋')
  assert.deepEqual(message.content.tags, tags)
})

await check('one address in to and cc, Importance', async () => {
  const more = { cc: [MAIL.to, 'c@example.com'], headers: { Importance: 'high' } }
  const { id } = await done(resend.emails.send({ ...MAIL, ...more }))
  const { message } = await api('GET', `messages/${id}`)
  assert.deepEqual(message.content.cc, ['c@example.com'])
  assert.deepEqual(message.content.headers, { Importance: 'high' })
})

await check('attachments', async () => {
  const attachments = [
    { filename: 'a.txt', content: Buffer.from('Hello') },
    { filename: 'b.txt', content: 'SGVsbG8=' },
  ]
  const { id } = await done(resend.emails.send({ ...MAIL, attachments }))
  const { message } = await api('GET', `messages/${id}`)
  assert.deepEqual(
    message.content.attachments.map(({ filename, size_bytes }) => [filename, size_bytes]),
    [
      ['a.txt', 5],
      ['b.txt', 5],
    ],
  )
})

await check('get', async () => {
  const { id } = await done(resend.emails.send(MAIL))
  const read = await until(
    () => done(resend.emails.get(id)),
    ({ last_event }) => last_event === 'delivered',
    'a delivery',
  )
  assert.deepEqual([read.subject, read.html, read.to], [MAIL.subject, MAIL.html, [MAIL.to]])
})

await check(
  'list with paging',
  async () => {
    for (let n = 0; n < 5; n++) await done(resend.emails.send(MAIL))
    const first = await done(resend.emails.list({ limit: 2 }))
    assert.deepEqual([first.data.length, first.has_more], [2, true])
    const second = await done(resend.emails.list({ limit: 2, after: first.data[1].id }))
    assert.equal(new Set([...first.data, ...second.data].map(({ id }) => id)).size, 4)
    const before = await done(resend.emails.list({ limit: 2, before: second.data[0].id }))
    assert.deepEqual(
      before.data.map(({ id }) => id),
      first.data.map(({ id }) => id),
    )
  },
  { exists: has('emails', 'list') },
)

await check('batch', async () => {
  const made = await done(resend.batch.send([MAIL, { ...MAIL, subject: 'Second' }]))
  assert.equal(made.data.length, 2)
  assert.equal((await done(resend.emails.get(made.data[1].id))).subject, 'Second')
  const ids = async () => (await api('GET', 'messages?limit=100')).messages.map(({ id }) => id)
  const before = await ids()
  await refused(resend.batch.send([MAIL, { ...MAIL, to: 'no address' }]), 422, 'validation_error')
  assert.deepEqual(await ids(), before)
})

await check(
  'schedule, update and cancel',
  async () => {
    const { id } = await done(resend.emails.send({ ...MAIL, scheduledAt: 'in 1 hour' }))
    assert.equal((await done(resend.emails.get(id))).last_event, 'scheduled')
    const scheduledAt = new Date(Date.now() + 2 * 60 * 60_000).toISOString()
    await done(resend.emails.update({ id, scheduledAt }))
    assert.equal((await api('GET', `messages/${id}`)).message.scheduled_at, scheduledAt)
    await done(resend.emails.cancel(id))
    assert.equal((await done(resend.emails.get(id))).last_event, 'canceled')
  },
  { exists: has('emails', 'cancel') },
)

await check('react', async () => {
  const { createElement } = load('react')
  const { html: _, ...rest } = MAIL
  const react = createElement('p', { className: 'a' }, 'Grüße <b>')
  const { id } = await done(resend.emails.send({ ...rest, react }))
  const { message } = await api('GET', `messages/${id}`)
  assert.match(message.content.html, /<p class="a">Grüße &lt;b&gt;<\/p>/)
})

await check('domains', async () => {
  const made = await done(resend.domains.create({ name: 'acme.example' }))
  assert.equal(made.status, 'not_started')
  assert.match(made.records[0].name, /\._domainkey\.acme\.example$/)
  const listed = await done(resend.domains.list())
  assert.deepEqual(
    listed.data.map(({ id, name }) => [id, name]),
    [[made.id, 'acme.example']],
  )
  const { object: _, ...shown } = await done(resend.domains.get(made.id))
  assert.deepEqual(shown, made)
  if (has('domains', 'update')) {
    await done(resend.domains.update({ id: made.id, openTracking: false }))
  }
  await refused(resend.domains.create({ name: 'localhost' }), 422, 'validation_error')
  await done(resend.domains.remove(made.id))
  await refused(resend.domains.get(made.id), 404, 'not_found')
})

await check(
  'idempotency key',
  async () => {
    const options = { idempotencyKey: 'order-1' }
    const first = await done(resend.emails.send(MAIL, options))
    assert.deepEqual(await done(resend.emails.send(MAIL, options)), first)
    const other = resend.emails.send({ ...MAIL, subject: 'Other' }, options)
    await refused(other, 409, 'invalid_idempotent_request')
  },
  { exists: !isOld },
)

await check('API keys', async () => {
  const { data } = await done(resend.apiKeys.list())
  assert.ok(data.length > 0)
  for (const { id, name, created_at } of data) assert.ok(id && name && created_at)
})

await check('contacts', async () => {
  const audienceId = UNKNOWN
  const one = { email: 'asha@example.com', audienceId }
  const { id } = await done(resend.contacts.create({ ...one, ...names({ firstName: 'Asha' }) }))
  assert.equal((await done(resend.contacts.get({ id, audienceId }))).id, id)
  await done(resend.contacts.update({ id, audienceId, unsubscribed: true }))
  const listed = await done(resend.contacts.list({ audienceId }))
  assert.deepEqual(
    listed.data.map((contact) => [contact.id, contact.unsubscribed]),
    [[id, true]],
  )
  const group = resend.segments ?? resend.audiences
  for (const list of [resend.audiences, group]) {
    const { data } = await done(list.list())
    assert.ok(data.some((one) => one.id === audienceId && one.name === audienceId))
  }
  await refused(resend.emails.send({ ...MAIL, to: 'asha@example.com' }), 422, 'validation_error')
  await done(resend.contacts.remove({ id, audienceId }))
})

await check(
  'templates',
  async () => {
    const made = await done(
      resend.templates.create({
        ...{ name: 'Order', subject: 'Order {{{ORDER}}}', html: '<p>{{{NAME}}}: {{{ORDER}}}</p>' },
        variables: [
          { key: 'NAME', type: 'string', fallbackValue: 'there' },
          { key: 'ORDER', type: 'string' },
        ],
      }),
    )
    const { id } = made
    await done(resend.templates.publish(id))
    await done(resend.templates.update(id, { subject: 'Your order {{{ORDER}}}' }))
    assert.equal((await done(resend.templates.get(id))).has_unpublished_versions, true)
    const copy = await done(resend.templates.duplicate(id).publish())
    const { data } = await done(resend.templates.list())
    assert.deepEqual(new Set(data.map((one) => one.id)), new Set([id, copy.id]))
    const { from, to } = MAIL
    const template = { id, variables: { ORDER: '<A1>' } }
    const sent = await done(resend.emails.send({ from, to, template }))
    const read = await done(resend.emails.get(sent.id))
    assert.deepEqual([read.subject, read.html], ['Order <A1>', '<p>there: &lt;A1&gt;</p>'])
    for (const one of [id, copy.id]) await done(resend.templates.remove(one))
    await refused(resend.templates.get(id), 404, 'not_found')
  },
  { exists: has('templates', 'create') },
)

await check(
  'broadcasts and segments',
  async () => {
    const segment = await done(resend.segments.create({ name: 'May' }))
    const segments = [{ id: segment.id }]
    const [asha, juma] = ['asha@may.example', 'juma@may.example']
    await done(resend.contacts.create({ email: asha, firstName: 'Asha', segments }))
    await done(resend.contacts.create({ email: juma, unsubscribed: true, segments }))
    const renamed = await done(resend.segments.update(segment.id, { name: 'Spring' }))
    const segmentId = renamed.id
    assert.equal((await done(resend.segments.get(segmentId))).name, 'Spring')
    assert.ok((await done(resend.segments.list())).data.some(({ id }) => id === segmentId))

    const letter = { from: MAIL.from, subject: 'May', html: '<p>Hi {{{FIRST_NAME|you}}}</p>' }
    const { id } = await done(resend.broadcasts.create({ ...letter, segmentId }))
    await done(resend.broadcasts.update(id, { name: 'News of May' }))
    await done(resend.broadcasts.send(id, { scheduledAt: 'in 1 hour' }))
    await done(resend.broadcasts.cancel(id))
    const copy = await done(resend.broadcasts.duplicate(id))
    await done(resend.broadcasts.remove(copy.id))
    await done(resend.broadcasts.send(id))
    const sent = await until(
      () => done(resend.broadcasts.get(id)),
      ({ status }) => status === 'sent',
      'the end of a broadcast',
    )
    assert.deepEqual([sent.name, sent.segment_id], ['News of May', segmentId])
    assert.ok((await done(resend.broadcasts.list())).data.some((one) => one.id === id))
    if (has('broadcasts', 'recipients')) {
      const { data } = await until(
        () => done(resend.broadcasts.recipients(id, { type: 'delivered' })),
        ({ data: found }) => found.length > 0,
        'a delivery of a broadcast',
      )
      assert.deepEqual(
        data.map(({ email }) => email),
        [asha],
      )
      const opened = resend.broadcasts.recipients(id, { type: 'opened' })
      await refused(opened, 422, 'validation_error')
      await refused(resend.broadcasts.clickedLinks(id), 422, 'validation_error')
    }
    await done(resend.segments.remove(segmentId))
  },
  { exists: has('segments', 'update') },
)

await check('errors', async () => {
  const { subject: _, ...incomplete } = MAIL
  await refused(resend.emails.send(incomplete), 422, 'missing_required_field')
  await refused(resend.emails.send({ ...MAIL, to: 'no address' }), 422, 'validation_error')
  await refused(resend.emails.get(UNKNOWN), 404, 'not_found')
  await refused(clientOf(service, 'wrong').emails.send(MAIL), 403, 'invalid_api_key')
  const reader = clientOf(service, service.reader)
  await refused(reader.emails.send(MAIL), 401, 'restricted_api_key')
  await refused(reader.domains.list(), 401, 'restricted_api_key')
  await refused(resend.apiKeys.create({ name: 'x' }), 404, 'not_found')
})

await check('rate limit and retry', async () => {
  // The address of old versions comes from the environment when the package is loaded.
  const hasty = clientOf(limited)
  if (hasty.baseUrl !== `${limited.url}/compat/resend`) {
    process.env.RESEND_BASE_URL = `${limited.url}/compat/resend`
    delete load.cache[load.resolve(scenario.module)]
    const { Resend: Again } = load(scenario.module)
    Object.setPrototypeOf(hasty, Again.prototype)
  }
  let error = null
  for (let n = 0; n < 5 && error === null; n++) ({ error } = await hasty.emails.get(UNKNOWN))
  assert.equal(error?.name, 'not_found')
  const answers = await Promise.all([1, 2, 3, 4, 5].map(() => hasty.emails.send(MAIL)))
  assert.ok(answers.some((answer) => answer.error?.name === 'rate_limit_exceeded'))
  await pause(2_500)
  await done(hasty.emails.send(MAIL))
})

const receiver = await openReceiver()
const events = ['email.sent', 'email.delivered']

/** Sends an e-mail, and returns the first delivery at a path. */
async function deliveryAt(path) {
  await done(resend.emails.send(MAIL))
  const [arrival] = await until(
    () => receiver.at(path),
    ({ length }) => length > 0,
    'a delivery of a webhook',
  )
  return arrival
}

for (const version of [1, 2]) {
  await check(`signature, svix ${version}`, async () => {
    const { Webhook } = load(`svix-${version}`)
    const path = `/svix-${version}`
    const made = await api('POST', 'webhooks', {
      url: receiver.url + path,
      format: 'resend',
      events: ['message.delivered'],
    })
    const { headers, body } = await deliveryAt(path)
    new Webhook(made.webhook.secret).verify(body, headers)
    assert.equal(JSON.parse(body).type, 'email.delivered')
    const changed = body.replace('delivered', 'bounced')
    assert.throws(() => new Webhook(made.webhook.secret).verify(changed, headers))
  })
}

await check(
  'webhooks',
  async () => {
    const endpoint = `${receiver.url}/own`
    const made = await done(resend.webhooks.create({ endpoint, events }))
    const { headers, body } = await deliveryAt('/own')
    const verified = resend.webhooks.verify({
      payload: body,
      headers: {
        id: headers['svix-id'],
        timestamp: headers['svix-timestamp'],
        signature: headers['svix-signature'],
      },
      webhookSecret: made.signing_secret,
    })
    assert.ok(events.includes(verified.type))
    assert.ok((await done(resend.webhooks.list())).data.some(({ id }) => id === made.id))
    await done(resend.webhooks.remove(made.id))
    await refused(resend.webhooks.get(made.id), 404, 'not_found')
  },
  { exists: has('webhooks', 'verify') },
)

receiver.close()
end()
