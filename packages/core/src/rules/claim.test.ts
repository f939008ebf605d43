import { describe, expect, it } from 'vitest'
import { builders, testRuntime } from '../../test/fixtures.ts'
import { units } from '../contract/fields/units.ts'
import type { StoredRecipient } from '../rows/messages.ts'
import type { MessageRow } from '../rows/rows.ts'
import {
  claimLookups,
  type DueMessage,
  HELD_UNTIL,
  hasWaited,
  planClaim,
  planQueue,
  queuedRow,
  type Route,
} from './claim.ts'
import { suppressionKey } from './recipients.ts'

const created_at = new Date('2026-05-04T09:00:00.000Z')
const now = new Date('2026-05-04T09:00:10.000Z')
const LATE = new Date('2026-05-04T09:01:00.001Z')

const carried: Route = { provider: 'primary', sender: 'ACME' }
const unrouted: Route = { provider: null, wait_ms: 5_000, error_message: 'No provider' }

function due(message_id: string, changes: Partial<DueMessage> = {}): DueMessage {
  return {
    message_id,
    workspace_id: 'w1',
    task: 'send',
    token: null,
    attempt: 0,
    unknown_since: null,
    api_key_id: 'k1',
    bulk_id: null,
    credits_used: units(1_000_000),
    channel: 'sms',
    sender: 'ACME',
    recipient: '+255700000001',
    recipients: null,
    content: { text: 'Hello' },
    livemode: true,
    status: 'queued',
    accepted: false,
    provider: null,
    provider_message_id: null,
    created_at,
    scheduled_at: null,
    expires_at: null,
    sent_at: null,
    ...changes,
  }
}

const ids = (rows: readonly { message_id: string }[]) => rows.map(({ message_id }) => message_id)

interface ClaimOptions {
  at?: Date
  suppressed?: string[]
  interrupted?: [message_id: string, provider: string][]
  held?: [bulk_id: string, broadcast_id: string][]
  route?: (message_id: string) => Route
}

/** Plans a claim with the token `t2`; records which messages were routed. */
function claim(messages: DueMessage[], options: ClaimOptions = {}) {
  const routed: string[] = []
  const plan = planClaim(messages, {
    now: options.at ?? now,
    token: 't2',
    suppressed: new Set(options.suppressed),
    interrupted: new Map(options.interrupted),
    held: new Map(options.held),
    route: (message) => {
      const { message_id } = message as DueMessage
      routed.push(message_id)
      return options.route?.(message_id) ?? carried
    },
  })
  return { ...plan, routed }
}

describe('planClaim', () => {
  it('leases a sendable message and journals its next attempt', () => {
    const message = due('m1', { attempt: 2 })
    const { claimed, leases, attempts } = claim([message])
    expect(claimed).toEqual([
      {
        ...message,
        token: 't2',
        attempt: 3,
        interrupted: false,
        suppressed: false,
        left_out: [],
        route: carried,
      },
    ])
    expect(leases).toEqual([{ message_id: 'm1', token: 't2', attempt: 3 }])
    expect(attempts).toEqual([
      {
        workspace_id: 'w1',
        message_id: 'm1',
        number: 3,
        provider: 'primary',
        outcome: 'started',
        provider_message_id: null,
        error_code: null,
        error_message: null,
        started_at: now,
        finished_at: null,
      },
    ])
  })

  it('gives the claimed message each column that it read', () => {
    const message = due('m1', {
      attempt: 1,
      unknown_since: new Date(created_at.getTime() + 1),
      bulk_id: 'b1',
      channel: 'email',
      recipients: [],
      accepted: true,
      provider: 'other',
      provider_message_id: 'p1',
      scheduled_at: new Date(created_at.getTime() + 2),
      expires_at: new Date(created_at.getTime() + 3),
      sent_at: new Date(created_at.getTime() + 4),
    })
    const [claimed] = claim([message]).claimed
    expect(claimed).toMatchObject({ ...message, token: 't2', attempt: 2 })
  })

  it('leaves out those of several recipients who opted out', () => {
    const [a, b] = ['a@x.example', 'b@x.example'].map((address) => ({
      address,
      role: 'to' as const,
      status: 'queued' as const,
      accepted: false,
      error_code: null,
      error_message: null,
    })) as [StoredRecipient, StoredRecipient]
    const mail = due('m1', { channel: 'email', recipient: a.address, recipients: [a, b] })
    const suppressed = [
      suppressionKey({ workspace_id: 'w1', channel: 'email', address: b.address }),
    ]
    const [claimed] = claim([mail], { at: LATE, suppressed }).claimed
    expect(claimed).toMatchObject({ suppressed: false, left_out: [b.address], route: carried })
  })

  it('releases a message that waited and whose recipient is suppressed now', () => {
    const message = due('m1', { attempt: 1 })
    const suppressed = ['w1\nsms\n+255700000001']
    const { claimed, leases, attempts, routed } = claim([message], { at: LATE, suppressed })
    expect(claimed).toMatchObject([{ suppressed: true, route: null, attempt: 1, token: 't2' }])
    expect(leases).toEqual([{ message_id: 'm1', token: null, attempt: 1 }])
    expect([attempts, routed]).toEqual([[], []])
  })

  it('compares e-mail addresses in lower case, within workspace and channel', () => {
    const mail = { channel: 'email', recipient: 'Ann@Example.com' } as const
    const messages = [due('m1', mail), due('m2', { ...mail, workspace_id: 'w2' }), due('m3')]
    const suppressed = ['w1\nemail\nann@example.com', 'w1\nvoice\n+255700000001']
    const { claimed } = claim(messages, { at: LATE, suppressed })
    expect(claimed.map((one) => one.suppressed)).toEqual([true, false, false])
  })

  it.each([
    ['that did not wait', due('m1'), now],
    ['of a test key', due('m1', { livemode: false }), LATE],
    ['that answers STOP', due('m1', { api_key_id: null, credits_used: units(0) }), LATE],
  ])('sends a message %s to a suppressed recipient', (_, message, at) => {
    const { claimed } = claim([message], { at, suppressed: ['w1\nsms\n+255700000001'] })
    expect(claimed).toMatchObject([{ suppressed: false, route: carried }])
  })

  it('releases a message that no provider can take now, without an attempt', () => {
    const { claimed, leases, attempts } = claim([due('m1', { attempt: 4 })], {
      route: () => unrouted,
    })
    expect(claimed).toMatchObject([{ route: unrouted, suppressed: false, attempt: 4 }])
    expect(leases).toEqual([{ message_id: 'm1', token: null, attempt: 4 }])
    expect(attempts).toEqual([])
  })

  it('takes over an interrupted attempt with its provider, without a new attempt', () => {
    const message = due('m1', { token: 't1', attempt: 1 })
    const { claimed, leases, attempts, routed } = claim([message], {
      at: LATE,
      suppressed: ['w1\nsms\n+255700000001'],
      interrupted: [['m1', 'secondary']],
    })
    const route = { provider: 'secondary', sender: null }
    expect(claimed).toMatchObject([{ interrupted: true, suppressed: false, attempt: 1, route }])
    expect(leases).toEqual([{ message_id: 'm1', token: 't2', attempt: 1 }])
    expect([attempts, routed]).toEqual([[], []])
  })

  it('takes over an interrupted attempt whose row is gone without a route', () => {
    const { claimed, leases } = claim([due('m1', { token: 't1', attempt: 1 })])
    expect(claimed).toMatchObject([{ interrupted: true, token: 't2', route: null }])
    expect(leases).toEqual([{ message_id: 'm1', token: 't2', attempt: 1 }])
  })

  it.each([
    ['a look-up', due('m1', { task: 'lookup', status: 'sent', provider: 'primary', attempt: 1 })],
    ['a message that is not queued any more', due('m1', { status: 'failed', attempt: 1 })],
  ])('leases %s without a route and without an attempt', (_, message) => {
    const { claimed, leases, attempts, routed } = claim([message])
    expect(claimed).toMatchObject([{ route: null, suppressed: false, interrupted: false }])
    expect(leases).toEqual([{ message_id: 'm1', token: 't2', attempt: 1 }])
    expect([attempts, routed]).toEqual([[], []])
  })

  it('keeps the order of the batch and decides each message by itself', () => {
    const messages = [
      due('m3'),
      due('m1', { token: 't1', attempt: 1 }),
      due('m4', { attempt: 1 }),
      due('m2', { task: 'lookup', attempt: 1 }),
      due('m5'),
    ]
    const { claimed, leases, attempts, routed } = claim(messages, {
      route: (id) => (id === 'm4' ? unrouted : carried),
    })
    const order = ['m3', 'm1', 'm4', 'm2', 'm5']
    expect(claimed.map(({ message_id }) => message_id)).toEqual(order)
    expect(leases.map(({ message_id }) => message_id)).toEqual(order)
    expect(leases.map(({ token }) => token)).toEqual(['t2', 't2', null, 't2', 't2'])
    expect(attempts.map(({ message_id }) => message_id)).toEqual(['m3', 'm5'])
    expect(routed).toEqual(['m3', 'm4', 'm5'])
  })

  it('plans nothing for no message', () => {
    expect(claim([])).toEqual({ claimed: [], leases: [], attempts: [], holds: [], routed: [] })
  })

  it('holds the messages of a paused broadcast that no worker has begun to send', () => {
    const bulk_id = 'bulk'
    const messages = [
      due('m1', { bulk_id, attempt: 1 }),
      due('m2', { bulk_id: 'other' }),
      due('m3', { bulk_id, token: 't1' }),
      due('m4', { bulk_id, task: 'lookup', status: 'sent' }),
      due('m5', { bulk_id, accepted: true }),
      due('m6', { bulk_id, unknown_since: created_at }),
      due('m7'),
    ]
    expect(ids(claimLookups(messages, now).holdable)).toEqual(['m1', 'm2'])
    const plan = claim(messages, { held: [[bulk_id, 'b1']] })
    expect(plan.holds).toEqual([
      { message_id: 'm1', due_at: HELD_UNTIL, set_at: null, held_by: 'b1' },
    ])
    const others = ['m2', 'm3', 'm4', 'm5', 'm6', 'm7']
    expect(ids(plan.claimed)).toEqual(others)
    expect(ids(plan.leases)).toEqual(others)
  })
})

describe('claimLookups', () => {
  it('names the sendable messages that waited and the interrupted attempts', () => {
    const messages = [
      due('sendable'),
      due('interrupted', { token: 't1' }),
      due('interrupted look-up', { token: 't1', task: 'lookup' }),
      due('look-up', { task: 'lookup' }),
      due('failed', { status: 'failed' }),
      due('test', { livemode: false }),
    ]
    const { waited, interrupted } = claimLookups(messages, LATE)
    expect([ids(waited), ids(interrupted)]).toEqual([['sendable'], ['interrupted']])
    expect(ids(claimLookups(messages, now).waited)).toEqual([])
  })
})

describe('hasWaited', () => {
  it.each([
    ['false for a message that was accepted just now', {}, 0, false],
    ['false after a minute', {}, 60_000, false],
    ['true after more than a minute', {}, 60_001, true],
    ['true for a scheduled message', { scheduled_at: new Date(created_at.getTime() + 1) }, 1, true],
    ['false for a message of a bulk after two seconds', { bulk_id: 'b1' }, 2_000, false],
    ['true for a message of a bulk after more', { bulk_id: 'b1' }, 2_001, true],
  ])('is %s', (_, fields, ms, waited) => {
    const message = due('m1', fields)
    const at = new Date(created_at.getTime() + ms)
    expect(hasWaited(message, at)).toBe(waited)
    expect(hasWaited({ ...message, livemode: false }, at)).toBe(false)
  })
})

describe('planQueue', () => {
  const make = builders(testRuntime('plan-queue'))
  const context = { now, token: 't2', lease_ms: 30_000 }
  const queue = (fields: Partial<MessageRow>, route: Route | null) => {
    const message = make.message('w1', { created_at, ...fields })
    const plan = planQueue([message], route && { ...context, route: () => route })
    return { message, plan }
  }

  it('leases a new message to the process that accepted it', () => {
    const { message, plan } = queue({}, carried)
    const row = { ...queuedRow(message), token: 't2', attempt: 1, set_at: now }
    expect(plan).toMatchObject({
      queue: [{ ...row, due_at: new Date(now.getTime() + 30_000) }],
      attempts: [{ message_id: message.id, number: 1, provider: 'primary', outcome: 'started' }],
      claimed: [{ message_id: message.id, token: 't2', attempt: 1, route: carried }],
      waiting: [],
    })
  })

  const later = new Date(now.getTime() + 1)
  it.each<[string, Partial<MessageRow>, Route | null, number]>([
    ['no process claims', {}, null, 1],
    ['no provider can take it', {}, unrouted, 1],
    ['it is of a bulk', { bulk_id: 'b1' }, carried, 1],
    ['it is scheduled', { scheduled_at: later }, carried, 0],
    ['it is of a scheduled bulk', { scheduled_at: later, bulk_id: 'b1' }, carried, 0],
  ])('only queues a message when %s', (_, fields, route, waiting) => {
    const { message, plan } = queue(fields, route)
    const row = { task: 'send', token: null, attempt: 0, unknown_since: null, set_at: created_at }
    const due_at = message.scheduled_at ?? created_at
    expect(plan.queue).toMatchObject([{ message_id: message.id, due_at, ...row }])
    expect(plan).toMatchObject({ attempts: [], claimed: [] })
    expect(plan.waiting).toHaveLength(waiting)
  })
})
