import { describe, expect, it } from 'vitest'
import { signedJson } from '../../../core/test/providers/http/gateway.ts'
import { statusFields } from '../../../core/test/providers/twilio/callbacks.ts'
import { statusOf } from '../../../core/test/providers/whatsapp-cloud/webhooks.ts'
import { openCarriage } from './carriage.contract.ts'
import { openGateway } from './gateway-carrier.ts'
import { openMail } from './mail-carrier.ts'
import { openMeta } from './meta-carrier.ts'
import { CANARY, PUBLIC_URL, type Service, type Tenant } from './service.ts'
import { openTwilio } from './twilio-carrier.ts'

interface Mixed {
  status: number
}

/** A message of each of two workspaces; `mix` makes a callback about the message of B with the ids of A. */
async function expectApart(
  open: () => Promise<
    Parameters<typeof openCarriage>[0] extends () => Promise<infer P> ? P : never
  >,
  channel: 'sms' | 'whatsapp',
  mix: (at: {
    service: Service
    a: { to: string; workspace_id: string; message_id: string }
    b: { to: string; workspace_id: string; message_id: string }
  }) => Promise<Mixed>,
): Promise<void> {
  const stage = await openCarriage(open)
  const { service, peer } = stage
  const tenants = [stage.tenant, await service.tenant()] as const
  async function sent(tenant: Tenant) {
    const to = peer.recipient()
    const message_id = await service.accepted(tenant.key, {
      to,
      channel,
      content: { text: CANARY },
    })
    await service.idle()
    return { to, workspace_id: tenant.id, message_id }
  }
  const [a, b] = [await sent(tenants[0]), await sent(tenants[1])]
  const standing = () =>
    Promise.all([
      service.messageOf(tenants[0].key, a.message_id),
      service.messageOf(tenants[1].key, b.message_id),
      service.eventsOf(a.message_id),
      service.eventsOf(b.message_id),
    ])
  const before = await standing()
  expect(await mix({ service, a, b })).toMatchObject({ status: 200 })
  await service.idle()
  expect(await standing()).toEqual(before)
  await stage.close()
}

describe('a signed callback that mixes the ids of two workspaces changes neither', () => {
  it('of Twilio', async () => {
    const peer = await openTwilio()
    await expectApart(
      async () => peer,
      'sms',
      ({ service, a, b }) => {
        const fields = statusFields(peer.takenFor(b.to), { status: 'delivered' })
        const query = `w=${a.workspace_id}&m=${b.message_id}`
        return service.called(peer.signed(fields, `${PUBLIC_URL}/callbacks/twilio?${query}`))
      },
    )
  })

  it('of Meta', async () => {
    const peer = await openMeta()
    await expectApart(
      async () => peer,
      'whatsapp',
      ({ service, a, b }) => {
        const opaque = `${a.workspace_id}.${b.message_id}`
        const status = statusOf({ ...peer.takenFor(b.to), opaque }, 'delivered')
        return service.called(peer.news({ statuses: [status] }))
      },
    )
  })

  it('of a gateway', async () => {
    const peer = await openGateway()
    await expectApart(
      async () => peer,
      'sms',
      ({ service, a, b }) =>
        service.called(
          signedJson({ ref: `${a.workspace_id}.${b.message_id}`, id: 'x', state: 'DONE' }),
        ),
    )
  })
})

it('a recipient who unsubscribes from one workspace still gets the mails of the other', async () => {
  const stage = await openCarriage(() => openMail())
  const { service, tenant } = stage
  const peer = stage.peer as Awaited<ReturnType<typeof openMail>>
  const other = await service.tenant()
  const to = peer.recipient()
  const body = { to, channel: 'email', content: { subject: CANARY, text: CANARY } }
  await service.accepted(tenant.key, body)
  await service.idle()
  const link = peer.unsubscribeLink(to)
  expect(link).toMatch(new RegExp(`^${PUBLIC_URL}/unsubscribe/[0-9a-z]{62}$`))
  const pressed = await service.called({
    method: 'POST',
    url: link,
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    body: Buffer.from('List-Unsubscribe=One-Click'),
  })
  expect(pressed.status).toBe(200)
  const refused = await service.send(tenant.key, body)
  expect([refused.status, refused.body.message]).toEqual([
    400,
    'The recipient is suppressed on this channel',
  ])
  await service.accepted(other.key, body)
  await service.idle()
  expect(peer.taken(to)).toBe(2)
  await stage.close()
})
