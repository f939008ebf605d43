import { afterEach, expect, it } from 'vitest'
import { accepting, answer, NO_ANSWER } from '../../../core/test/providers/http-peer.ts'
import { openGateway } from './gateway-carrier.ts'
import { CANARY, openService, type Service } from './service.ts'
import { openTwilio } from './twilio-carrier.ts'

const MINUTE_MS = 60_000

const ends: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const end of ends.splice(0)) await end()
})

/** Two gateways for the same senders; the second gets messages that the first does not accept. */
async function openTwo({ idempotent = false } = {}) {
  // Neither has a lookup: a message that one may have must not go to the other.
  const blind = { idempotent, lookup: undefined }
  const first = await openGateway({ name: 'first', ...blind })
  const second = await openGateway({ name: 'second', ...blind })
  const service = await openService({
    providers: [first.settings, second.settings],
    secrets: first.secrets,
  })
  ends.push(service.close, first.close, second.close)
  const tenant = await service.tenant()
  const send = (to: string) =>
    service.accepted(tenant.key, { to, channel: 'sms', content: { text: CANARY } })
  return { first, second, service, tenant, send }
}

/** A callback of the gateway with this provider name. */
function calledAs(
  service: Service,
  name: string,
  request: Parameters<Service['called']>[0],
): ReturnType<Service['called']> {
  return service.called({ ...request, url: request.url.replace('gateway', name) })
}

it('a message that the first provider refuses goes to the second, and a late failure report of the first is ignored', async () => {
  const { first, second, service, tenant, send } = await openTwo()
  const to = first.recipient()
  first.plays(to, answer(503))
  const id = await send(to)
  await service.idle()
  await service.advance(MINUTE_MS)
  expect([first.sends(to).length, second.taken(to)]).toEqual([1, 1])
  expect(await service.messageOf(tenant.key, id)).toMatchObject({ status: 'sent' })
  const attempts = (await service.timelineOf(tenant.key, id)).filter(
    ({ kind }) => kind === 'provider',
  )
  expect(attempts).toMatchObject([
    { provider: 'first', outcome: 'retry' },
    { provider: 'second', outcome: 'accepted' },
  ])
  const failed = second.callback(to, 'failed')
  expect((await calledAs(service, 'first', failed)).status).toBe(200)
  expect(await service.statusOf(tenant.key, id)).toBe('sent')
  expect((await calledAs(service, 'second', second.callback(to, 'delivered'))).status).toBe(200)
  await service.idle()
  expect(service.eventsOf(id)).toEqual(['message.sent', 'message.delivered'])
})

it('a message that the first provider may have accepted never goes to the second, and is not refunded', async () => {
  const { first, second, service, tenant, send } = await openTwo()
  const to = first.recipient()
  first.plays(to, accepting(NO_ANSWER.reset))
  const before = await service.balance(tenant)
  const id = await send(to)
  await service.idle()
  for (let i = 0; i < 11; i += 1) await service.advance(MINUTE_MS)
  expect([first.taken(to), first.sends(to).length, second.sends(to).length]).toEqual([1, 1, 0])
  expect(await service.messageOf(tenant.key, id)).toMatchObject({
    status: 'failed',
    error_code: 'outcome_unknown',
  })
  expect(before - (await service.balance(tenant))).toBe(1)
})

it('a message that the first provider may have is repeated only there, if repetition is safe', async () => {
  const { first, second, service, tenant, send } = await openTwo({ idempotent: true })
  const to = first.recipient()
  first.gateway.next(accepting(NO_ANSWER.reset))
  const id = await send(to)
  await service.idle()
  await service.advance(MINUTE_MS)
  expect([first.sends(to).length, second.sends(to).length]).toEqual([2, 0])
  const keys = first.sends(to).map(({ headers }) => headers['idempotency-key'])
  expect(keys).toEqual([id, id])
  expect(await service.statusOf(tenant.key, id)).toBe('sent')
})

it('wrong credentials of a provider hold all messages, and a resume sends them', async () => {
  const twilio = await openTwilio()
  const service = await openService({ providers: [twilio.settings], secrets: twilio.secrets })
  ends.push(service.close, twilio.close)
  const tenant = await service.tenant()
  const { auth_token } = twilio.account
  twilio.twilio.changeToken()
  const recipients = [twilio.recipient(), twilio.recipient(), twilio.recipient()]
  const ids: string[] = []
  for (const to of recipients) {
    ids.push(await service.accepted(tenant.key, { to, channel: 'sms', content: { text: CANARY } }))
    await service.idle()
  }
  const statuses = () => Promise.all(ids.map((id) => service.statusOf(tenant.key, id)))
  const pauses = async () => (await service.core.providers.status())[0]?.pauses
  expect(await pauses()).toMatchObject([
    { sender: '', cause: 'misconfigured', code: 'provider_unauthorized' },
  ])
  for (let i = 0; i < 5; i += 1) await service.advance(MINUTE_MS)
  expect(await statuses()).toEqual(['queued', 'queued', 'queued'])
  expect(await service.balance(tenant)).toBe(97)

  twilio.account.auth_token = auth_token
  expect(await service.core.providers.resume('twilio')).toBe(true)
  for (let i = 0; i < 3; i += 1) await service.advance(MINUTE_MS)
  expect(await statuses()).toEqual(['sent', 'sent', 'sent'])
  expect(recipients.map(twilio.taken)).toEqual([1, 1, 1])
  expect(await pauses()).toEqual([])
})

it('messages that an operator paused stay held over a restart, until a resume', async () => {
  const gateway = await openGateway()
  const service = await openService({ providers: [gateway.settings], secrets: gateway.secrets })
  ends.push(service.close, gateway.close)
  const tenant = await service.tenant()
  await service.core.providers.pause('gateway', { reason: 'maintenance' })
  await service.restart()
  const to = gateway.recipient()
  const id = await service.accepted(tenant.key, {
    to,
    channel: 'sms',
    content: { text: CANARY },
  })
  await service.advance(MINUTE_MS)
  expect([await service.statusOf(tenant.key, id), gateway.sends(to).length]).toEqual(['queued', 0])
  await service.core.providers.resume('gateway')
  await service.advance(MINUTE_MS)
  expect(await service.statusOf(tenant.key, id)).toBe('sent')
})
