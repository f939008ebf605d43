import { expect, it } from 'vitest'
import { feedbackReport, postfixReport } from '../../../core/test/providers/smtp/intake-mails.ts'
import { carries, openCarriage } from './carriage.contract.ts'
import { openMail, reported } from './mail-carrier.ts'
import { CANARY } from './service.ts'

carries('SMTP', { channel: 'email', price: 0.1, senders: null, open: () => openMail() })

it.each([
  ['a mailbox that is gone', 'bounce', () => postfixReport()],
  ['a recipient who pressed "spam"', 'complaint', () => feedbackReport()],
])('%s suppresses the recipient', async (_, reason, report) => {
  const stage = await openCarriage(() => openMail())
  const { service, tenant } = stage
  const peer = stage.peer as Awaited<ReturnType<typeof openMail>>
  const to = peer.recipient()
  const body = { to, channel: 'email', content: { subject: CANARY, text: CANARY } }
  await service.accepted(tenant.key, body)
  await service.idle()
  expect(await reported(service, peer.lastTo(to).from.address, report())).toMatch(/^250 /)
  await service.idle()
  const list = await service.call('GET', '/api/v1/contacts/suppressions', { token: tenant.token })
  expect(list.body.data.suppressions).toMatchObject([{ channel: 'email', address: to, reason }])
  expect((await service.send(tenant.key, body)).status).toBe(400)
  expect(peer.taken(to)).toBe(1)
  await stage.close()
})

it('a report without a message of ours is refused, and changes nothing', async () => {
  const stage = await openCarriage(() => openMail())
  const { service, tenant } = stage
  const peer = stage.peer as Awaited<ReturnType<typeof openMail>>
  const to = peer.recipient()
  const body = { to, channel: 'email', content: { subject: CANARY, text: CANARY } }
  const id = await service.accepted(tenant.key, body)
  await service.idle()
  const address = peer.lastTo(to).from.address
  const forged = address.replace(/.(?=@)/, (last) => (last === 'a' ? 'b' : 'a'))
  expect(await reported(service, forged, postfixReport())).toMatch(/^5\d\d /)
  await service.idle()
  expect(await service.statusOf(tenant.key, id)).toBe('sent')
  await stage.close()
})
