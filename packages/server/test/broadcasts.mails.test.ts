import PostalMime from 'postal-mime'
import { afterAll, beforeAll, expect, it } from 'vitest'
import type { Account } from './accounts.ts'
import { openMail } from './channels/mail-carrier.ts'
import { openWorld, type World } from './world.ts'

const ADDRESS = 'Żółw & Co\nMain Street 1'

let peer: Awaited<ReturnType<typeof openMail>>
let world: World
let owner: Account
let key: string
beforeAll(async () => {
  peer = await openMail()
  world = await openWorld({ dispatch: true, providers: [peer.settings] })
  owner = await world.signup({ credits: 1_000 })
  key = (await world.key(owner)).key
})
afterAll(async () => {
  await world.close()
  await peer.close()
})

const post = (path: string, json?: object) => world.call('POST', `/api/v1/${path}`, { key, json })

async function publish(name: string, content: object, category = 'marketing'): Promise<void> {
  const variants = [{ channel: 'email', locale: 'en', content }]
  await post('templates', { name, category, variants })
  expect((await post(`templates/${name}/publish`, {})).status).toBe(201)
}

async function broadcastTo(name: string, tag: string): Promise<string> {
  const made = await post('broadcasts', {
    ...{ channel: 'email', template: { name }, audience: { tags: [tag] } },
  })
  expect(made.status, made.text).toBe(201)
  await passTime()
  return made.body.data.broadcast.id
}

async function passTime(): Promise<void> {
  await world.dispatcher.idle()
  await world.advance(61_000)
  await world.dispatcher.idle()
}

it('marketing e-mails have one-click unsubscribe and the postal address; a click is in the results', async () => {
  await world.call('PUT', '/api/v1/account', {
    token: owner.token,
    json: { postal_address: ADDRESS },
  })
  const [asha, juma] = ['asha@people.example', 'juma@people.example']
  for (const email of [asha, juma]) {
    await world.contact(owner, { phone: undefined, email, name: email[0], tags: ['mails'] })
  }
  await publish('news', { subject: 'News', html: '<body><p>Hi {{name}}</p></body>' })
  const id = await broadcastTo('news', 'mails')
  const { headers, html, text } = await PostalMime.parse(peer.lastTo(asha).raw)
  const headerOf = (name: string) => headers.find((one) => one.key === name)?.value
  expect(headerOf('list-unsubscribe-post')).toBe('List-Unsubscribe=One-Click')
  expect(headerOf('list-unsubscribe')).toMatch(/^<http[^>]+\/unsubscribe\/[0-9a-z]{62}>$/)
  expect(html?.trim()).toBe(
    '<body><p>Hi a</p><p style="font-size:12px">Żółw &amp; Co<br>Main Street 1</p></body>',
  )
  expect(text?.replaceAll('\r\n', '\n').trim()).toBe(`Hi a\n\n${ADDRESS}`)
  // Each recipient has a link of its own.
  expect(peer.unsubscribeLink(juma)).not.toBe(peer.unsubscribeLink(asha))
  const pressed = await world.app.inject({
    method: 'POST',
    url: new URL(peer.unsubscribeLink(asha)).pathname,
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    payload: 'List-Unsubscribe=One-Click',
  })
  expect(pressed.statusCode).toBe(200)
  const { results } = (await world.call('GET', `/api/v1/broadcasts/${id}`, { key })).body.data
  expect(results).toMatchObject({ failed: 0, unsubscribed: 1 })

  const again = await broadcastTo('news', 'mails')
  const { broadcast } = (await world.call('GET', `/api/v1/broadcasts/${again}`, { key })).body.data
  expect(broadcast.counts).toMatchObject({ contacts: 2, accepted: 1, suppressed: 1 })
  expect([peer.taken(asha), peer.taken(juma)]).toEqual([1, 2])
})

it('{{unsubscribe_url}} is the link of the recipient in html and text, and needs one recipient', async () => {
  const [ali, eva] = ['ali@people.example', 'eva@people.example']
  for (const email of [ali, eva]) {
    await world.contact(owner, { phone: undefined, email, tags: ['linked'] })
  }
  const html = '<p>{{attributes.x|News}}: <a href="{{unsubscribe_url}}">Unsubscribe</a></p>'
  await publish('linked', { subject: 'News', html }, 'transactional')
  await broadcastTo('linked', 'linked')
  for (const to of [ali, eva]) {
    const mail = await PostalMime.parse(peer.lastTo(to).raw)
    const link = peer.unsubscribeLink(to)
    expect(mail.html).toContain(`<a href="${link}">Unsubscribe</a>`)
    expect(mail.text?.replaceAll(/\s+/g, ' ')).toContain(link)
  }
  expect(peer.unsubscribeLink(ali)).not.toBe(peer.unsubscribeLink(eva))
  // The stored content keeps the placeholder, because the link is a credential of the recipient.
  const { messages } = (await world.call('GET', '/api/v1/messages?template=linked', { key })).body
    .data
  expect(messages[0].content.html).toBe(html.replace('{{attributes.x|News}}', 'News'))

  const content = { subject: 'Hi', text: 'Leave: {{unsubscribe_url}}' }
  const sent = await post('messages/send', { to: ali, channel: 'email', content })
  expect(sent.status, sent.text).toBe(201)
  const bulk = await post('messages/bulk', { channel: 'email', content, recipients: [{ to: eva }] })
  expect(bulk.status, bulk.text).toBe(201)
  await passTime()
  for (const to of [ali, eva]) {
    const { text } = await PostalMime.parse(peer.lastTo(to).raw)
    expect(text?.trim()).toBe(`Leave: ${peer.unsubscribeLink(to)}`)
  }
  const both = await post('messages/send', { to: [ali, eva], channel: 'email', content })
  expect(both.body).toMatchObject({
    details: [{ path: 'to', message: expect.stringContaining('needs one recipient') }],
  })
  const sms = await post('templates/preview', {
    channel: 'sms',
    template: {
      variants: [{ channel: 'sms', locale: 'en', content: { text: '{{unsubscribe_url}}' } }],
    },
  })
  expect(sms.body.data.preview.missing).toEqual(['unsubscribe_url'])
})

it('a marketing e-mail needs one recipient, who can unsubscribe with one click', async () => {
  const [uma, una] = ['uma@people.example', 'una@people.example']
  await publish('offer', { subject: 'Offer', html: '<p>Tea</p>' })
  await publish('voucher', { subject: 'Voucher', html: '<p>Tea</p>' }, 'transactional')
  const balance = async () => (await world.call('GET', '/api/v1/balance', { key })).body.data
  const before = await balance()
  const from = (name: string) => ({ channel: 'email', template: { name } })
  const several = [
    { to: [uma, una] },
    { to: uma, content: { cc: [una] } },
    { to: uma, content: { bcc: [una] } },
  ]
  const message =
    'A marketing e-mail needs one recipient, who can unsubscribe with one click: send one message to each'
  for (const recipients of several) {
    for (const path of ['messages/send', 'messages/estimate']) {
      const refused = await post(path, { ...from('offer'), ...recipients })
      expect([refused.status, refused.body]).toMatchObject([
        400,
        { error: 'validation_error', message, details: [{ path: 'to', message }] },
      ])
    }
    const estimate = await post('messages/estimate', { ...from('voucher'), ...recipients })
    expect(estimate.status, estimate.text).toBe(200)
  }
  expect(await balance()).toEqual(before)

  const own = { 'List-Unsubscribe': '<https://shop.example/leave>' }
  const headers = { ...own, 'List-Unsubscribe-Post': 'List-Unsubscribe=One-Click' }
  for (const sent of [
    { ...from('offer'), to: [uma] },
    { ...from('offer'), to: [uma, una], content: { headers } },
    { ...from('voucher'), to: [uma, una] },
  ]) {
    const { status, text } = await post('messages/send', sent)
    expect(status, text).toBe(201)
  }
})

it('a broadcast whose subject has {{unsubscribe_url}} is refused, or pauses with the reason', async () => {
  const [to, subject] = ['kai@people.example', 'Leave: {{ unsubscribe_url }}']
  await world.contact(owner, { phone: undefined, email: to, tags: ['subjects'] })
  await publish('subject', { subject: 'News', text: 'Hi' })
  const request = { channel: 'email', audience: { tags: ['subjects'] } }
  const scheduled_at = new Date(world.now().getTime() + 60_000).toISOString()
  const made = await post('broadcasts', { ...request, template: { name: 'subject' }, scheduled_at })
  expect(made.status, made.text).toBe(201)
  const variants = [{ channel: 'email', locale: 'en', content: { subject, text: 'Hi' } }]
  await world.call('PUT', '/api/v1/templates/subject', { key, json: { variants } })
  await post('templates/subject/publish', {})
  const reason =
    'Template subject: only the HTML and the text of an e-mail have {{unsubscribe_url}}: remove it from subject'
  const refused = await post('broadcasts', { ...request, template: { name: 'subject' } })
  expect(refused.body.details).toEqual([{ path: 'template.name', message: reason }])
  await passTime()
  const { id } = made.body.data.broadcast
  const { broadcast } = (await world.call('GET', `/api/v1/broadcasts/${id}`, { key })).body.data
  expect(broadcast).toMatchObject({
    ...{ status: 'paused', pause: { reason: 'template', message: reason } },
    counts: { contacts: 0, accepted: 0 },
  })
  // A value of the request, a fallback, and a place in a block that may be left out are no faults of the template.
  const variables = { unsubscribe_url: 'x' }
  const valued = await post('broadcasts', { ...request, template: { name: 'subject', variables } })
  expect(valued.status, valued.text).toBe(201)
  for (const [name, subject] of [
    ['fallback', '{{unsubscribe_url|there}}'],
    ['block', 'News{{#if late}}{{unsubscribe_url}}{{/if}}'],
  ] as const) {
    await publish(name, { subject, text: 'Hi' })
    const sent = await post('broadcasts', { ...request, template: { name } })
    expect(sent.status, sent.text).toBe(201)
  }
})

it('a transactional e-mail has no postal address', async () => {
  await world.contact(owner, { phone: undefined, email: 'bo@people.example', tags: ['plain'] })
  await publish('receipt', { subject: 'Receipt', text: 'Thanks' }, 'transactional')
  await broadcastTo('receipt', 'plain')
  const { text } = await PostalMime.parse(peer.lastTo('bo@people.example').raw)
  expect(text?.trim()).toBe('Thanks')
})

it('a marketing e-mail whose own List-Unsubscribe is not one-click is refused', async () => {
  const headers = { 'List-Unsubscribe': '<mailto:off@acme.example>' }
  const content = { subject: 'News', text: 'News', headers }
  const variants = [{ channel: 'email', locale: 'en', content }]
  const own = await post('templates', { name: 'own', category: 'marketing', variants })
  expect(own.body).toMatchObject({
    details: [
      {
        path: 'variants.0.content.headers',
        message: expect.stringContaining('List-Unsubscribe-Post'),
      },
    ],
  })
  const both = { ...headers, 'list-unsubscribe-post': 'List-Unsubscribe=One-Click' }
  await publish('both', { subject: 'News', text: 'News', headers: both })
  const allowed = { channel: 'email', template: { name: 'both' }, audience: {}, draft: true }
  expect((await post('broadcasts', allowed)).status).toBe(201)
})
