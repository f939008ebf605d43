import { describe, expect, it } from 'vitest'
import { inboundFields } from '../../../core/test/providers/twilio/callbacks.ts'
import { inboundOf } from '../../../core/test/providers/whatsapp-cloud/webhooks.ts'
import { openCarriage, type Peer } from './carriage.contract.ts'
import { openMeta } from './meta-carrier.ts'
import { CANARY, type Service, useStage } from './service.ts'
import { openSmsc, SHORT_CODE } from './smsc-carrier.ts'
import { openTwilio } from './twilio-carrier.ts'

interface Writing extends Peer {
  /** A message from a recipient to our number. `id`: its id at the provider. */
  writes(from: string, text: string, id: string, service: Service): Promise<void>
}

async function expect200(service: Service, request: Parameters<Service['called']>[0]) {
  expect((await service.called(request)).status).toBe(200)
}

async function openTwilioPeer(more: { handles_stop?: boolean } = {}): Promise<Writing> {
  const peer = await openTwilio(more)
  const [to = ''] = peer.account.numbers
  return {
    ...peer,
    writes: (from, body, id, service) => {
      const sid = `SM${Buffer.from(id).toString('hex').padEnd(32, '0').slice(0, 32)}`
      const fields = inboundFields(peer.account.account_sid, { sid, from, to, body })
      return expect200(service, peer.signed(fields))
    },
  }
}

async function openMetaPeer(): Promise<Writing> {
  const peer = await openMeta()
  return {
    ...peer,
    writes(from, body, id, service) {
      const message = { ...inboundOf(from, 'text', { text: { body } }), id: `wamid.${id}` }
      return expect200(service, peer.news({ messages: [message] }))
    },
  }
}

async function openSmscPeer(): Promise<Writing> {
  const peer = await openSmsc()
  return {
    ...peer,
    async writes(from, text) {
      expect(await peer.smsc.mo({ from, to: SHORT_CODE, text })).toEqual([0])
    },
  }
}

describe.each([
  ['twilio', 'sms', true, () => openTwilioPeer({ handles_stop: false })],
  ['whatsapp_cloud', 'whatsapp', true, openMetaPeer],
  ['smpp', 'sms', false, openSmscPeer],
] as const)('messages from recipients to %s', (_, channel, hasIds, open) => {
  const stage = useStage(() => openCarriage(open))
  const content = { text: CANARY }
  const send = (to: string) => stage().service.send(stage().tenant.key, { to, channel, content })
  let ids = 0
  const writes = async (from: string, text: string, id = `in${++ids}`) => {
    await (stage().peer as Writing).writes(from, text, id, stage().service)
    await stage().service.advance(1_000)
  }

  async function received(from: string) {
    const { service, tenant } = stage()
    const query = `?sender=${encodeURIComponent(from)}`
    const path = `/api/v1/messages/received${query}`
    const answer = await service.call('GET', path, { key: tenant.key })
    return answer.body.data.received as { content: { text: string }; keyword: string | null }[]
  }

  /** A recipient of an earlier message. */
  async function person(): Promise<string> {
    const from = stage().peer.recipient()
    expect((await send(from)).status).toBe(201)
    await stage().service.idle()
    return from
  }

  it('reaches the workspace that wrote last, in the API and by webhook', async () => {
    const from = await person()
    await writes(from, `Thank you! ${CANARY}`)
    expect(await received(from)).toMatchObject([
      { channel, sender: from, content: { text: `Thank you! ${CANARY}` }, keyword: null },
    ])
    const events = stage()
      .service.events()
      .filter(({ event, data }) => event === 'message.received' && data.sender === from)
    expect(events).toMatchObject([{ data: { channel, content: { text: `Thank you! ${CANARY}` } } }])
    expect(stage().peer.taken(from)).toBe(1)
  })

  it('with STOP suppresses the recipient, with one confirmation; START lifts it', async () => {
    const { service, tenant, peer } = stage()
    const from = await person()
    const before = await service.balance(tenant)
    await writes(from, 'STOP')
    expect(peer.taken(from)).toBe(2)
    await writes(from, 'stop')
    expect(peer.taken(from)).toBe(2)
    const refused = await send(from)
    expect([refused.status, refused.body.message]).toEqual([
      400,
      'The recipient is suppressed on this channel',
    ])
    await writes(from, 'START')
    expect(peer.taken(from)).toBe(3)
    expect(await service.balance(tenant)).toBe(before)
    expect((await send(from)).status).toBe(201)
    await service.idle()
    expect(peer.taken(from)).toBe(4)
    expect((await received(from)).map(({ keyword }) => keyword)).toEqual(['start', 'stop', 'stop'])
  })

  if (hasIds) {
    it('is stored once, however often it arrives', async () => {
      const from = await person()
      await writes(from, CANARY, `same${channel}`)
      await writes(from, CANARY, `same${channel}`)
      expect(await received(from)).toHaveLength(1)
      const events = stage().service.events()
      expect(events.filter(({ data }) => data.sender === from)).toHaveLength(1)
    })
  }
})

it('sends no second answer to STOP for Twilio, which answers it itself', async () => {
  const stage = await openCarriage(() => openTwilioPeer())
  const { service, tenant, peer } = stage
  const from = peer.recipient()
  const body = { to: from, channel: 'sms', content: { text: CANARY } }
  await service.accepted(tenant.key, body)
  await service.idle()
  await (peer as Writing).writes(from, 'STOP', 'first', service)
  await service.idle()
  expect(peer.taken(from)).toBe(1)
  expect((await service.send(tenant.key, body)).status).toBe(400)
  await stage.close()
})
