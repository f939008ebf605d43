import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, expect, it } from 'vitest'
import { openReceiver } from '../../../server/test/receiver.ts'
import { readProvider } from '../../src/carriers/read-providers.ts'
import type { SendRequest } from '../../src/contract/resources/send-request.ts'
import { type Core, createCore } from '../../src/core.ts'
import { migratedFolder } from '../migrated-file.ts'
import { jsonSettings } from '../providers/http/gateway.ts'
import { openHttpPeer } from '../providers/http-peer.ts'
import { startSmsc } from '../providers/smpp/smsc.ts'
import { startSmtpSink } from '../providers/smtp/sink.ts'
import { startTwilioPeer } from '../providers/twilio/peer.ts'
import { startMetaPeer } from '../providers/whatsapp-cloud/peer.ts'
import { type IdleProxy, openIdleProxy } from './idle-proxy.ts'

/** After how long the peers close a connection. */
const IDLE_MS = [1_000, 2_000, 5_000]

/** How long after that the next message comes; those that come later begin later too, so that the thread is idle then. */
const AFTER = [
  { after_ms: 0, begin_ms: 0 },
  { after_ms: 250, begin_ms: 200 },
]

const PATIENCE = { timeout: 60_000, interval: 25 }

/** One way through which one message goes, and after a while the next. */
interface Track {
  name: string
  proxy: IdleProxy
  after_ms: number
  begin_ms: number
  idle_ms: number
  /** Sends the nth, sees it through, and answers how often the peer took it and what every attempt gave. */
  send(nth: number): Promise<{ taken: number; outcomes: unknown[] }>
}

type Sends = (sender: string, to: string) => SendRequest

const closing: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close()
})

function ends<T extends { close(): Promise<unknown> }>(opened: T): T {
  closing.push(() => opened.close())
  return opened
}

it('loses nothing on connections that the peer closes while they are idle', {
  timeout: 120_000,
}, async () => {
  const [gateway, twilio, smsc, sink, receiver] = await Promise.all([
    openHttpPeer(),
    startTwilioPeer(),
    startSmsc(),
    startSmtpSink(),
    openReceiver(),
  ])
  const ways = IDLE_MS.flatMap((idle_ms) => AFTER.map((times) => ({ idle_ms, ...times })))
  const numbers = ways.map((_, i) => ({
    number: `+1555078${3000 + i}`,
    phone_number_id: String(106540352240000 + i),
  }))
  const meta = await startMetaPeer({ numbers })
  for (const peer of [gateway, twilio, smsc, sink, receiver, meta]) ends(peer)
  // Every way has a sender of its own, by which its messages are routed.
  const senderOf = (kind: number, way: number) => `+1555010${kind}${String(100 + way)}`
  Object.assign(twilio.account, { numbers: ways.map((_, i) => senderOf(1, i)) })

  const through = (port: number) =>
    Promise.all(ways.map(({ idle_ms }) => openIdleProxy(port, () => idle_ms).then(ends)))
  const portOf = (url: string) => Number(new URL(url).port)
  const httpWays = await through(portOf(gateway.url))
  const twilioWays = await through(portOf(twilio.url))
  const metaWays = await through(portOf(meta.url))
  const smppWays = await through(smsc.port)
  const hookWays = await through(portOf(receiver.url))
  // E-mail cannot be routed by its sender: one server, whose connections last differently long.
  const mailWay = ends(
    await openIdleProxy(sink.port, (nth) => IDLE_MS[nth % IDLE_MS.length] as number),
  )

  const local = ({ port }: IdleProxy) => `http://127.0.0.1:${port}`
  const providers = [
    ...httpWays.map((proxy, i) => ({
      ...jsonSettings(local(proxy)),
      name: `http${i}`,
      channels: ['sms'],
      // A gateway without look-ups that does not recognise repetitions: a message lost here stays lost.
      idempotent: false,
      lookup: undefined,
      senders: { sms: [senderOf(0, i)] },
    })),
    ...twilioWays.map((proxy, i) =>
      twilio.settings({
        name: `twilio${i}`,
        api_url: local(proxy),
        senders: { sms: [senderOf(1, i)] },
      }),
    ),
    ...metaWays.map((proxy, i) =>
      meta.settings({
        name: `meta${i}`,
        api_url: local(proxy),
        senders: [numbers[i] as (typeof numbers)[number]],
      }),
    ),
    ...smppWays.map(({ port }, i) => ({
      type: 'smpp',
      name: `smpp${i}`,
      binds: [{ host: '127.0.0.1', port, system_id: 'svc', password: 'secret' }],
      senders: [`1234${i}`],
      receipts: 'none',
    })),
    {
      type: 'smtp',
      name: 'smtp',
      url: `smtp://127.0.0.1:${mailWay.port}`,
      mail_domain: 'mail.example',
    },
  ].map((settings) => readProvider(settings))

  const folder = await migratedFolder('svc-idle-')
  closing.push(async () => rmSync(folder, { recursive: true, force: true }))
  const core = ends(
    await createCore({
      database_url: `file:${join(folder, 'svc.db')}`,
      signup_credits: '1000',
      webhook_targets: { allow_http: true, allow_nets: ['127.0.0.0/8'] },
      providers,
      threads: 1,
    }),
  )
  const { workspace_id, sent } = await senderIn(core)
  await core.startDispatch()

  let people = 0
  const newNumber = () => `+1415557${String(people++).padStart(4, '0')}`
  const text = { text: 'Hi' }
  const sms: Sends = (from, to) => ({ channel: 'sms', from, to, content: text })
  const whatsapp: Sends = (from, to) => ({ channel: 'whatsapp', from, to, content: text })

  function tracksOf(
    kind: string,
    proxies: readonly IdleProxy[],
    send: (way: number) => Track['send'],
  ): Track[] {
    return ways.map((way, i) => ({
      ...way,
      name: `${kind}, closed after ${way.idle_ms} ms, next ${way.after_ms} ms later`,
      proxy: proxies[i] as IdleProxy,
      send: send(i),
    }))
  }

  const sending =
    (make: Sends, sender: (way: number) => string, takenFor: (to: string) => number) =>
    (way: number) =>
    async () => {
      const to = newNumber()
      const outcomes = await sent(make(sender(way), to))
      return { taken: takenFor(to), outcomes }
    }

  const hooks = await Promise.all(
    hookWays.map((proxy) =>
      core.webhooks.create(workspace_id, { url: `${local(proxy)}/hook`, events: ['credits.low'] }),
    ),
  )
  const delivering = (way: number) => async () => {
    const { id: hook_id } = hooks[way] as (typeof hooks)[number]
    const { id } = await core.webhooks.test(workspace_id, hook_id)
    const find = () => core.webhooks.delivery(workspace_id, hook_id, id)
    await expect.poll(async () => (await find()).attempt_count, PATIENCE).toBeGreaterThan(0)
    const { attempts } = await find()
    const arrivals = receiver.arrivals.filter(({ headers }) => headers['x-svc-delivery'] === id)
    return {
      taken: arrivals.length,
      outcomes: attempts.map(({ error }) => (error === null ? 'accepted' : error)),
    }
  }

  const takenBy = {
    http: (to: string) => gateway.requests.filter(({ body }) => body.includes(to)).length,
    twilio: (to: string) => twilio.taken().filter(({ form }) => form.get('To') === to).length,
    meta: (to: string) => meta.accepted.filter((one) => one.to === to).length,
    smpp: (to: string) => smsc.accepted.filter(({ dest }) => `+${dest}` === to).length,
  }
  const tracks = [
    ...tracksOf(
      'http',
      httpWays,
      sending(sms, (i) => senderOf(0, i), takenBy.http),
    ),
    ...tracksOf(
      'twilio',
      twilioWays,
      sending(sms, (i) => senderOf(1, i), takenBy.twilio),
    ),
    ...tracksOf(
      'whatsapp_cloud',
      metaWays,
      sending(whatsapp, (i) => numbers[i]?.number as string, takenBy.meta),
    ),
    ...tracksOf(
      'smpp',
      smppWays,
      sending(sms, (i) => `1234${i}`, takenBy.smpp),
    ),
    ...tracksOf('webhook', hookWays, delivering),
  ]

  const mailed = async (nth: number) => {
    const to = `person${nth}@people.example`
    const outcomes = await sent({ channel: 'email', to, content: { subject: 'Hi', text: 'Hi' } })
    const taken = sink.mails.filter((mail) => mail.to[0]?.address === to).length
    return { taken, outcomes }
  }

  /** The first, and, when the peer has closed its connection or is about to, the next. */
  async function play({ proxy, begin_ms, idle_ms, after_ms, send }: Track) {
    await sleep(begin_ms)
    const first = await send(1)
    proxy.begin()
    await sleep(Math.max(0, proxy.lastPassed() + idle_ms + after_ms - performance.now()))
    return [first, await send(2)]
  }

  async function playMails() {
    const first = await Promise.all(ways.map((_, i) => mailed(i)))
    mailWay.begin()
    const next = ways.map(async ({ idle_ms, after_ms }, i) => {
      await sleep(idle_ms + after_ms)
      return mailed(ways.length + i)
    })
    return [...first, ...(await Promise.all(next))]
  }

  await expect
    .poll(async () => (await core.providers.status()).flatMap((one) => one.connections), PATIENCE)
    .toSatisfy((all: { state: string }[]) => all.some(({ state }) => state === 'up'))
  const [mails, ...results] = await Promise.all([playMails(), ...tracks.map(play)])

  for (const [i, { name }] of tracks.entries()) {
    // A message that waits for the reconnection to an SMSC was not sent: its outcome is not in doubt.
    const isWaiting = (outcome: unknown) =>
      name.startsWith('smpp') && `${outcome}`.startsWith('retry')
    const seen = (results[i] ?? []).map(({ taken, outcomes }) => ({
      taken,
      outcomes: outcomes.filter((outcome) => !isWaiting(outcome)),
    }))
    const once = { taken: 1, outcomes: ['accepted'] }
    expect({ name, seen }).toEqual({ name, seen: [once, once] })
  }
  expect(mails).toEqual(mails.map(() => ({ taken: 1, outcomes: ['accepted'] })))
  // The thread has nothing to do now, and ends its connections itself, long before a peer that keeps them for 5 s.
  const patient = [...httpWays, ...twilioWays, ...metaWays].filter(
    (_, i) => ways[i % ways.length]?.idle_ms === 5_000,
  )
  await expect.poll(() => patient.some((proxy) => proxy.open() > 0), PATIENCE).toBe(false)
  expect(patient.map((proxy) => proxy.closed())).toEqual(patient.map(() => 0))
})

/** A workspace, and how a message of it is sent and seen through: what each of its attempts gave. */
async function senderIn(core: Core) {
  const { id: workspace_id } = await core.workspaces.create({
    email: 'ops@example.com',
    password: 'correct horse battery',
    company_name: 'Acme',
  })
  const { key } = await core.apiKeys.create(workspace_id, {
    name: 'main',
    mode: 'live',
    scopes: ['send_messages'],
  })
  const identity = await core.apiKeys.authenticate(key, '127.0.0.1')
  return {
    workspace_id,
    async sent(request: SendRequest): Promise<unknown[]> {
      const { data } = await core.messages.send(identity, request)
      const outcomes = async () => {
        const timeline = await core.messages.timeline(workspace_id, data.message_id)
        // On a busy machine a message may be too late for its call, or the pauses were not read for too long. The service
        // then calls no provider, so it says nothing about connections.
        return timeline.flatMap((entry) =>
          entry.kind === 'provider' && entry.error_code !== 'not_called'
            ? [entry.outcome === 'retry' ? `retry ${entry.error_code}` : entry.outcome]
            : [],
        )
      }
      const isOver = (all: unknown[]) => all.includes('accepted') || all.includes('ambiguous')
      await expect.poll(outcomes, PATIENCE).toSatisfy(isOver)
      return outcomes()
    },
  }
}
