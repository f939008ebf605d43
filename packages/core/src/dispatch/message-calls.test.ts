import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import {
  AT,
  accepted,
  busy,
  claimed,
  claimedMany,
  laneParts,
  stopTime,
  turn,
} from '../../test/dispatch/lane-parts.ts'
import type { Outcome, SendJob } from '../contract/outside/provider.ts'
import type { SigningKey } from '../domains/signing-keys.ts'
import type { StoredRecipient } from '../rows/messages.ts'
import type { ClaimedMessage } from '../rules/claim.ts'
import { createMailFiles } from './mail-files.ts'
import { type CallParts, lookUpBatch, sendBatch, sendWithFiles } from './message-calls.ts'
import type { Routing } from './routing.ts'

let time: ReturnType<typeof stopTime>
beforeEach(() => {
  time = stopTime()
})
afterEach(() => time.restore())

const CALL_MAX_MS = 10_000

function open({ keys }: { keys?: Record<string, SigningKey> } = {}) {
  const opened = laneParts()
  const { traits } = opened.parts.routing
  const asked: string[] = []
  /** The calls in flight, with their messages, and the messages without an answer of those that ended. */
  const inFlight = { calls: 0, unanswered: [] as (number | undefined)[] }
  const parts: CallParts = {
    ...opened.parts,
    inFlight: {
      waits: () => () => {},
      began(_, messages) {
        inFlight.calls += messages
        return (unanswered) => {
          inFlight.calls -= messages
          inFlight.unanswered.push(unanswered)
        }
      },
      roomOf: () => ({ messages: 1, batch: 1 }),
      busy: () => null,
      isFull: () => false,
    },
    files: createMailFiles(opened.parts.storage.read),
    signing: keys
      ? {
          async of(workspace_id, address) {
            asked.push(`${workspace_id} ${address}`)
            const key = keys[`${workspace_id} ${address.split('@')[1]}`]
            if (!key) throw new Error('the database is away')
            return key
          },
        }
      : null,
    lease_ms: 60_000,
    call_max_ms: CALL_MAX_MS,
  }
  return {
    ...opened,
    parts,
    traits: traits as Map<string, object>,
    asked,
    inFlight,
    /** Begins the call and lets it go as far as it can. */
    async send(messages: ClaimedMessage[], provider = 'a', start_by_ms = time.uptime()) {
      void sendBatch(parts, provider, messages, start_by_ms)
      await turn()
    },
    async lookUp(messages: ClaimedMessage[]) {
      void lookUpBatch(parts, 'a', messages)
      await turn()
    },
    async sendLarge(message: ClaimedMessage, start_by_ms = time.uptime() + 1_000) {
      void sendWithFiles(parts, 'a', message, start_by_ms)
      await turn()
    },
  }
}

it('a provider gets what a message needs, and no more', async () => {
  const { send, sends } = open()
  await send([claimed()])
  expect(sends[0]?.jobs).toEqual([
    {
      workspace_id: 'w1',
      message_id: 'm1',
      channel: 'sms',
      sender: 'ACME',
      recipient: '+255700000001',
      content: { text: 'Hello' },
      attempt: 3,
      created_at_ms: AT.getTime(),
      max_duration_s: null,
    },
  ])
})

it('a call may last no longer than the credits that are held for it', async () => {
  const { send, sends } = open()
  const voice = { channel: 'voice', content: { text: 'Hello' } } as const
  const recording = { channel: 'voice', content: { audio_url: 'https://x.example/a.mp3' } } as const
  await send([claimed(voice), claimed(recording as never)])
  const [one, five] = sends[0]?.jobs ?? []
  expect(one?.max_duration_s).toBe(60)
  expect((five?.max_duration_s ?? 0) % 60).toBe(0)
  expect(five?.max_duration_s).toBeGreaterThan(60)
})

it('of several recipients, those are due that wait and did not opt out', async () => {
  const { send, sends } = open()
  const recipients = (['a', 'b', 'c'] as const).map((name) => ({
    address: `${name}@x.example`,
    role: 'to',
    status: name === 'b' ? 'sent' : 'queued',
    accepted: false,
  })) as StoredRecipient[]
  await send([claimed({ channel: 'email', recipients, left_out: ['c@x.example'] })])
  expect(sends[0]?.jobs[0]?.recipients).toEqual([
    { address: 'a@x.example', role: 'to', is_due: true },
    { address: 'b@x.example', role: 'to', is_due: false },
    { address: 'c@x.example', role: 'to', is_due: false },
  ])
})

it('each message gets the outcome in its place, and the call ends before it is stored', async () => {
  const { send, sends, outcomes, inFlight, noted, counts } = open()
  await send(claimedMany(3))
  expect(inFlight.calls).toBe(3)
  await sends[0]?.answer([accepted, busy, { ...busy, error_code: 'other' }])
  expect(outcomes()).toEqual({ m0: 'accepted', m1: 'busy', m2: 'other' })
  expect(inFlight).toEqual({ calls: 0, unanswered: [0] })
  expect(noted).toEqual([['a', ['accepted', 'retry', 'retry']]])
  expect(counts).toEqual({ 'attempted a sms accepted': 1, 'attempted a sms retry': 2 })
})

it('a message without an outcome in the answer is in doubt', async () => {
  const { send, sends, outcomes } = open()
  await send(claimedMany(2))
  await sends[0]?.answer([accepted])
  expect(outcomes()).toEqual({ m0: 'accepted', m1: 'no_answer' })
})

const doubtful: Outcome = { type: 'ambiguous', error_code: 'x', error_message: 'X' }

const answered: Outcome = {
  type: 'ambiguous',
  error_code: 'x',
  error_message: 'X',
  answered: { delay_ms: null },
}

it('the load of a provider is learned from the messages that it did not answer', async () => {
  const { send, sends, inFlight } = open()
  await send(claimedMany(4))
  await sends[0]?.answer([accepted, doubtful, answered, busy])
  expect(inFlight.unanswered).toEqual([1])
})

it('a call that fails leaves all its messages in doubt', async () => {
  const { send, sends, outcomes, inFlight, logged } = open()
  await send(claimedMany(2))
  await sends[0]?.fail()
  expect(outcomes()).toEqual({ m0: 'no_answer', m1: 'no_answer' })
  expect(inFlight).toEqual({ calls: 0, unanswered: [2] })
  expect(logged).toEqual(['a provider call failed'])
})

it('a call without an answer in time leaves its messages in doubt, and frees them', async () => {
  const { send, outcomes, inFlight, settled } = open()
  await send(claimedMany(2))
  await time.pass(CALL_MAX_MS - 1)
  expect(settled).toEqual([])
  await time.pass(1)
  expect(outcomes()).toEqual({ m0: 'no_answer', m1: 'no_answer' })
  expect(inFlight).toEqual({ calls: 0, unanswered: [2] })
})

it('a late answer counts where it is still true: the message was accepted, or was not', async () => {
  const { send, sends, settled, logged, answered } = open()
  await send(claimedMany(6))
  await time.pass(CALL_MAX_MS)
  settled.splice(0)
  const rejected = { type: 'rejected', error_code: 'no', error_message: 'No' } as const
  await sends[0]?.answer([accepted, busy, doubtful, rejected, { ...busy, partial: true }])
  expect(settled.map(({ message_id, result }) => [message_id, result])).toMatchObject([
    ['m0', { outcome: accepted }],
    ['m1', { outcome: busy, never_accepted: true }],
  ])
  expect(logged).toEqual([])
  expect(answered).toEqual(['a'])
})

it('a late answer is not stored again after an answer in time', async () => {
  const { send, sends, settled } = open()
  await send([claimed()])
  await sends[0]?.answer(accepted)
  await time.pass(CALL_MAX_MS)
  expect(settled).toHaveLength(1)
})

it('a call that fails late is logged', async () => {
  const { send, sends, settled, logged } = open()
  await send([claimed()])
  await time.pass(CALL_MAX_MS)
  await sends[0]?.fail()
  expect(settled).toHaveLength(1)
  expect(logged).toEqual(['a late answer of a provider was lost'])
})

it('an answered call leaves no timer', async () => {
  const { send, sends, lookUp, lookups } = open()
  await send([claimed()])
  expect(vi.getTimerCount()).toBe(1)
  await sends[0]?.answer(accepted)
  await lookUp([claimed({ task: 'lookup', provider: 'a' })])
  await lookups[0]?.answer({ type: 'unavailable' })
  expect(vi.getTimerCount()).toBe(0)
})

it('the state of a provider that cannot be stored costs no outcome', async () => {
  const { send, sends, outcomes, parts, logged, fields } = open()
  parts.routing.noteOutcomes = () => Promise.reject(new Error('the database is away'))
  await send([claimed()])
  await sends[0]?.answer(accepted)
  expect(outcomes()).toEqual({ m1: 'accepted' })
  expect(logged).toEqual(['the state of a provider was not stored'])
  expect(fields).toEqual([{ err: new Error('the database is away'), provider: 'a' }])
})

it('no provider is called too late', async () => {
  const { send, sends, outcomes, settled } = open()
  await send([claimed({ message_id: 'last' })], 'a', time.uptime())
  expect(sends).toHaveLength(1)
  await send([claimed()], 'a', time.uptime() - 1)
  expect(sends).toHaveLength(1)
  expect(outcomes()).toEqual({ m1: 'not_called' })
  expect(settled[0]?.result).toMatchObject({ never_accepted: true, by_service: true })
})

it('a batch that the provider did not get, because of a pause, was not called', async () => {
  const { send, sends, outcomes } = open()
  await send(claimedMany(2))
  await sends[0]?.answer(null)
  expect(outcomes()).toEqual({ m0: 'not_called', m1: 'not_called' })
})

it('a sender that is paused gets no call, and the others of the batch do', async () => {
  const { send, sends, outcomes, parts } = open()
  const isStopped: Routing['isStopped'] = (provider, sender) =>
    provider === 'a' && sender === 'PAUSED'
  parts.routing.isStopped = isStopped
  const paused = { route: { provider: 'a', sender: 'PAUSED' } }
  await send([
    claimed({ message_id: 'm0', ...paused }),
    claimed(),
    claimed({ message_id: 'm2', ...paused }),
    claimed({ message_id: 'm3' }),
  ])
  expect(sends[0]?.jobs.map(({ message_id }) => message_id)).toEqual(['m1', 'm3'])
  await sends[0]?.answer([accepted, busy])
  expect(outcomes()).toEqual({ m0: 'not_called', m1: 'accepted', m2: 'not_called', m3: 'busy' })
  await send([claimed({ message_id: 'm4', ...paused })])
  expect(sends).toHaveLength(1)
  expect(outcomes()).toMatchObject({ m4: 'not_called' })
})

const key = { domain: 'x.example', selector: 's', private_key: 'secret' }
const mail = (message_id: string, from_address?: string, workspace_id = 'w1') =>
  claimed({
    message_id,
    workspace_id,
    channel: 'email',
    content: { subject: 'Hi', text: 'Hi', from_address } as never,
  })

it('a provider that signs gets the key of each domain, which is read once a batch', async () => {
  const { send, sends, traits, asked } = open({
    keys: {
      'w1 x.example': key,
      'w1 y.example': { ...key, domain: 'y.example' },
      'w2 x.example': { ...key, selector: 't' },
    },
  })
  traits.set('a', { signs: true })
  await send([
    mail('m0', 'a@x.example'),
    mail('m1', 'b@x.example'),
    mail('m2', 'a@y.example'),
    mail('m3', 'a@x.example', 'w2'),
    mail('m4'),
    claimed({ message_id: 'm5' }),
  ])
  const keys = (sends[0]?.jobs ?? []).map(({ message_id, dkim }: SendJob) => [
    message_id,
    dkim && `${dkim.domain} ${dkim.selector}`,
  ])
  expect(keys).toEqual([
    ['m0', 'x.example s'],
    ['m1', 'x.example s'],
    ['m2', 'y.example s'],
    ['m3', 'x.example t'],
    ['m4', undefined],
    ['m5', undefined],
  ])
  expect(asked).toEqual(['w1 a@x.example', 'w1 a@y.example', 'w2 a@x.example'])
})

it('a provider that does not sign gets no key, also not of a domain whose key is unreadable', async () => {
  const { send, sends } = open({ keys: { 'w1 x.example': key, 'w1 y.example': 'unreadable' } })
  await send([mail('m0', 'a@x.example'), mail('m1', 'a@y.example')])
  expect(sends[0]?.jobs).toHaveLength(2)
  for (const job of sends[0]?.jobs ?? []) expect(job).not.toHaveProperty('dkim')
})

it.each([
  [true, 'sender_key_unreadable'],
  [false, 'accepted'],
])('a mail whose domain is not verified never goes out (signs: %s)', async (signs, unreadable) => {
  const { send, sends, traits, outcomes, settled } = open({
    keys: { 'w1 x.example': 'unverified', 'w1 y.example': 'unreadable' },
  })
  traits.set('a', { signs })
  await send([mail('m0', 'a@x.example'), mail('m1', 'a@y.example'), claimed({ message_id: 'm2' })])
  await sends[0]?.answer(accepted)
  expect(outcomes()).toEqual({ m0: 'sender_not_verified', m1: unreadable, m2: 'accepted' })
  expect(settled[0]?.result).toMatchObject({ outcome: { type: 'rejected' }, by_service: true })
})

it('an owner reads why a mail with an unreadable key waits', async () => {
  const { send, settled, traits } = open({ keys: { 'w1 y.example': 'unreadable' } })
  traits.set('a', { signs: true })
  await send([mail('m1', 'a@y.example')])
  expect(settled[0]?.result).toMatchObject({
    outcome: {
      type: 'retry',
      error_code: 'sender_key_unreadable',
      error_message: 'The DKIM key of the sending domain cannot be decrypted',
    },
  })
})

it('the sandbox needs no verified domain', async () => {
  const { send, sends, asked } = open({ keys: { 'w1 x.example': 'unverified' } })
  await send([mail('m0', 'a@x.example')], 'sandbox')
  expect(sends[0]?.jobs).toHaveLength(1)
  expect(asked).toEqual([])
})

it('a mail whose key could not be read was not called', async () => {
  const { send, sends, outcomes, logged, fields } = open({ keys: {} })
  await send([mail('m0', 'a@x.example')])
  expect(sends).toEqual([])
  expect(outcomes()).toEqual({ m0: 'not_called' })
  expect(logged).toEqual(['a key of the service was not read'])
  expect(fields).toEqual([{ err: new Error('the database is away'), provider: 'a' }])
})

const large = (message_id = 'm1') =>
  claimed({
    message_id,
    channel: 'email',
    content: {
      subject: 'Hi',
      attachments: [{ filename: 'a', size_bytes: 32 * 2 ** 20 }],
    } as never,
  })

it('a mail whose file is missing fails without a call, and frees its memory', async () => {
  const { sendLarge, sends, outcomes, files, logged, fields } = open()
  files.push(null)
  await sendLarge(large('m1'))
  await sendLarge(large('m2'))
  expect(sends).toEqual([])
  expect(outcomes()).toEqual({ m1: 'invalid_content', m2: 'invalid_content' })
  expect(logged).toContain('a file of a message is missing')
  expect(fields).toContainEqual({ workspace_id: 'w1', message_id: 'm1' })
})

it('a mail whose file could not be read was not called, and frees its memory', async () => {
  const { sendLarge, sends, outcomes, files, logged, fields } = open()
  files.push('not read')
  await sendLarge(large('m1'))
  expect(outcomes()).toEqual({ m1: 'not_called' })
  expect(logged).toEqual(['the files of a message were not read'])
  expect(fields).toMatchObject([{ workspace_id: 'w1', message_id: 'm1', err: {} }])
  files.splice(1)
  await sendLarge(large('m2'))
  expect(sends[0]?.jobs.map(({ message_id }) => message_id)).toEqual(['m2'])
})

it('a mail that finds no memory until its time was not called', async () => {
  const { sendLarge, sends, outcomes } = open()
  await sendLarge(large('m1'))
  await sendLarge(large('m2'), time.uptime())
  await expect.poll(outcomes).toEqual({ m2: 'not_called' })
  await sends[0]?.answer(accepted)
  expect(sends).toHaveLength(1)
})

it('a mail that is loaded too late is not sent', async () => {
  const { sendLarge, sends, outcomes } = open()
  await sendLarge(large('m1'), time.uptime() - 1)
  expect(sends).toEqual([])
  expect(outcomes()).toEqual({ m1: 'not_called' })
})

const minute_ms = 60_000
const sent_at = new Date(AT.getTime() + 5_000)
const unknown_since = new Date(AT.getTime() + 2 * minute_ms)

it.each<[string, Partial<ClaimedMessage>, object]>([
  ['was sent', { sent_at, unknown_since }, { attempted_at_ms: sent_at.getTime() }],
  [
    'may have been sent, up to one lease before its answer is missing',
    { unknown_since },
    {
      attempted_at_ms: unknown_since.getTime() - minute_ms,
      unknown_since_ms: unknown_since.getTime(),
    },
  ],
  ['was accepted at an unknown time', {}, { attempted_at_ms: AT.getTime() }],
])('a look-up says when the message %s', async (_, fields, more) => {
  const { lookUp, lookups } = open()
  const message = { task: 'lookup', provider: 'a', provider_message_id: 'P1' } as const
  await lookUp([claimed({ ...message, ...fields })])
  const [job] = lookups[0]?.jobs ?? []
  expect(job).toMatchObject({
    message_id: 'm1',
    sender: 'number of a',
    provider_message_id: 'P1',
    now_ms: AT.getTime(),
    ...more,
  })
  expect(job && 'unknown_since_ms' in job).toBe('unknown_since' in fields)
})

const found = (texts: string[] = []) => ({
  type: 'found' as const,
  receipts: [],
  replies: texts.map((text) => ({ provider_message_id: text, text })),
  lookup_after_ms: null,
})
const lookup = { task: 'lookup', provider: 'a', route: null } as const

it('look-ups are stored in their places, and counted if a request was made', async () => {
  const { lookUp, lookups, settled, counts, inFlight, answered } = open()
  await lookUp(claimedMany(4, lookup))
  expect(inFlight.calls).toBe(4)
  await lookups[0]?.answer([found(), { type: 'not_begun' }, { type: 'not_found' }])
  expect(settled.map(({ message_id, result }) => [message_id, result])).toEqual([
    ['m0', { task: 'lookup', found: found() }],
    ['m1', { task: 'lookup', found: { type: 'not_begun' } }],
    ['m2', { task: 'lookup', found: { type: 'not_found' } }],
    ['m3', { task: 'lookup', found: { type: 'unavailable' } }],
  ])
  expect(counts).toEqual({
    'lookedUp a found': 1,
    'lookedUp a not_found': 1,
    'lookedUp a unavailable': 1,
  })
  // The provider had taken these messages before.
  expect(answered).toEqual([])
  expect(inFlight.calls).toBe(0)
})

it('a provider has answered when a look-up finds a message whose outcome was unknown', async () => {
  const { lookUp, lookups, answered } = open()
  const doubtful = { ...lookup, unknown_since: new Date(0) }
  await lookUp(claimedMany(2, doubtful))
  await lookups[0]?.answer([{ type: 'not_found' }, { type: 'unavailable' }])
  expect(answered).toEqual([])
  await lookUp(claimedMany(2, doubtful))
  await lookups[1]?.answer([{ type: 'not_found' }, found()])
  expect(answered).toEqual(['a'])
})

it.each(['fails', 'is not answered'])('a look-up that %s is made again later', async (how) => {
  const { lookUp, lookups, settled, inFlight } = open()
  await lookUp(claimedMany(2, lookup))
  if (how === 'fails') await lookups[0]?.fail()
  else await time.pass(CALL_MAX_MS)
  const unavailable = { task: 'lookup', found: { type: 'unavailable' } }
  expect(settled.map(({ result }) => result)).toEqual([unavailable, unavailable])
  expect(inFlight.calls).toBe(0)
})

it('a late answer to a look-up is ignored', async () => {
  const { lookUp, lookups, settled, logged } = open()
  await lookUp([claimed(lookup)])
  await time.pass(CALL_MAX_MS)
  await lookups[0]?.answer(found())
  expect(settled).toHaveLength(1)
  expect(logged).toEqual([])
})

it('replies are stored before the look-up that found them, and only if there are some', async () => {
  const { lookUp, lookups, settled, parts } = open()
  const received: [string, string[], number][] = []
  parts.receive = async (provider, incoming) => {
    const texts = incoming.map(({ content }) => content.text ?? '')
    received.push([provider, texts, settled.length])
  }
  await lookUp([claimed(lookup)])
  await lookups[0]?.answer(found())
  expect(received).toEqual([])
  await lookUp([claimed(lookup)])
  await lookups[1]?.answer(found(['STOP', 'START']))
  expect(received).toEqual([['a', ['STOP', 'START'], 1]])
  expect(settled).toHaveLength(2)
})
