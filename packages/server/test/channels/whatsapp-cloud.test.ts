import { expect, it } from 'vitest'
import { ACCOUNT, VERIFY_TOKEN } from '../../../core/test/providers/whatsapp-cloud/peer.ts'
import { verificationCall } from '../../../core/test/providers/whatsapp-cloud/webhooks.ts'
import { carries, openCarriage } from './carriage.contract.ts'
import { openMeta } from './meta-carrier.ts'
import { CANARY } from './service.ts'

carries('WhatsApp Cloud', {
  channel: 'whatsapp',
  price: 0.5,
  senders: 'Invalid sender. Must be one of: +15550783881, +15550783882',
  open: () => openMeta(),
})

it('answers the verification request of Meta, and of no other client', async () => {
  const stage = await openCarriage(() => openMeta())
  const { service, tenant, peer } = stage
  const content = { text: CANARY }
  await service.accepted(tenant.key, { to: peer.recipient(), channel: 'whatsapp', content })
  const verification = verificationCall(VERIFY_TOKEN, { challenge: '4711' })
  expect(await service.called(verification)).toEqual({ status: 200, text: '4711' })
  expect(await service.called(verificationCall('guessed-by-somebody'))).toMatchObject({
    status: 403,
  })
  await stage.close()
})

it('refuses templates that Meta has not approved, before any charge', async () => {
  const peer = await openMeta({ business_account_ids: [ACCOUNT] })
  const stage = await openCarriage(async () => peer)
  const { service, tenant } = stage
  const { key } = tenant
  peer.meta.templates.push({ name: 'sale', language: 'en_US', body: 0, status: 'PAUSED' })
  const post = (path: string, json: object) =>
    service.call('POST', `/api/v1/${path}`, { key, json })
  const balance = async () => (await service.call('GET', '/api/v1/balance', { key })).body
  const before = await balance()
  expect(before).toMatchObject({ data: { credits_balance: expect.any(Number) } })
  const to = peer.recipient()
  const content = { template: { name: 'sale', language: 'en_US' } }
  const unknown = { template: { name: 'sale', language: 'de' } }
  const PAUSED =
    'The WhatsApp template sale (en_US) has the status PAUSED: only approved templates can be sent'
  const refused = (path: string, message: string) => ({
    status: 400,
    body: { error: 'validation_error', message, details: [{ path, message }] },
  })
  const channel = 'whatsapp'
  const own = refused('content.template.name', PAUSED)
  expect(await post('messages/send', { channel, to, content })).toMatchObject(own)
  expect(await post('messages/estimate', { channel, to, content })).toMatchObject(own)
  expect(await post('messages/bulk', { channel, content, recipients: [{ to }] })).toMatchObject(own)
  expect(await post('messages/send', { channel, to, content: unknown })).toMatchObject(
    refused('content.template.name', 'No provider has approved the WhatsApp template sale (de)'),
  )
  // Test keys may use any template.
  const made = await service.call('POST', '/api/v1/api-keys', {
    token: tenant.token,
    json: { name: 'trial', mode: 'test' },
  })
  const trial = await service.call('POST', '/api/v1/messages/send', {
    key: made.body.data.key,
    json: { channel, to, content },
  })
  expect(trial).toMatchObject({ status: 201 })
  // A stored template, also in a broadcast and its preview.
  const variants = [{ channel, locale: 'en', content }]
  expect((await post('templates', { name: 'news', variants })).status).toBe(201)
  expect((await post('templates/news/publish', {})).status).toBe(201)
  const stored = refused('template.name', PAUSED)
  const template = { name: 'news' }
  expect(await post('messages/send', { channel, to, template })).toMatchObject(stored)
  const broadcast = { channel, template, audience: { tags: ['all'] } }
  expect(await post('broadcasts/preview', broadcast)).toMatchObject(stored)
  expect(await post('broadcasts', broadcast)).toMatchObject(stored)
  expect(await balance()).toEqual(before)
  expect(peer.meta.accepted).toEqual([])
  // One list served them all; Meta approves, and it is asked again after a minute.
  const lists = () => peer.meta.requests.filter(({ path }) => path.includes('message_templates'))
  const count = lists().length
  peer.meta.templates.splice(-1, 1, { name: 'sale', language: 'en_US', body: 0 })
  service.clock.ms += 60_000
  expect(await post('messages/send', { channel, to, content })).toMatchObject({ status: 201 })
  expect(lists()).toHaveLength(2 * count)
  expect(await service.core.providers.check('wa')).toEqual({ type: 'ok', templates: null })
  await service.idle()
  expect(peer.taken(to)).toBe(1)
  // Nothing is refused while Meta cannot be asked.
  peer.meta.templates.splice(-1, 1)
  service.clock.ms += 60_000
  peer.meta.fail({ type: 'error', status: 403, code: 200 })
  expect(await post('messages/send', { channel, to, content })).toMatchObject({ status: 201 })
  await stage.close()
})
