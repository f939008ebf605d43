import { setTimeout as pause } from 'node:timers/promises'
import { type Fate, RECIPIENTS, type Recipient, SLOW } from '../crash/recipients.ts'
import type { Account } from '../stage/accounts.ts'
import type { Random } from '../stage/random.ts'
import type { Violations } from '../stage/violations.ts'
import type { Call, Clients, Reply } from './clients.ts'
import type { Expected, OpLog } from './op-log.ts'

/** Operations of API clients, in the shares of a busy installation, some of them misbehaving. */
export interface Operations {
  /** Starts one, and returns the number of its requests. */
  begin(): number
  /** The number of operations in flight. */
  running(): number
  /** The number of started operations, by name. */
  counts: ReadonlyMap<string, number>
}

export interface OperationOptions {
  accounts: readonly Account[]
  random: Random
  clients: Clients
  log: OpLog
  violations: Violations
  /** Whether some messages take 30 seconds. */
  slow: boolean
}

/** The context of one operation. */
interface Operation extends OperationOptions {
  /** Unique; is in the metadata of its messages. */
  op: number
  account: Account
  mode: 'live' | 'test'
  /** Ids of recently accepted messages. */
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

/** Each with its share of all operations and the number of its requests. */
const KINDS: Record<
  string,
  { weight: number; requests: number; run(operation: Operation): Promise<void> }
> = {
  'a send': { weight: 40, requests: 1, run: send },
  'a send with a key, repeated later': { weight: 8, requests: 2, run: sendAgain },
  'a send with a key, twice at once': { weight: 4, requests: 2, run: sendTwice },
  'a bulk': { weight: 1, requests: 2, run: bulk },
  'a scheduled send, canceled': { weight: 3, requests: 2, run: cancel },
  'a list of messages': { weight: 8, requests: 1, run: list },
  'a read of a message': { weight: 10, requests: 2, run: look },
  'an estimate': { weight: 4, requests: 1, run: estimate },
  'a contact: create, change, delete': { weight: 3, requests: 4, run: contact },
  'a webhook: create, read, delete': { weight: 1, requests: 3, run: webhook },
  'a read of the account': { weight: 2, requests: 2, run: account },
  'bad input': { weight: 6, requests: 5, run: badInput },
  'a request that is reset': { weight: 4, requests: 2, run: reset },
}

export function createOperations(options: OperationOptions): Operations {
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

function asKey({ account: { keys }, mode }: Operation): Record<string, string> {
  return { 'X-API-Key': keys[mode] }
}

function asOwner({ account: { token } }: Operation): Record<string, string> {
  return { Authorization: `Bearer ${token}` }
}

function recipientOf({ random, slow }: Operation): Recipient {
  return slow && random.between(0, 1_000) < SLOW_PERMILLE ? SLOW : random.pick(RECIPIENTS)
}

function expectedOf(
  { account, mode }: Operation,
  { channel, to }: Recipient,
  fate: Fate,
): Expected {
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

function sendCall(
  operation: Operation,
  { channel, to, fate }: Recipient,
  key?: string,
  body = {},
): Call {
  const text = `Message ${operation.op}`
  return {
    method: 'POST',
    path: '/api/v1/messages/send',
    headers: { ...asKey(operation), ...(key && { 'Idempotency-Key': key }) },
    body: {
      to,
      channel,
      content: channel === 'sms' ? { text } : { subject: text, text },
      metadata: { op: operation.op },
      ...body,
    },
    expect: [fate === null ? 400 : 201],
    is_send: true,
  }
}

/** Notes the results of requests for one message: the returned ids, or the lack of an answer. */
function note(
  operation: Operation,
  recipient: Recipient,
  replies: (Reply | null)[],
): string | null {
  const { fate } = recipient
  if (fate === null) return null
  const ids = new Set(replies.flatMap((reply) => (reply ? [idIn(reply)] : [])))
  ids.delete(null)
  const expected = expectedOf(operation, recipient, fate)
  for (const id of ids) operation.log.accepted(id as string, operation.op, expected)
  if (ids.size === 0 && replies.includes(null)) operation.log.unsure(operation.op, expected)
  const several = operation.violations.rule(
    'one operation with an Idempotency-Key gets one id in all answers',
  )
  if (ids.size > 1) several(`operation ${operation.op}: ${[...ids].join(', ')}`)
  const [id = null] = ids
  if (id === null) return null
  operation.recent.push(id)
  if (operation.recent.length > RECENT_MAX) operation.recent.shift()
  return id
}

function idIn({ data: { message_id } }: Reply): string | null {
  return typeof message_id === 'string' ? message_id : null
}

async function send(operation: Operation): Promise<void> {
  const recipient = recipientOf(operation)
  note(operation, recipient, [await operation.clients.request(sendCall(operation, recipient))])
}

async function sendAgain(operation: Operation): Promise<void> {
  const recipient = recipientOf(operation)
  const call = sendCall(operation, recipient, `key-${operation.op}`)
  const first = await operation.clients.request(call)
  await pause(operation.random.next() * REPEAT_AFTER_MAX_MS)
  const second = await operation.clients.request(call)
  note(operation, recipient, [first, second])
  const replayed = operation.violations.rule('a repeated answer is marked as replayed')
  if (first?.status === 201 && second && !/\r\nidempotent-replayed: true/i.test(second.head)) {
    replayed(`operation ${operation.op}: ${second.status}`)
  }
}

async function sendTwice(operation: Operation): Promise<void> {
  const recipient = recipientOf(operation)
  const call = sendCall(operation, recipient, `key-${operation.op}`)
  note(operation, recipient, await Promise.all([call, call].map(operation.clients.request)))
}

async function bulk(operation: Operation): Promise<void> {
  // Each address once, because a repeated address is sent to once.
  const recipients = VALID.filter(({ channel }) => channel === 'sms')
    .toSorted(() => operation.random.next() - 0.5)
    .slice(0, BULK_SIZE)
  const reply = await operation.clients.request({
    method: 'POST',
    path: '/api/v1/messages/bulk',
    headers: { ...asKey(operation), 'Idempotency-Key': `key-${operation.op}` },
    body: {
      channel: 'sms',
      content: { text: `Message ${operation.op} for {{name|you}}` },
      recipients: recipients.map(({ to }) => ({ to, metadata: { op: operation.op } })),
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
    operation.log.accepted(
      message_id,
      operation.op,
      expectedOf(operation, recipient, recipient.fate as Fate),
    )
  }
  await read(operation, `/api/v1/messages/bulk/${bulk_id}`)
}

async function cancel(operation: Operation): Promise<void> {
  const recipient = { ...operation.random.pick(VALID), fate: CANCELED }
  const scheduled_at = new Date(Date.now() + HOUR_MS).toISOString()
  const id = note(operation, recipient, [
    await operation.clients.request(sendCall(operation, recipient, undefined, { scheduled_at })),
  ])
  if (id === null) return
  const path = `/api/v1/messages/${id}/cancel`
  await operation.clients.request({
    method: 'POST',
    path,
    headers: asKey(operation),
    expect: [200],
  })
}

/** GETs a resource that must exist. */
async function read(
  operation: Operation,
  path: string,
  headers = asKey(operation),
): Promise<Reply | null> {
  return operation.clients.request({ method: 'GET', path, headers, expect: [200] })
}

async function list(operation: Operation): Promise<void> {
  const query = operation.random.pick([
    'limit=20',
    'limit=50&status=delivered',
    'limit=10&channel=email',
  ])
  await read(operation, `/api/v1/messages?${query}`)
}

async function look(operation: Operation): Promise<void> {
  if (operation.recent.length === 0) return
  const id = operation.random.pick(operation.recent)
  // Of either workspace: in the other one it does not exist.
  const call = { method: 'GET', headers: asKey(operation), expect: [200, 404] } as const
  await operation.clients.request({ ...call, path: `/api/v1/messages/${id}` })
  await operation.clients.request({ ...call, path: `/api/v1/messages/${id}/timeline` })
}

async function estimate(operation: Operation): Promise<void> {
  await operation.clients.request({
    method: 'POST',
    path: '/api/v1/messages/estimate',
    headers: asKey(operation),
    body: {
      channel: 'sms',
      to: '+255700000001',
      content: { text: 'Habari 👋 '.repeat(operation.random.between(1, 40)) },
    },
    expect: [200],
  })
}

async function contact(operation: Operation): Promise<void> {
  const headers = asOwner(operation)
  const made = await operation.clients.request({
    method: 'POST',
    path: '/api/v1/contacts',
    headers,
    body: { name: 'Asha', email: `contact-${operation.op}@example.com`, tags: ['soak'] },
    expect: [201],
  })
  const { contact: record } = (made?.data ?? {}) as { contact?: { id: string } }
  if (!record) return
  const call = { path: `/api/v1/contacts/${record.id}`, headers, expect: [200] }
  await operation.clients.request({ ...call, method: 'PUT', body: { name: 'Baraka' } })
  await read(operation, '/api/v1/contacts?tag=soak', headers)
  await operation.clients.request({ ...call, method: 'DELETE' })
}

async function webhook(operation: Operation): Promise<void> {
  const headers = asOwner(operation)
  const made = await operation.clients.request({
    method: 'POST',
    path: '/api/v1/webhooks',
    headers,
    // No request raises this event, so only the other webhook gets deliveries.
    body: { url: 'http://127.0.0.1:9/unused', events: ['credits.low'] },
    expect: [201],
  })
  const { webhook: record } = (made?.data ?? {}) as { webhook?: { id: string } }
  if (!record) return
  const path = `/api/v1/webhooks/${record.id}`
  await read(
    operation,
    `/api/v1/webhooks/${operation.account.webhook.id}/deliveries?limit=10`,
    headers,
  )
  await operation.clients.request({ method: 'DELETE', path, headers, expect: [200] })
}

async function account(operation: Operation): Promise<void> {
  await read(operation, '/api/v1/account', asOwner(operation))
  await read(operation, '/health', {})
}

async function badInput(operation: Operation): Promise<void> {
  const { clients } = operation
  const path = '/api/v1/messages/send'
  const body = { to: '+255700000001', channel: 'sms', content: { text: 'Hi' } }
  const good = { method: 'POST', path, headers: asKey(operation), body } as const
  const strange = { 'X-API-Key': `svc_${'x'.repeat(40)}` }
  await clients.request({ ...good, body: { ...body, to: '0700' }, expect: [400] })
  await clients.request({ ...good, body: { ...body, content: {} }, expect: [400] })
  await clients.request({ ...good, headers: strange, expect: [401] })
  await clients.request({ ...good, body: 'no object', expect: [400] })
  const missing = '/api/v1/messages/00000000-0000-4000-8000-000000000000'
  await clients.request({ method: 'GET', path: missing, headers: asKey(operation), expect: [404] })
}

/** Resets a connection after a part of a request or all of it; repeats a complete send with a key. */
async function reset(operation: Operation): Promise<void> {
  const { clients, random } = operation
  const recipient = random.pick(VALID)
  const isKeyed = random.percent(50)
  const { expect, is_send, ...parts } = sendCall(
    operation,
    recipient,
    isKeyed ? `key-${operation.op}` : undefined,
  )
  const bytes = clients.bytes(parts)
  if (random.percent(50)) {
    return clients.reset(bytes.subarray(0, random.between(1, bytes.length)))
  }
  await clients.reset(bytes)
  const again = isKeyed ? [await clients.request({ ...parts, expect: [201] })] : [null]
  note(operation, recipient, again)
}
