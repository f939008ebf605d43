import type { ProviderSettings } from '@svc/core'
import { describe, expect, it } from 'vitest'
import { CANARY, openService, type Service, type Tenant, useStage } from './service.ts'

/** A provider's peer, as the tests of a whole service need it. */
export interface Peer {
  settings: ProviderSettings
  /** What must not be logged. */
  secrets: readonly string[]
  /** A recipient of its own, whose messages the peer refuses for good where that is wanted. */
  recipient(refused?: 'refused'): string
  /** How many sends to a recipient it took: the truth. */
  taken(to: string): number
  /** Tells the service how what it took fares. Resolves once the service has acknowledged it. */
  report(to: string, status: 'delivered' | 'failed', service: Service): Promise<void>
  /** Resolves when messages can go. */
  ready?(service: Service): Promise<void>
  close(): Promise<void>
}

export interface Carriage {
  channel: 'sms' | 'whatsapp' | 'email'
  /** What one message costs, in credits. */
  price: number
  /** Why a sender is refused; null where any goes. */
  senders: string | null
  open(): Promise<Peer>
}

const CONTENTS = {
  sms: { text: CANARY },
  whatsapp: { text: CANARY },
  email: { subject: CANARY, text: CANARY },
}

/** A service, a tenant in it, and a peer that carries for it. */
export async function openCarriage(open: () => Promise<Peer>) {
  const peer = await open()
  const service = await openService({ providers: [peer.settings], secrets: peer.secrets })
  const tenant = await service.tenant()
  await peer.ready?.(service)
  return {
    peer,
    service,
    tenant,
    async close() {
      try {
        await service.close()
      } finally {
        await peer.close()
      }
    },
  }
}

/** What every provider of text messages must bring about in a whole service. */
export function carries(name: string, { channel, price, senders, open }: Carriage): void {
  describe(`${name}, in a whole service`, () => {
    const stage = useStage(() => openCarriage(open))
    const send = (to: string, more: object = {}) =>
      stage().service.accepted(stage().tenant.key, {
        to,
        channel,
        content: CONTENTS[channel],
        ...more,
      })
    const shown = (id: string) => stage().service.messageOf(stage().tenant.key, id)
    const timeline = (id: string) => stage().service.timelineOf(stage().tenant.key, id)

    async function sent(): Promise<{ id: string; to: string }> {
      const to = stage().peer.recipient()
      const id = await send(to)
      await stage().service.idle()
      expect(await shown(id)).toMatchObject({ status: 'sent', error_code: null })
      expect(stage().peer.taken(to)).toBe(1)
      // What is told of it comes later: the timeline is in the order of time.
      await stage().service.advance(1_000)
      return { id, to }
    }

    it('sends, and shows what is delivered: to the caller, to the webhook, in the timeline', async () => {
      const { peer, service } = stage()
      const { id, to } = await sent()
      await peer.report(to, 'delivered', service)
      await service.idle()
      expect(await shown(id)).toMatchObject({
        status: 'delivered',
        credits_used: price,
        error_code: null,
        delivered_at: expect.any(String),
      })
      expect(service.eventsOf(id)).toEqual(['message.sent', 'message.delivered'])
      const entries = await timeline(id)
      expect(entries.filter(({ kind }) => kind === 'status').map(({ status }) => status)).toEqual([
        'queued',
        'sent',
        'delivered',
      ])
      expect(entries.filter(({ kind }) => kind === 'provider')).toMatchObject([
        { provider: peer.settings.name, attempt: 1, outcome: 'accepted' },
      ])
      expect(entries.filter(({ kind }) => kind === 'webhook')).toMatchObject([
        { event: 'message.sent', status: 'delivered' },
        { event: 'message.delivered', status: 'delivered' },
      ])
      expect(entries.filter(({ kind }) => kind === 'ledger')).toMatchObject([{ credits: -price }])
    })

    it('fails what is reported lost after it was taken, and gives nothing back', async () => {
      const { peer, service, tenant } = stage()
      const before = await service.balance(tenant)
      const { id, to } = await sent()
      await peer.report(to, 'failed', service)
      await service.idle()
      const { status, error_code, error_message } = await shown(id)
      expect([status, typeof error_code, typeof error_message]).toEqual([
        'failed',
        'string',
        'string',
      ])
      expect(service.eventsOf(id)).toEqual(['message.sent', 'message.failed'])
      expect(before - (await service.balance(tenant))).toBeCloseTo(price, 6)
    })

    it('fails what is refused, once, and gives the credits back', async () => {
      const { peer, service, tenant } = stage()
      const before = await service.balance(tenant)
      const to = peer.recipient('refused')
      const id = await send(to)
      await service.idle()
      expect(await shown(id)).toMatchObject({ status: 'failed', error_code: expect.any(String) })
      expect(peer.taken(to)).toBe(0)
      expect(service.eventsOf(id)).toEqual(['message.failed'])
      expect(await service.balance(tenant)).toBe(before)
      const entries = await timeline(id)
      expect(entries.filter(({ kind }) => kind === 'ledger').map(({ type }) => type)).toEqual([
        'send',
        'refund',
      ])
    })

    if (senders !== null) {
      it('refuses a sender that nobody has, naming those that there are', async () => {
        const { service, tenant, peer } = stage()
        const body = { to: peer.recipient(), channel, content: CONTENTS[channel], from: 'Nobody' }
        const answer = await service.send(tenant.key, body)
        expect([answer.status, answer.body.error, answer.body.details]).toEqual([
          400,
          'validation_error',
          [{ path: 'from', message: senders }],
        ])
      })
    }
  })
}

export type Carried = Awaited<ReturnType<typeof openCarriage>>
export type { Tenant }
