import type { ProviderSettings } from '@svc/core'
import { describe, expect, it } from 'vitest'
import { CANARY, openService, type Service, type Tenant, useStage } from './service.ts'

/** A provider's peer for tests of a whole service. */
export interface Peer {
  settings: ProviderSettings
  /** Texts that must not be logged. */
  secrets: readonly string[]
  /** A new recipient; with `refused`, the peer refuses messages to it permanently. */
  recipient(refused?: 'refused'): string
  /** How many sends to a recipient the peer accepted. */
  taken(to: string): number
  /** Reports the result of an accepted message. Resolves after the service has acknowledged the report. */
  report(to: string, status: 'delivered' | 'failed', service: Service): Promise<void>
  /** Resolves when messages can be sent. */
  ready?(service: Service): Promise<void>
  close(): Promise<void>
}

export interface Carriage {
  channel: 'sms' | 'whatsapp' | 'email'
  /** The price of one message, in credits. */
  price: number
  /** The text of the refusal of a sender; null where any sender is allowed. */
  senders: string | null
  open(): Promise<Peer>
}

const CONTENTS = {
  sms: { text: CANARY },
  whatsapp: { text: CANARY },
  email: { subject: CANARY, text: CANARY },
}

/** A service, a workspace in it, and a peer that carries its messages. */
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

/** The results that every provider of text messages must have in a whole service. */
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
      // Reports come later: the timeline is in order of time.
      await stage().service.advance(1_000)
      return { id, to }
    }

    it('sends, and shows the delivery to the caller, to the webhook and in the timeline', async () => {
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

    it('fails a message that is reported lost after it was accepted, without a refund', async () => {
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

    it('fails a refused message once, with a refund', async () => {
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
      it('refuses an unknown sender, with a list of the known ones', async () => {
        const { service, tenant, peer } = stage()
        const body = { to: peer.recipient(), channel, content: CONTENTS[channel], from: 'Unknown' }
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
