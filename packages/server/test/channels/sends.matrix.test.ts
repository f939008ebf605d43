import { describe, expect, it } from 'vitest'
import { RUNS_ALL_CASES } from '../../../../test/all-cases.ts'
import {
  accepting,
  answer,
  type HttpPlay,
  idOf,
  NO_ANSWER,
} from '../../../core/test/providers/http-peer.ts'
import { errorBody } from '../../../core/test/providers/twilio/peer.ts'
import { openCarriage } from './carriage.contract.ts'
import { openGateway } from './gateway-carrier.ts'
import { openMail } from './mail-carrier.ts'
import { openMeta } from './meta-carrier.ts'
import { CANARY, type Service, type Tenant } from './service.ts'
import { openSmsc } from './smsc-carrier.ts'
import { openTwilio } from './twilio-carrier.ts'

/**
 * The result for messages whose provider does not answer correctly, cell by cell, compared with the messages that the
 * provider accepted. Source: reliability study, section 2.4; shown in docs/internals/provider-matrix.md.
 */
type Reaction = 'retry' | 'reconcile' | 'fail+refund' | 'fail no refund'

const MINUTE_MS = 60_000

interface Sending {
  service: Service
  tenant: Tenant
  to: string
  id: string
  status(): Promise<string>
  /** Minute by minute, as the dispatcher sees them. */
  minutes(count: number): Promise<void>
}

interface Cell {
  cell: string
  reaction: Reaction
  channel?: 'sms' | 'whatsapp' | 'email'
  /** How many sends the provider may have accepted at the end. */
  taken: number
  /** Sets up the peer; returns the steps that follow the send. */
  open(): Promise<Scene>
}

type Peer = Awaited<Parameters<typeof openCarriage>[0] extends () => infer P ? P : never>

interface Scene {
  peer: Peer
  recipient?: string
  /** The steps after the first attempt; after them the message has ended, or is `sent`. */
  next(sending: Sending): Promise<void>
}

const CONTENTS = {
  sms: { text: CANARY },
  whatsapp: { text: CANARY },
  email: { subject: CANARY, text: CANARY },
}

/** After this time the service queries the outcome no more. */
const UNKNOWN_MINUTES = 11

const waits = async ({ minutes, status }: Sending): Promise<void> => {
  expect(await status()).toBe('queued')
  await minutes(UNKNOWN_MINUTES)
}

/** A gateway without lookup, which does not detect repetitions. */
const UNHELPED = { idempotent: false, lookup: undefined }

const CELLS: readonly Cell[] = [
  {
    cell: 'http: connection refused',
    reaction: 'retry',
    taken: 1,
    async open() {
      const peer = await openGateway()
      await peer.gateway.refuse()
      return {
        peer,
        async next({ status, minutes, service, to }) {
          await minutes(3)
          expect([await status(), peer.sends(to).length]).toEqual(['queued', 0])
          await peer.gateway.listen()
          await minutes(6)
          await peer.report(to, 'delivered', service)
        },
      }
    },
  },
  {
    cell: 'http: 429 with Retry-After: 7',
    reaction: 'retry',
    taken: 1,
    open: () =>
      gatewayScene(answer(429, {}, { 'retry-after': '7' }), async (peer, sending) => {
        const { to, service } = sending
        await service.advance(6_900)
        expect(peer.sends(to)).toHaveLength(1)
        await service.advance(100)
        expect(peer.sends(to)).toHaveLength(2)
      }),
  },
  {
    cell: 'http: 503, neither look-up nor key',
    reaction: 'retry',
    taken: 1,
    open: () => gatewayScene(answer(503), (_, { minutes }) => minutes(1), { settings: UNHELPED }),
  },
  {
    cell: 'http: 503 for an hour, also to look-ups',
    reaction: 'reconcile',
    taken: 1,
    async open() {
      const peer = await openGateway()
      const recipient = peer.recipient()
      peer.gateway.otherwise(answer(503))
      return {
        peer,
        recipient,
        async next({ minutes, status, to }) {
          await minutes(60)
          expect([await status(), peer.sends(to).length]).toEqual(['queued', 1])
          peer.gateway.otherwise(peer.plain)
          await minutes(6)
        },
      }
    },
  },
  {
    cell: 'http: takes the message and answers 500',
    reaction: 'reconcile',
    taken: 1,
    open: () =>
      gatewayScene(
        accepting(answer(500)),
        async (peer, { minutes, to }) => {
          await minutes(3)
          expect(peer.sends(to)).toHaveLength(1)
        },
        { settings: { idempotent: false } },
      ),
  },
  {
    cell: 'http: takes the message and answers 500, no look-up but a key',
    reaction: 'reconcile',
    taken: 2,
    open: () =>
      gatewayScene(
        accepting(answer(500)),
        async (peer, { minutes, to }) => {
          await minutes(1)
          const keys = peer.sends(to).map(({ headers }) => headers['idempotency-key'])
          expect([keys.length, new Set(keys).size]).toEqual([2, 1])
        },
        { settings: { lookup: undefined } },
      ),
  },
  {
    cell: 'http: 400',
    reaction: 'fail+refund',
    taken: 0,
    open: () => gatewayScene(answer(400), async () => {}),
  },
  {
    cell: 'http: refused until it is no longer worth sending',
    reaction: 'fail+refund',
    taken: 0,
    async open() {
      const peer = await openGateway()
      await peer.gateway.refuse()
      return { peer, next: ({ minutes }) => minutes(4 * 60 + 1) }
    },
  },
  {
    cell: 'http: answers after the deadline',
    reaction: 'reconcile',
    taken: 1,
    async open() {
      const peer = await openGateway({ deadline_s: 0.3 })
      const late: (() => void)[] = []
      peer.gateway.next(
        accepting((request, socket) => {
          late.push(() => answer(200, { id: idOf(request) })(request, socket))
        }),
      )
      return {
        peer,
        async next({ minutes, status, to }) {
          expect([await status(), peer.sends(to).length]).toEqual(['queued', 1])
          for (const sendReport of late) sendReport()
          await minutes(1)
          expect(peer.sends(to)).toHaveLength(1)
        },
      }
    },
  },
  {
    cell: 'http: dies after the request was read',
    reaction: 'reconcile',
    taken: 1,
    open: () =>
      gatewayScene(accepting(NO_ANSWER.reset), async (peer, { minutes, to }) => {
        await minutes(1)
        expect(peer.sends(to)).toHaveLength(1)
      }),
  },
  {
    cell: 'http: dies before it took the request',
    reaction: 'reconcile',
    taken: 1,
    open: () =>
      gatewayScene(NO_ANSWER.reset, async (peer, { service, minutes, to }) => {
        await service.advance(50_000)
        // The provider does not know the message yet; it may know it later.
        expect(peer.sends(to)).toHaveLength(1)
        await minutes(3)
        expect(peer.sends(to)).toHaveLength(2)
      }),
  },
  {
    cell: 'http: the service is restarted before the answer',
    reaction: 'reconcile',
    taken: 1,
    open: () =>
      gatewayScene(
        accepting(NO_ANSWER.hang),
        async (peer, { minutes, to }) => {
          await minutes(2)
          expect(peer.sends(to)).toHaveLength(1)
        },
        { restart: true },
      ),
  },
  {
    cell: 'http: the callback comes before the answer',
    reaction: 'reconcile',
    taken: 1,
    async open() {
      const peer = await openGateway()
      const late: (() => void)[] = []
      peer.gateway.next(
        accepting((request, socket) => {
          late.push(() => answer(200, { id: idOf(request) })(request, socket))
        }),
      )
      return {
        peer,
        async next({ service, status, to }) {
          await expect.poll(() => peer.taken(to)).toBe(1)
          await peer.report(to, 'delivered', service)
          expect(await status()).toBe('delivered')
          for (const sendReport of late) sendReport()
          await service.idle()
          expect(await status()).toBe('delivered')
        },
      }
    },
  },
  {
    cell: 'twilio: the callback comes, the answer never',
    reaction: 'reconcile',
    taken: 1,
    async open() {
      const peer = await openTwilio()
      const recipient = peer.recipient()
      peer.twilio.plays(recipient, { type: 'hang' })
      return {
        peer,
        recipient,
        async next({ minutes, service, status, to }) {
          await expect.poll(() => peer.taken(to)).toBe(1)
          await peer.report(to, 'delivered', service)
          await peer.twilio.refuse()
          await minutes(UNKNOWN_MINUTES)
          expect(await status()).toBe('delivered')
          expect(peer.twilio.posted()).toHaveLength(1)
        },
      }
    },
  },
  {
    cell: 'twilio: dies after the request was read',
    reaction: 'reconcile',
    taken: 1,
    async open() {
      const peer = await openTwilio()
      const recipient = peer.recipient()
      peer.twilio.plays(recipient, { type: 'drop' })
      return {
        peer,
        recipient,
        async next({ minutes, to }) {
          peer.twilio.plays(to, { type: 'accept' })
          await minutes(5)
          expect(peer.twilio.posted()).toHaveLength(1)
        },
      }
    },
  },
  {
    cell: 'twilio: 502, not taken',
    reaction: 'reconcile',
    taken: 1,
    async open() {
      const peer = await openTwilio()
      const recipient = peer.recipient()
      peer.twilio.plays(recipient, { type: 'answer', status: 502, body: 'Bad gateway' })
      return {
        peer,
        recipient,
        async next({ minutes, service, to }) {
          peer.twilio.plays(to, { type: 'accept' })
          await service.advance(170_000)
          // Its lists lag, so a missing message proves nothing yet.
          expect(peer.twilio.posted()).toHaveLength(1)
          await minutes(6)
          expect(peer.twilio.posted()).toHaveLength(2)
        },
      }
    },
  },
  {
    cell: 'twilio: takes the message and answers 500',
    reaction: 'reconcile',
    taken: 1,
    async open() {
      const peer = await openTwilio()
      const recipient = peer.recipient()
      const body = errorBody({ status: 500, code: 20_500, message: 'Internal Server Error' })
      peer.twilio.plays(recipient, { type: 'answer', status: 500, body, takes: true })
      return {
        peer,
        recipient,
        async next({ minutes }) {
          await minutes(5)
          expect(peer.twilio.posted()).toHaveLength(1)
        },
      }
    },
  },
  {
    cell: 'twilio: 429',
    reaction: 'retry',
    taken: 1,
    async open() {
      const peer = await openTwilio()
      const recipient = peer.recipient()
      const body = errorBody({ status: 429, code: 20_429, message: 'Too many requests' })
      peer.twilio.plays(recipient, { type: 'answer', status: 429, body })
      return {
        peer,
        recipient,
        async next({ minutes, to }) {
          peer.twilio.plays(to, { type: 'accept' })
          await minutes(1)
        },
      }
    },
  },
  {
    cell: 'whatsapp_cloud: dies after the request was read, and calls back',
    reaction: 'reconcile',
    channel: 'whatsapp',
    taken: 1,
    async open() {
      const peer = await openMeta()
      peer.meta.fail('drop_after')
      return {
        peer,
        async next({ minutes, service, to }) {
          await minutes(5)
          await peer.report(to, 'delivered', service)
          await minutes(UNKNOWN_MINUTES)
        },
      }
    },
  },
  {
    cell: 'whatsapp_cloud: dies after the request was read, and never says anything',
    reaction: 'fail no refund',
    channel: 'whatsapp',
    taken: 1,
    async open() {
      const peer = await openMeta()
      peer.meta.fail('drop_after')
      return { peer, next: waits }
    },
  },
  {
    cell: 'whatsapp_cloud: the service is restarted before the answer; a callback comes',
    reaction: 'reconcile',
    channel: 'whatsapp',
    taken: 1,
    async open() {
      const peer = await openMeta()
      peer.meta.fail('hang_after')
      return {
        peer,
        async next({ minutes, service, to }) {
          await expect.poll(() => peer.taken(to)).toBe(1)
          await service.restart()
          await minutes(2)
          await peer.report(to, 'delivered', service)
          await minutes(UNKNOWN_MINUTES)
        },
      }
    },
  },
  {
    cell: 'smtp: 450, greylisted',
    reaction: 'retry',
    channel: 'email',
    taken: 1,
    async open() {
      const peer = await openMail()
      const recipient = peer.recipient()
      const play: Parameters<typeof peer.sink.meet>[1] = { at: 'rcpt', reply: '450 4.2.0 Grey' }
      peer.sink.meet(recipient, play)
      return {
        peer,
        recipient,
        async next({ minutes, status }) {
          await minutes(1)
          expect(await status()).toBe('queued')
          Object.assign(play, { at: 'nowhere' })
          await minutes(60)
        },
      }
    },
  },
  {
    cell: 'smtp: dies after the final dot',
    reaction: 'fail no refund',
    channel: 'email',
    taken: 1,
    async open() {
      const peer = await openMail()
      const recipient = peer.recipient()
      peer.sink.meet(recipient, { at: 'data', reply: 'drop' })
      return { peer, recipient, next: waits }
    },
  },
  {
    cell: 'smpp: throttled',
    reaction: 'retry',
    taken: 1,
    async open() {
      const peer = await openSmsc()
      peer.smsc.next('throttle')
      return { peer, next: ({ minutes }) => minutes(1) }
    },
  },
  {
    cell: 'smpp: dies after the submit_sm was read',
    reaction: 'fail no refund',
    taken: 1,
    async open() {
      const peer = await openSmsc()
      peer.smsc.next('drop_after_read')
      return { peer, next: waits }
    },
  },
  {
    cell: 'smpp: the receipt comes before the submit_sm_resp',
    reaction: 'reconcile',
    taken: 1,
    async open() {
      const peer = await openSmsc()
      peer.smsc.next('hold')
      return {
        peer,
        async next({ service, to, status }) {
          await peer.smsc.when(() => peer.taken(to) === 1)
          const [one] = peer.acceptedFor(to)
          expect(await peer.smsc.receipt(one?.id ?? '')).toEqual([0])
          expect(await status()).toBe('queued')
          peer.smsc.release()
          await service.idle()
          await service.idle()
          expect(await status()).toBe('delivered')
        },
      }
    },
  },
]

/** Cells whose first attempt ends only when the scene ends it. */
const UNENDED = /restarted|before the submit_sm_resp|callback comes/

/** The first cell of each provider with each reaction. */
const FIRST_CELLS = CELLS.filter(
  (one, i) => CELLS.findIndex((each) => kindOf(each) === kindOf(one)) === i,
)

function kindOf({ cell, reaction }: Cell): string {
  return `${cell.split(':', 1)[0]} ${reaction}`
}

describe('a provider that does not answer correctly', () => {
  it.each(RUNS_ALL_CASES ? CELLS : FIRST_CELLS)(
    '$cell → $reaction',
    async ({ cell, reaction, channel = 'sms', taken, open }) => {
      const scene = await open()
      const { peer } = scene
      const stage = await openCarriage(async () => peer)
      const { service, tenant } = stage
      const before = await service.balance(tenant)
      const to = scene.recipient ?? peer.recipient()
      const id = await service.accepted(tenant.key, { to, channel, content: CONTENTS[channel] })
      const price = before - (await service.balance(tenant))
      if (!UNENDED.test(cell)) await service.idle()
      const status = () => service.statusOf(tenant.key, id)
      const minutes = async (count: number) => {
        for (let i = 0; i < count; i += 1) await service.advance(MINUTE_MS)
      }
      await scene.next({ service, tenant, to, id, status, minutes })
      await service.idle()

      expect(peer.taken(to)).toBe(taken)
      const left = before - (await service.balance(tenant))
      const events = service.eventsOf(id)
      if (reaction === 'retry' || reaction === 'reconcile') {
        expect(['sent', 'delivered']).toContain(await status())
        expect(left).toBeCloseTo(price, 6)
        expect(events.length).toBeGreaterThan(0)
        expect(events).not.toContain('message.failed')
      } else {
        expect(await status()).toBe('failed')
        expect(left).toBeCloseTo(reaction === 'fail+refund' ? 0 : price, 6)
        expect(events).toEqual(['message.failed'])
      }
      expect(new Set(events).size).toBe(events.length)
      await stage.close()
    },
  )
})

it('an unknown outcome becomes delivered when the provider reports it later', async () => {
  const stage = await openCarriage(() => openMeta())
  const { service, tenant } = stage
  const peer = stage.peer as Awaited<ReturnType<typeof openMeta>>
  peer.meta.fail('drop_after')
  const to = peer.recipient()
  const body = { to, channel: 'whatsapp', content: CONTENTS.whatsapp }
  const id = await service.accepted(tenant.key, body)
  for (let i = 0; i < UNKNOWN_MINUTES; i += 1) await service.advance(MINUTE_MS)
  expect(await service.statusOf(tenant.key, id)).toBe('failed')
  await peer.report(to, 'delivered', service)
  await service.idle()
  expect(service.eventsOf(id)).toEqual(['message.failed', 'message.delivered'])
  expect([peer.taken(to), await service.balance(tenant)]).toEqual([1, 99.5])
  await stage.close()
})

/** A gateway with this behaviour once, which then accepts every message. */
async function gatewayScene(
  play: HttpPlay,
  goesOn: (peer: Awaited<ReturnType<typeof openGateway>>, sending: Sending) => Promise<void>,
  { restart = false, settings = {} }: { restart?: boolean; settings?: object } = {},
): Promise<Scene> {
  const peer = await openGateway(settings)
  peer.gateway.next(play)
  return {
    peer,
    async next(sending) {
      if (restart) {
        await expect.poll(() => peer.taken(sending.to)).toBe(1)
        await sending.service.restart()
      }
      await goesOn(peer, sending)
    },
  }
}
