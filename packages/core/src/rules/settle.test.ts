import { describe, expect, it } from 'vitest'
import { builders, SMS_PRICE, testRuntime } from '../../test/fixtures.ts'
import type { LookupResult, Outcome, Receipt } from '../contract/outside/provider.ts'
import type { MessageQueueRow, MessageRow } from '../rows/rows.ts'
import { newAccount } from './decide.ts'
import { planSettle } from './settle.ts'
import type { Settlement, SettlePlan, SettleState } from './settlement.ts'

const runtime = testRuntime('settle')
const make = builders(runtime)
const AT = runtime.now()
const SECOND = 1_000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE

const refusal = { error_code: 'busy', error_message: 'Busy' }
const delivered: Receipt = {
  status: 'delivered',
  provider_message_id: 'P1',
  error_code: null,
  error_message: null,
}

function queuedRow(message: MessageRow, given: Partial<MessageQueueRow> = {}): MessageQueueRow {
  return {
    message_id: message.id,
    workspace_id: message.workspace_id,
    channel: message.channel,
    task: 'send',
    due_at: AT,
    set_at: AT,
    token: 'mine',
    attempt: 1,
    unknown_since: null,
    ...given,
  }
}

function stateOf(message: MessageRow, given: Partial<MessageQueueRow> = {}): SettleState {
  return {
    messages: new Map([[message.id, message]]),
    queue: new Map([[message.id, queuedRow(message, given)]]),
    subscribers: new Map(),
    accounts: new Map([['w1', { ...newAccount('w1'), seq: 1 }]]),
    parts: new Map(),
    entries_about: new Map(),
  }
}

function settlement(
  message: MessageRow,
  result: Settlement['result'],
  given: Partial<Settlement> = {},
): Settlement {
  return {
    workspace_id: 'w1',
    message_id: message.id,
    token: 'mine',
    provider: 'carrier',
    abilities: { idempotent: false, lookup: false },
    result,
    at: AT,
    ...given,
  }
}

function plan(settlements: Settlement[], state: SettleState, chance = 0): SettlePlan {
  return planSettle(settlements, state, { newId: runtime.id, random: () => chance })
}

/** How long after the settlement the only requeued row is due. */
function waitOf({ requeue }: SettlePlan): number {
  const [row] = requeue
  if (!row || requeue.length > 1) throw new Error(`expected one, got ${requeue.length}`)
  return row.due_at.getTime() - AT.getTime()
}

describe('the wait before a further try', () => {
  it.each([
    [1, 1 * SECOND],
    [2, 2 * SECOND],
    [5, 16 * SECOND],
    [9, 256 * SECOND],
    [10, 5 * MINUTE],
    [40, 5 * MINUTE],
  ])('after attempt %d is anything up to %d ms', (attempt, most) => {
    const message = make.message('w1')
    const outcome: Outcome = { type: 'retry', ...refusal, delay_ms: null }
    const result = { task: 'send', attempt, outcome } as const
    expect(waitOf(plan([settlement(message, result)], stateOf(message), 0))).toBe(0)
    expect(waitOf(plan([settlement(message, result)], stateOf(message), 1))).toBe(most)
  })

  it.each([
    ['what it asks for', 90 * SECOND, 90 * SECOND],
    ['a second at the least', 0, SECOND],
    ['a second at the least, also for nonsense', -HOUR, SECOND],
    ['a day at the most', 40 * HOUR, 24 * HOUR],
  ])('that a provider asks for is %s', (_, delay_ms, wait) => {
    const message = make.message('w1', { channel: 'email' })
    const outcome: Outcome = { type: 'retry', ...refusal, delay_ms }
    const result = { task: 'send', attempt: 1, outcome } as const
    expect(waitOf(plan([settlement(message, result)], stateOf(message), 1))).toBe(wait)
  })
})

describe('the wait before a further question', () => {
  it.each([
    [0, 2 * SECOND],
    [1 * SECOND, 2 * SECOND],
    [7 * SECOND, 7 * SECOND],
    [4 * MINUTE, 4 * MINUTE],
    [9 * MINUTE, 5 * MINUTE],
  ])('about a message unknown for %d ms is %d ms', (age, wait) => {
    const message = make.message('w1')
    const unknown_since = new Date(AT.getTime() - age)
    const state = stateOf(message, { task: 'lookup', unknown_since })
    const asked = settlement(message, { task: 'lookup', found: { type: 'unavailable' } })
    const answer = plan([asked], state)
    expect(waitOf(answer)).toBe(wait)
    expect(answer.requeue).toMatchObject([{ task: 'lookup', token: null, unknown_since }])
  })

  it.each([
    [1 * SECOND, 2 * SECOND],
    [30 * SECOND, 30 * SECOND],
    [3 * HOUR, 5 * MINUTE],
  ])('about a message sent %d ms ago is %d ms', (age, wait) => {
    const sent_at = new Date(AT.getTime() - age)
    const message = make.message('w1', { status: 'sent', accepted: true, sent_at })
    const asked = settlement(message, { task: 'lookup', found: { type: 'unavailable' } })
    expect(waitOf(plan([asked], stateOf(message, { task: 'lookup' })))).toBe(wait)
  })

  it.each([
    [72 * HOUR - 1, 1],
    [72 * HOUR, 0],
  ])('that its provider only ever calls sent, for %d ms, leads to %d more', (age, more) => {
    const sent_at = new Date(AT.getTime() - age)
    const message = make.message('w1', { status: 'sent', accepted: true, sent_at })
    const receipts: Receipt[] = [{ ...delivered, status: 'sent' }]
    const found: LookupResult = { type: 'found', receipts, replies: [], lookup_after_ms: MINUTE }
    const state = stateOf(message, { task: 'lookup' })
    const answer = plan([settlement(message, { task: 'lookup', found })], state)
    expect(answer.requeue).toHaveLength(more)
    expect(answer.dequeue).toHaveLength(1 - more)
    // A receipt that comes later by itself still counts.
    const late = {
      ...settlement(message, { task: 'callback', receipts: [delivered] }),
      token: null,
    }
    expect(plan([late], stateOf(message)).messages).toMatchObject([{ status: 'delivered' }])
  })

  it('ends with the age of the message', () => {
    const created_at = new Date(AT.getTime() - 4 * HOUR)
    const message = make.message('w1', { status: 'sent', accepted: true, created_at })
    const asked = settlement(message, { task: 'lookup', found: { type: 'unavailable' } })
    const answer = plan([asked], stateOf(message, { task: 'lookup' }))
    expect(answer).toMatchObject({ counted: [true], requeue: [], dequeue: [message.id] })
  })
})

describe('an unknown outcome', () => {
  const ambiguous: Outcome = { type: 'ambiguous', ...refusal }
  const result = { task: 'send', attempt: 1, outcome: ambiguous } as const

  it.each([
    ['no longer than ten minutes', 10 * MINUTE, 'queued'],
    ['longer than ten minutes', 10 * MINUTE + 1, 'failed'],
  ])('that is unknown %s', (_, age, status) => {
    const message = make.message('w1')
    const unknown_since = new Date(AT.getTime() - age)
    const abilities = { idempotent: true, lookup: false }
    const answer = plan(
      [settlement(message, result, { abilities })],
      stateOf(message, { unknown_since }),
    )
    expect(answer.messages).toMatchObject([{ status }])
    expect(answer.entries).toEqual([])
  })

  it.each([
    [10 * MINUTE + 1, 30 * SECOND, 'queued', 30 * SECOND],
    // A wait that is longer than the message is worth ends with one more try.
    [3 * HOUR, 24 * HOUR, 'queued', HOUR],
    [4 * HOUR, 30 * SECOND, 'queued', SECOND],
    [4 * HOUR + 1, 30 * SECOND, 'failed', null],
  ])(
    'that the provider answers with an error to every repetition, for %d ms, and asks for %d',
    (age, delay_ms, status, wait_ms) => {
      const since = new Date(AT.getTime() - age)
      const message = make.message('w1', { created_at: since })
      const answered: Outcome = { ...ambiguous, answered: { delay_ms } }
      const answer = plan(
        [
          settlement(
            message,
            { ...result, outcome: answered },
            { abilities: { idempotent: true, lookup: false } },
          ),
        ],
        stateOf(message, { unknown_since: since }),
      )
      expect((answer.messages[0] ?? message).status).toBe(status)
      if (wait_ms !== null) expect(waitOf(answer)).toBe(wait_ms)
    },
  )

  it.each([
    [{ idempotent: false, lookup: false }, 10 * MINUTE, 'failed'],
    [{ idempotent: false, lookup: true }, 10 * MINUTE, 'queued'],
    [{ idempotent: false, lookup: true }, 4 * HOUR - 1, 'queued'],
    [{ idempotent: false, lookup: true }, 4 * HOUR, 'failed'],
  ])('that no look-up settles: with %j for %d ms', (abilities, age, status) => {
    const since = new Date(AT.getTime() - age)
    const message = make.message('w1', { created_at: since })
    const asked = settlement(
      message,
      { task: 'lookup', found: { type: 'unavailable' } },
      { abilities },
    )
    const answer = plan([asked], stateOf(message, { task: 'lookup', unknown_since: since }))
    expect((answer.messages[0] ?? message).status).toBe(status)
  })

  it('keeps the moment since when it is unknown', () => {
    const message = make.message('w1')
    const since = new Date(AT.getTime() - MINUTE)
    for (const unknown_since of [null, since]) {
      const answer = plan([settlement(message, result)], stateOf(message, { unknown_since }))
      expect(answer.requeue).toMatchObject([{ unknown_since: unknown_since ?? AT }])
    }
  })
})

describe('an attempt that was never made', () => {
  const result = {
    task: 'send',
    attempt: 1,
    outcome: { type: 'retry', ...refusal, delay_ms: 0 },
    never_called: true,
  } as const
  const unknown_since = new Date(AT.getTime() - MINUTE)

  it('is made again by its own claim', () => {
    const message = make.message('w1')
    const answer = plan([settlement(message, result)], stateOf(message))
    expect(answer).toMatchObject({
      counted: [true],
      attempts: [{ number: 1, outcome: 'retry' }],
      requeue: [{ task: 'send', unknown_since: null }],
    })
  })

  it.each(['lookup', 'send'] as const)('ends the doubt that others are in: %s', (task) => {
    const message = make.message('w1')
    const state = stateOf(message, { task, token: null, unknown_since })
    expect(plan([settlement(message, result)], state)).toMatchObject({
      counted: [true],
      attempts: [{ number: 1, outcome: 'retry' }],
      requeue: [{ task: 'send', unknown_since: null, due_at: AT, token: null }],
    })
  })

  it.each<[string, Partial<MessageQueueRow>]>([
    ['another claim has the message', { token: 'theirs', unknown_since }],
    ['it was sent again since', { token: null, unknown_since, attempt: 2 }],
    ['nobody is in doubt', { token: null, unknown_since: null }],
  ])('says nothing where %s', (_, queue) => {
    const message = make.message('w1')
    const answer = plan([settlement(message, result)], stateOf(message, queue))
    expect(answer).toMatchObject({ counted: [false], attempts: [], requeue: [], messages: [] })
  })
})

describe('several settlements of one message in one write', () => {
  const rejected = { task: 'send', attempt: 1, outcome: { type: 'rejected', ...refusal } } as const
  const callback = { task: 'callback', receipts: [delivered] } as const

  const both = (message: MessageRow, first: Settlement['result'], second: Settlement['result']) =>
    plan([settlement(message, first), settlement(message, second)], stateOf(message))

  it('see what those before them did: a delivered message is not refunded', () => {
    const message = make.message('w1')
    const answer = both(message, { ...callback, receipts: [delivered] }, rejected)
    expect(answer.counted).toEqual([true, true])
    expect(answer.messages).toMatchObject([{ status: 'delivered', accepted: true, sequence: 1 }])
    expect(answer.entries).toEqual([])
    expect(answer.dequeue).toEqual([message.id])
  })

  it('see what those before them did: a refunded message is not delivered', () => {
    const message = make.message('w1')
    const answer = both(message, rejected, { ...callback, receipts: [delivered] })
    expect(answer.messages).toMatchObject([{ status: 'failed', accepted: false, sequence: 1 }])
    expect(answer.entries).toMatchObject([{ kind: 'refund', amount: SMS_PRICE, seq: 2 }])
    expect(answer.message_events).toMatchObject([
      { status: 'failed', applied: true },
      { status: 'delivered', applied: false },
    ])
  })

  it('use the claim up: the second of its results does not count', () => {
    const message = make.message('w1')
    const answer = both(message, rejected, rejected)
    expect(answer.counted).toEqual([true, false])
    expect(answer.entries).toHaveLength(1)
    expect(answer.dequeue).toEqual([message.id])
  })

  it('leave the rows that were looked up as they were', () => {
    const message = Object.freeze(make.message('w1'))
    const state = stateOf(message)
    const before = structuredClone([...state.accounts])
    both(message, rejected, { ...callback, receipts: [delivered] })
    expect(message.status).toBe('queued')
    expect([...state.accounts]).toEqual(before)
  })
})

describe('what does not count', () => {
  it('is planned for neither an unknown message nor a foreign one', () => {
    const message = make.message('w1')
    const callback = { task: 'callback', receipts: [delivered] } as Settlement['result']
    const answer = plan(
      [
        settlement(make.message('w1'), callback),
        settlement(message, callback, { workspace_id: 'w2' }),
      ],
      stateOf(message),
    )
    expect(answer).toMatchObject({
      counted: [false, false],
      messages: [],
      message_events: [],
      events: [],
      requeue: [],
      dequeue: [],
    })
  })

  it('is an empty token: a row that nobody holds is held by nobody', () => {
    const message = make.message('w1')
    const outcome: Outcome = { type: 'rejected', ...refusal }
    const result = { task: 'send', attempt: 1, outcome } as const
    const answer = plan(
      [settlement(message, result, { token: null })],
      stateOf(message, { token: null }),
    )
    expect(answer.counted).toEqual([false])
    expect(answer.entries).toEqual([])
  })
})

describe('a message that stays as it was', () => {
  const late: Receipt = { ...delivered, status: 'sent' }

  it.each<[string, Settlement['result'], Partial<MessageRow>, number]>([
    ['asked to be canceled too late', { task: 'cancel' }, { status: 'sent', accepted: true }, 0],
    ['asked to be canceled while it is being sent', { task: 'cancel' }, {}, 0],
    [
      'told an older status',
      { task: 'callback', receipts: [late] },
      { status: 'delivered', accepted: true, provider: 'carrier', provider_message_id: 'P1' },
      1,
    ],
  ])('is not written: %s', (_, result, given, noted) => {
    const message = make.message('w1', given)
    const answer = plan([settlement(message, result)], stateOf(message))
    expect(answer).toMatchObject({ messages: [], counts: [], events: [], entries: [] })
    expect(answer.message_events).toHaveLength(noted)
  })

  it('is not written beside one that changes', () => {
    const [kept, canceled] = [make.message('w1', { status: 'sent' }), make.message('w1')]
    const state = stateOf(canceled, { token: null })
    state.messages.set(kept.id, kept)
    const cancel = { task: 'cancel' } as const
    const answer = plan([settlement(kept, cancel), settlement(canceled, cancel)], state)
    expect(answer.counted).toEqual([false, true])
    expect(answer.messages.map(({ id }) => id)).toEqual([canceled.id])
  })
})
