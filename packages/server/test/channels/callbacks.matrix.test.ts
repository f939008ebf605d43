import { randomUUID } from 'node:crypto'
import type { CallbackRequest } from '@svc/core'
import { readProvider } from '@svc/core/operate'
import { describe, expect, it } from 'vitest'
import { querySettings, signedJson } from '../../../core/test/providers/http/gateway.ts'
import { openHttpPeer } from '../../../core/test/providers/http-peer.ts'
import { statusFields } from '../../../core/test/providers/twilio/callbacks.ts'
import { APP_SECRET } from '../../../core/test/providers/whatsapp-cloud/peer.ts'
import {
  notificationOf,
  signedCallback,
  statusOf,
  updatesOf,
} from '../../../core/test/providers/whatsapp-cloud/webhooks.ts'
import { openCarriage, type Peer } from './carriage.contract.ts'
import { openGateway } from './gateway-carrier.ts'
import { openMeta } from './meta-carrier.ts'
import { CANARY, newNumber, PUBLIC_URL, type Service, useStage } from './service.ts'
import { openTwilio } from './twilio-carrier.ts'

/**
 * The service's reaction to incorrect callbacks, cell by cell. Source: reliability study, section
 * 2.4; shown in docs/internals/provider-matrix.md.
 */
type Reaction =
  /** Answered 200; no state changes. */
  | 'ignore'
  /** Answered with this status; no state changes. */
  | 403
  | 404
  /** Answered 200; the message is delivered, and its webhook gets one event. */
  | 'deliver'

interface CallbackPeer extends Peer {
  callback(to: string, status: 'sent' | 'delivered' | 'failed'): CallbackRequest
  /** Correctly signed, about unknown messages. */
  ofNobody: Record<string, () => CallbackRequest>
  /** About one of our messages, from another account or for another address. */
  misplaced: Record<string, (to: string) => [CallbackRequest, Reaction]>
}

interface Sent {
  peer: CallbackPeer
  service: Service
  to: string
}

interface Cell {
  cell: string
  reaction: Reaction
  /** The earlier callbacks, in this order. */
  before?: readonly ('sent' | 'delivered' | 'failed')[]
  request(sent: Sent): CallbackRequest
}

const SIGNATURES = ['x-twilio-signature', 'x-hub-signature-256', 'x-signature']

const CELLS: readonly Cell[] = [
  {
    cell: 'duplicate',
    reaction: 'ignore',
    before: ['delivered'],
    request: ({ peer, to }) => peer.callback(to, 'delivered'),
  },
  {
    cell: 'reordered: delivered before sent',
    reaction: 'ignore',
    before: ['delivered'],
    request: ({ peer, to }) => peer.callback(to, 'sent'),
  },
  {
    cell: 'after terminal: failed after delivered',
    reaction: 'ignore',
    before: ['delivered'],
    request: ({ peer, to }) => peer.callback(to, 'failed'),
  },
  {
    cell: 'after terminal: failed twice',
    reaction: 'ignore',
    before: ['failed'],
    request: ({ peer, to }) => peer.callback(to, 'failed'),
  },
  {
    cell: 'after terminal: delivered after failed, which is evidence',
    reaction: 'deliver',
    before: ['failed'],
    request: ({ peer, to }) => peer.callback(to, 'delivered'),
  },
  {
    cell: 'replayed 1 h later',
    reaction: 'ignore',
    before: ['sent', 'delivered'],
    request({ peer, service, to }) {
      const request = peer.callback(to, 'sent')
      service.clock.ms += 3_600_000
      return request
    },
  },
  {
    cell: 'absent signature',
    reaction: 403,
    request: ({ peer, to }) => withSignature(peer.callback(to, 'delivered'), () => undefined),
  },
  {
    cell: 'bad signature',
    reaction: 403,
    request: ({ peer, to }) =>
      withSignature(peer.callback(to, 'delivered'), (text) =>
        text.replace(/[^=](?==*$)/, (last) => (last === '0' ? '1' : '0')),
      ),
  },
  {
    cell: 'bad signature of another length',
    reaction: 403,
    request: ({ peer, to }) => withSignature(peer.callback(to, 'delivered'), () => 'x'),
  },
  {
    cell: 'signature of another body',
    reaction: 403,
    request({ peer, to }) {
      const { body } = peer.callback(to, 'failed')
      return { ...peer.callback(to, 'delivered'), body }
    },
  },
]

describe.each([
  ['twilio', 'sms', openTwilioPeer],
  ['whatsapp_cloud', 'whatsapp', openMetaPeer],
  ['http', 'sms', openGatewayPeer],
] as const)('callbacks of %s', (_, channel, open) => {
  const stage = useStage(() => openCarriage(open))

  async function sent() {
    const { service, tenant } = stage()
    const peer = stage().peer as CallbackPeer
    const to = peer.recipient()
    const id = await service.accepted(tenant.key, { to, channel, content: { text: CANARY } })
    await service.idle()
    return { peer, service, to, id }
  }

  /** All state that a callback could change. */
  async function standing(id: string): Promise<{ events: string[]; [field: string]: unknown }> {
    const { service, tenant } = stage()
    await service.idle()
    const { updated_at: _, ...message } = await service.messageOf(tenant.key, id)
    return { message, events: service.eventsOf(id), balance: await service.balance(tenant) }
  }

  async function expectReaction(
    id: string,
    reaction: Reaction,
    request: () => CallbackRequest,
  ): Promise<void> {
    const { service, tenant } = stage()
    const before = await standing(id)
    const { status } = await service.called(request())
    expect(status).toBe(typeof reaction === 'number' ? reaction : 200)
    const after = await standing(id)
    if (reaction === 'deliver') {
      expect(await service.statusOf(tenant.key, id)).toBe('delivered')
      expect(after.events).toEqual([...before.events, 'message.delivered'])
      expect(after.balance).toBe(before.balance)
    } else expect(after).toEqual(before)
  }

  it.each(CELLS)('$cell → $reaction', async ({ reaction, before = [], request }) => {
    const { id, ...rest } = await sent()
    for (const status of before) {
      expect((await rest.service.called(rest.peer.callback(rest.to, status))).status).toBe(200)
    }
    await expectReaction(id, reaction, () => request(rest))
  })

  it('unknown id → ignore', async () => {
    const { id, peer } = await sent()
    for (const request of Object.values(peer.ofNobody)) await expectReaction(id, 'ignore', request)
  })

  it('another account, another address → as in the table', async () => {
    const { id, peer, to } = await sent()
    for (const [name, make] of Object.entries(peer.misplaced)) {
      const [request, reaction] = make(to)
      await expectReaction(id, reaction, () => request).catch((error) => {
        throw new Error(`${name}: ${error.message}`)
      })
    }
  })

  it('an unknown provider name → 404', async () => {
    const { id, peer, to } = await sent()
    const request = peer.callback(to, 'delivered')
    const url = request.url.replace(/\/callbacks\/\w+/, '/callbacks/unknown')
    await expectReaction(id, 404, () => ({ ...request, url }))
  })
})

it('an address signed for one message is refused for another → 403', async () => {
  const stage = await openCarriage(openQueryPeer)
  const { service, tenant, peer } = stage
  const sent = async () => {
    const to = peer.recipient()
    const content = { text: CANARY }
    const id = await service.accepted(tenant.key, { to, channel: 'sms', content })
    await service.idle()
    return { id, url: `${addressOf(peer, to)}&status=1` }
  }
  const [mine, other] = [await sent(), await sent()]
  const called = async (url: string) => {
    const { status } = await service.called({ method: 'GET', url, headers: {}, body: NOTHING })
    return [status, await service.statusOf(tenant.key, mine.id)]
  }
  const signatureOf = (url: string) => new URL(url).searchParams.get('s') ?? ''
  const forged = mine.url.replace(signatureOf(mine.url), signatureOf(other.url))
  expect(await called(forged)).toEqual([403, 'sent'])
  expect(await called(mine.url.replace(/&s=[^&]+/, ''))).toEqual([403, 'sent'])
  expect(await called(other.url.replace(mine.id, other.id))).toEqual([200, 'sent'])
  expect(await called(mine.url)).toEqual([200, 'delivered'])
  await stage.close()
})

it('a receipt with an unknown id → kept for a while, then dropped with a log line', async () => {
  const stage = await openCarriage(openGatewayPeer)
  const { service, peer, tenant } = stage
  const content = { text: CANARY }
  await service.accepted(tenant.key, { to: peer.recipient(), channel: 'sms', content })
  const nameless = signedJson({ id: 'never-given', state: 'DONE' })
  expect((await service.called(nameless)).status).toBe(200)
  const text = 'receipts of unknown messages were dropped'
  const warnings = () => service.lines.filter(({ msg }) => msg === text)
  await service.advance(9 * 60_000)
  expect(warnings()).toEqual([])
  await service.advance(2 * 60_000)
  await service.advance(20 * 60_000)
  expect(warnings()).toMatchObject([{ receipts: 1, providers: ['gateway'] }])
  await stage.close()
})

function withSignature(
  request: CallbackRequest,
  change: (text: string) => string | undefined,
): CallbackRequest {
  const headers = Object.fromEntries(
    Object.entries(request.headers).flatMap(([name, text = '']) => {
      const changed = SIGNATURES.includes(name) ? change(text) : text
      return changed === undefined ? [] : [[name, changed]]
    }),
  )
  return { ...request, headers }
}

async function openTwilioPeer(): Promise<CallbackPeer> {
  const peer = await openTwilio()
  const account = { AccountSid: peer.account.account_sid, MessageStatus: 'delivered' }
  const MessageSid = `SM${'7'.repeat(32)}`
  const here = `${PUBLIC_URL}/callbacks/twilio`
  return {
    ...peer,
    ofNobody: {
      ids: () =>
        peer.signed({ ...account, MessageSid }, `${here}?w=${randomUUID()}&m=${randomUUID()}`),
      'an id of Twilio’s': () => peer.signed({ ...account, MessageSid }),
    },
    misplaced: {
      'another account’s, under our token': (to) => {
        const taken = peer.takenFor(to)
        const fields = statusFields(taken, { status: 'delivered' })
        const url = taken.form.get('StatusCallback') ?? ''
        return [peer.signed({ ...fields, AccountSid: `AC${'9'.repeat(32)}` }, url), 403]
      },
      'signed for another host': (to) => {
        const request = peer.callback(to, 'delivered')
        const url = request.url.replace(PUBLIC_URL, 'https://other.example')
        const form = Object.fromEntries(new URLSearchParams(String(request.body)))
        return [{ ...peer.signed(form, url), url: request.url }, 403]
      },
      'signed for another message': (to) => {
        const request = peer.callback(to, 'delivered')
        const url = request.url.replace(/m=[^&]+/, `m=${randomUUID()}`)
        const form = Object.fromEntries(new URLSearchParams(String(request.body)))
        return [{ ...peer.signed(form, url), url: request.url }, 403]
      },
    },
  }
}

async function openMetaPeer(): Promise<CallbackPeer> {
  const peer = await openMeta()
  const unknown = { wamid: `wamid.${'A'.repeat(24)}`, to: '+14155550000' }
  const signed = (secret: string, to: string, number = peer.number) =>
    signedCallback(
      secret,
      notificationOf(updatesOf(number, { statuses: [statusOf(peer.takenFor(to), 'delivered')] })),
    )
  const other = { number: '+15550009999', phone_number_id: '999999999999999' }
  return {
    ...peer,
    ofNobody: {
      ids: () =>
        peer.news({
          statuses: [
            statusOf({ ...unknown, opaque: `${randomUUID()}.${randomUUID()}` }, 'delivered'),
          ],
        }),
      'an id of Meta’s': () =>
        peer.news({ statuses: [statusOf({ ...unknown, opaque: null }, 'delivered')] }),
    },
    misplaced: {
      'another app’s': (to) => [signed('another-app-secret', to), 403],
      'another number’s, under our app': (to) => [signed(APP_SECRET, to, other), 'ignore'],
    },
  }
}

async function openGatewayPeer(): Promise<CallbackPeer> {
  const peer = await openGateway()
  const ref = () => `${randomUUID()}.${randomUUID()}`
  return {
    ...peer,
    ofNobody: {
      ids: () => signedJson({ ref: ref(), id: 'x-1', state: 'DONE' }),
      'an id of the gateway’s': () => signedJson({ id: 'x-2', state: 'DONE' }),
    },
    misplaced: {
      'signed by another secret': (to) => {
        const request = peer.callback(to, 'delivered')
        const headers = { ...request.headers, 'x-signature': `sha256=${'0'.repeat(64)}` }
        return [{ ...request, headers }, 403]
      },
    },
  }
}

const NOTHING = new Uint8Array()

interface QueryPeer extends Peer {
  requests: readonly { path: string }[]
}

/** An older gateway: only their address identifies its callbacks. */
async function openQueryPeer(): Promise<QueryPeer> {
  const gateway = await openHttpPeer()
  const settings = readProvider({ ...querySettings(gateway.url), deadline_s: 10 })
  const sends = (to: string) =>
    gateway.requests.filter(({ path }) => path.includes(`to=${to.slice(1)}`))
  return {
    settings,
    requests: gateway.requests,
    secrets: ['canary-api-token'],
    recipient: newNumber,
    taken: (to) => sends(to).length,
    report: () => Promise.reject(new Error('the test reports it')),
    close: gateway.close,
  }
}

/** The callback address that the gateway got with the message to a recipient. */
function addressOf(peer: Peer, to: string): string {
  const request = (peer as QueryPeer).requests.find(({ path }) => path.includes(to.slice(1)))
  const dlr = new URL(request?.path ?? '', 'http://peer').searchParams.get('dlr')
  return dlr?.replace('&status=%d', '') ?? 'no address'
}
