import type { Account } from '../crash/accounts.ts'
import type { Random } from '../crash/random.ts'
import { type Fate, RECIPIENTS, type Recipient, SLOW } from '../crash/recipients.ts'
import type { Violations } from '../crash/violations.ts'
import type { Call, Clients, Reply } from './clients.ts'
import type { Expected, OpLog } from './op-log.ts'

/** What clients of the API do, in the shares of a busy installation with some that misbehave. */
export interface Wishes {
  /** Begins one, and answers how many requests it consists of. */
  begin(): number
  /** How many are under way. */
  running(): number
  /** How many were begun, by name. */
  counts: ReadonlyMap<string, number>
}

export interface WishesOptions {
  accounts: readonly Account[]
  random: Random
  clients: Clients
  log: OpLog
  violations: Violations
  /** Whether messages that take 30 seconds are among them. */
  slow: boolean
}

/** What one wish has at hand. */
interface Wish extends WishesOptions {
  /** Unique; travels in the metadata of its messages. */
  op: number
  account: Account
  mode: 'live' | 'test'
  /** Ids of messages that were accepted not long ago. */
  recent: string[]
}

const TEST_PERCENT = 10
const SLOW_PERMILLE = 2
const RECENT_MAX = 1_000
const REPEAT_AFTER_MAX_MS = 2_000
const HOUR_MS = 3_600_000
const BULK_SIZE = 4

const CANCELED: Fate = {
  status: 'failed',
  error_code: 'canceled',
  is_accepted: false,
  replies: false,
}

const VALID = RECIPIENTS.filter(({ fate }) => fate !== null)

/** Each with its share of all wishes and the number of its requests. */
const KINDS: Record<string, { weight: number; requests: number; run(wish: Wish): Promise<void> }> =
  {
    'a send': { weight: 40, requests: 1, run: send },
    'a send with a key, repeated later': { weight: 8, requests: 2, run: sendAgain },
    'a send with a key, twice at once': { weight: 4, requests: 2, run: sendTwice },
    'a bulk': { weight: 1, requests: 2, run: bulk },
    'a scheduled send, canceled': { weight: 3, requests: 2, run: cancel },
    'a list of messages': { weight: 8, requests: 1, run: list },
    'a look at a message': { weight: 10, requests: 2, run: look },
    'an estimate': { weight: 4, requests: 1, run: estimate },
    'a contact, made, changed, deleted': { weight: 3, requests: 4, run: contact },
    'a webhook, made, read, deleted': { weight: 1, requests: 3, run: webhook },
    'a look at the account': { weight: 2, requests: 2, run: account },
    'bad input': { weight: 6, requests: 5, run: badInput },
    'a request that is reset': { weight: 4, requests: 2, run: reset },
  }

export function createWishes(options: WishesOptions): Wishes {
  const { accounts, random, violations } = options
  const bag = Object.entries(KINDS).flatMap(([name, { weight }]) => Array(weight).fill(name))
  const failed = violations.rule('the driver understands every answer')
  const counts = new Map<string, number>()
  const recent: string[] = []
  let op = 0
  let running = 0

  return {
    begin() {
      const name = random.pick(bag) as string
      const { requests, run } = KINDS[name] as (typeof KINDS)[string]
      counts.set(name, (counts.get(name) ?? 0) + 1)
      op += 1
      running += 1
      run({
        ...options,
        op,
        account: random.pick(accounts),
        mode: random.percent(TEST_PERCENT) ? 'test' : 'live',
        recent,
      })
        .catch((error: Error) => failed(`${name}: ${error.message}`))
        .finally(() => {
          running -= 1
        })
      return requests
    },
    running: () => running,
    counts,
  }
}

function asKey({ account: { keys }, mode }: Wish): Record<string, string> {
  return { 'X-API-Key': keys[mode] }
}

function asOwner({ account: { token } }: Wish): Record<string, string> {
  return { Authorization: `Bearer ${token}` }
}

function recipientOf({ random, slow }: Wish): Recipient {
  return slow && random.between(0, 1_000) < SLOW_PERMILLE ? SLOW : random.pick(RECIPIENTS)
}

function expectedOf({ account, mode }: Wish, { channel, to }: Recipient, fate: Fate): Expected {
  const price = mode === 'test' ? 0 : channel === 'email' ? 100_000 : 1_000_000
  const { status, error_code, is_accepted, replies } = fate
  return {
    workspace_id: account.workspace_id,
    livemode: mode === 'live' ? 1 : 0,
    recipient: to,
    status,
    error_code,
    price,
    refund: is_accepted ? 0 : price,
    events: [...(is_accepted ? ['message.sent'] : []), `message.${status}`].toSorted().join(),
    replies: replies ? 1 : 0,
  }
}

function sendCall(wish: Wish, { channel, to, fate }: Recipient, key?: string, body = {}): Call {
  const text = `Message ${wish.op}`
  return {
    method: 'POST',
    path: '/api/v1/messages/send',
    headers: { ...asKey(wish), ...(key && { 'Idempotency-Key': key }) },
    body: {
      to,
      channel,
      content: channel === 'sms' ? { text } : { subject: text, text },
      metadata: { op: wish.op },
      ...body,
    },
    expect: [fate === null ? 400 : 201],
    is_send: true,
  }
}

/** Notes what came of requests for one message: the ids that were told, or that there was no answer. */
function note(wish: Wish, recipient: Recipient, replies: (Reply | null)[]): string | null {
  const { fate } = recipient
  if (fate === null) return null
  const ids = new Set(replies.flatMap((reply) => (reply ? [idIn(reply)] : [])))
  ids.delete(null)
  const expected = expectedOf(wish, recipient, fate)
  for (const id of ids) wish.log.accepted(id as string, wish.op, expected)
  if (ids.size === 0 && replies.includes(null)) wish.log.unsure(wish.op, expected)
  const several = wish.violations.rule('one wish with an Idempotency-Key is answered with one id')
  if (ids.size > 1) several(`operation ${wish.op}: ${[...ids].join(', ')}`)
  const [id = null] = ids
  if (id === null) return null
  wish.recent.push(id)
  if (wish.recent.length > RECENT_MAX) wish.recent.shift()
  return id
}

function idIn({ data: { message_id } }: Reply): string | null {
  return typeof message_id === 'string' ? message_id : null
}

async function send(wish: Wish): Promise<void> {
  const recipient = recipientOf(wish)
  note(wish, recipient, [await wish.clients.request(sendCall(wish, recipient))])
}

async function sendAgain(wish: Wish): Promise<void> {
  const recipient = recipientOf(wish)
  const call = sendCall(wish, recipient, `key-${wish.op}`)
  const first = await wish.clients.request(call)
  await pause(wish.random.next() * REPEAT_AFTER_MAX_MS)
  const second = await wish.clients.request(call)
  note(wish, recipient, [first, second])
  const replayed = wish.violations.rule('a repeated answer says that it is one')
  if (first?.status === 201 && second && !/\r\nidempotent-replayed: true/i.test(second.head)) {
    replayed(`operation ${wish.op}: ${second.status}`)
  }
}

async function sendTwice(wish: Wish): Promise<void> {
  const recipient = recipientOf(wish)
  const call = sendCall(wish, recipient, `key-${wish.op}`)
  note(wish, recipient, await Promise.all([call, call].map(wish.clients.request)))
}

async function bulk(wish: Wish): Promise<void> {
  // Each address once: a repeated one is sent to once.
  const recipients = VALID.filter(({ channel }) => channel === 'sms')
    .toSorted(() => wish.random.next() - 0.5)
    .slice(0, BULK_SIZE)
  const reply = await wish.clients.request({
    method: 'POST',
    path: '/api/v1/messages/bulk',
    headers: { ...asKey(wish), 'Idempotency-Key': `key-${wish.op}` },
    body: {
      channel: 'sms',
      content: { text: `Message ${wish.op} for {{name|you}}` },
      recipients: recipients.map(({ to }) => ({ to, metadata: { op: wish.op } })),
    },
    expect: [201],
  })
  if (reply?.status !== 201) return
  const { bulk_id, messages } = reply.data as {
    bulk_id: string
    messages: { index: number; message_id: string }[]
  }
  for (const { index, message_id } of messages) {
    const recipient = recipients[index] as Recipient
    wish.log.accepted(message_id, wish.op, expectedOf(wish, recipient, recipient.fate as Fate))
  }
  await read(wish, `/api/v1/messages/bulk/${bulk_id}`)
}

async function cancel(wish: Wish): Promise<void> {
  const recipient = { ...wish.random.pick(VALID), fate: CANCELED }
  const scheduled_at = new Date(Date.now() + HOUR_MS).toISOString()
  const id = note(wish, recipient, [
    await wish.clients.request(sendCall(wish, recipient, undefined, { scheduled_at })),
  ])
  if (id === null) return
  const path = `/api/v1/messages/${id}/cancel`
  await wish.clients.request({ method: 'POST', path, headers: asKey(wish), expect: [200] })
}

/** GETs what must be there. */
async function read(wish: Wish, path: string, headers = asKey(wish)): Promise<Reply | null> {
  return wish.clients.request({ method: 'GET', path, headers, expect: [200] })
}

async function list(wish: Wish): Promise<void> {
  const query = wish.random.pick([
    'limit=20',
    'limit=50&status=delivered',
    'limit=10&channel=email',
  ])
  await read(wish, `/api/v1/messages?${query}`)
}

async function look(wish: Wish): Promise<void> {
  if (wish.recent.length === 0) return
  const id = wish.random.pick(wish.recent)
  // Of either workspace: for the other one it does not exist.
  const call = { method: 'GET', headers: asKey(wish), expect: [200, 404] } as const
  await wish.clients.request({ ...call, path: `/api/v1/messages/${id}` })
  await wish.clients.request({ ...call, path: `/api/v1/messages/${id}/timeline` })
}

async function estimate(wish: Wish): Promise<void> {
  await wish.clients.request({
    method: 'POST',
    path: '/api/v1/messages/estimate',
    headers: asKey(wish),
    body: {
      channel: 'sms',
      to: '+255700000001',
      content: { text: 'Habari 👋 '.repeat(wish.random.between(1, 40)) },
    },
    expect: [200],
  })
}

async function contact(wish: Wish): Promise<void> {
  const headers = asOwner(wish)
  const made = await wish.clients.request({
    method: 'POST',
    path: '/api/v1/contacts',
    headers,
    body: { name: 'Asha', email: `contact-${wish.op}@example.com`, tags: ['soak'] },
    expect: [201],
  })
  const { contact: record } = (made?.data ?? {}) as { contact?: { id: string } }
  if (!record) return
  const call = { path: `/api/v1/contacts/${record.id}`, headers, expect: [200] }
  await wish.clients.request({ ...call, method: 'PUT', body: { name: 'Baraka' } })
  await read(wish, '/api/v1/contacts?tag=soak', headers)
  await wish.clients.request({ ...call, method: 'DELETE' })
}

async function webhook(wish: Wish): Promise<void> {
  const headers = asOwner(wish)
  const made = await wish.clients.request({
    method: 'POST',
    path: '/api/v1/webhooks',
    headers,
    // Nothing raises this event here, so the other webhook stays the only one that is delivered to.
    body: { url: 'http://127.0.0.1:9/unused', events: ['credits.low'] },
    expect: [201],
  })
  const { webhook: record } = (made?.data ?? {}) as { webhook?: { id: string } }
  if (!record) return
  const path = `/api/v1/webhooks/${record.id}`
  await read(wish, `/api/v1/webhooks/${wish.account.webhook.id}/deliveries?limit=10`, headers)
  await wish.clients.request({ method: 'DELETE', path, headers, expect: [200] })
}

async function account(wish: Wish): Promise<void> {
  await read(wish, '/api/v1/account', asOwner(wish))
  await read(wish, '/health', {})
}

async function badInput(wish: Wish): Promise<void> {
  const { clients } = wish
  const path = '/api/v1/messages/send'
  const body = { to: '+255700000001', channel: 'sms', content: { text: 'Hi' } }
  const good = { method: 'POST', path, headers: asKey(wish), body } as const
  const strange = { 'X-API-Key': `svc_${'x'.repeat(40)}` }
  await clients.request({ ...good, body: { ...body, to: '0700' }, expect: [400] })
  await clients.request({ ...good, body: { ...body, content: {} }, expect: [400] })
  await clients.request({ ...good, headers: strange, expect: [401] })
  await clients.request({ ...good, body: 'no object', expect: [400] })
  const missing = '/api/v1/messages/00000000-0000-4000-8000-000000000000'
  await clients.request({ method: 'GET', path: missing, headers: asKey(wish), expect: [404] })
}

/** Resets a connection after a part of a request or the whole of it; a whole send with a key is then sent again. */
async function reset(wish: Wish): Promise<void> {
  const { clients, random } = wish
  const recipient = random.pick(VALID)
  const isKeyed = random.percent(50)
  const { expect, is_send, ...parts } = sendCall(
    wish,
    recipient,
    isKeyed ? `key-${wish.op}` : undefined,
  )
  const bytes = clients.bytes(parts)
  if (random.percent(50)) {
    return clients.reset(bytes.subarray(0, random.between(1, bytes.length)))
  }
  await clients.reset(bytes)
  const again = isKeyed ? [await clients.request({ ...parts, expect: [201] })] : [null]
  note(wish, recipient, again)
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}
