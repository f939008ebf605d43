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

function queuedRow(message: MessageRow, overrides: Partial<MessageQueueRow> = {}): MessageQueueRow {
  return {
    message_id: message.id,
    workspace_id: message.workspace_id,
    channel: message.channel,
    task: 'send',
    due_at: AT,
    set_at: AT,
    token: 'mine',
    attempt: 1,
    is_bulk: false,
    held_by: null,
    unknown_since: null,
    ...overrides,
  }
}

function stateOf(message: MessageRow, overrides: Partial<MessageQueueRow> = {}): SettleState {
  return {
    messages: new Map([[message.id, message]]),
    queue: new Map([[message.id, queuedRow(message, overrides)]]),
    subscribers: new Map(),
    accounts: new Map([['w1', { ...newAccount('w1'), seq: 1 }]]),
    attempts: new Map(),
    parts: new Map(),
    entries_about: new Map(),
  }
}

function settlement(
  message: MessageRow,
  result: Settlement['result'],
  overrides: Partial<Settlement> = {},
): Settlement {
  return {
    workspace_id: 'w1',
    message_id: message.id,
    token: 'mine',
    provider: 'carrier',
    abilities: { idempotent: false, lookup: false },
    result,
    at: AT,
    ...overrides,
  }
}

function plan(settlements: Settlement[], state: SettleState, chance = 0): SettlePlan {
  return planSettle(settlements, state, { newId: runtime.id, random: () => chance })
}

/** The wait of the only requeued row. */
function waitOf({ requeue }: SettlePlan): number {
  const [row] = requeue
  if (!row || requeue.length > 1) throw new Error(`expected one, got ${requeue.length}`)
  return row.due_at.getTime() - AT.getTime()
}

describe('the wait before a retry', () => {
  it.each([
    [1, 1 * SECOND],
    [2, 2 * SECOND],
    [5, 16 * SECOND],
    [9, 256 * SECOND],
    [10, 5 * MINUTE],
    [40, 5 * MINUTE],
  ])('after attempt %d is at most %d ms', (attempt, most) => {
    const message = make.message('w1')
    const outcome: Outcome = { type: 'retry', ...refusal, delay_ms: null }
    const result = { task: 'send', attempt, outcome } as const
    expect(waitOf(plan([settlement(message, result)], stateOf(message), 0))).toBe(0)
    expect(waitOf(plan([settlement(message, result)], stateOf(message), 1))).toBe(most)
  })

  it.each([
    ['that delay', 90 * SECOND, 90 * SECOND],
    ['at least a second', 0, SECOND],
    ['at least a second, also when negative', -HOUR, SECOND],
    ['at most a day', 40 * HOUR, 24 * HOUR],
  ])('for a delay of the provider is %s', (_, delay_ms, wait) => {
    const message = make.message('w1', { channel: 'email' })
    const outcome: Outcome = { type: 'retry', ...refusal, delay_ms }
    const result = { task: 'send', attempt: 1, outcome } as const
    expect(waitOf(plan([settlement(message, result)], stateOf(message), 1))).toBe(wait)
  })
})

describe('the wait before the next look-up', () => {
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
    const lookup = settlement(message, { task: 'lookup', found: { type: 'unavailable' } })
    const answer = plan([lookup], state)
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
    const lookup = settlement(message, { task: 'lookup', found: { type: 'unavailable' } })
    expect(waitOf(plan([lookup], stateOf(message, { task: 'lookup' })))).toBe(wait)
  })

  it.each([
    [72 * HOUR - 1, 1],
    [72 * HOUR, 0],
  ])('of a message that stays sent for %d ms leads to %d more', (age, more) => {
    const sent_at = new Date(AT.getTime() - age)
    const message = make.message('w1', { status: 'sent', accepted: true, sent_at })
    const receipts: Receipt[] = [{ ...delivered, status: 'sent' }]
    const found: LookupResult = { type: 'found', receipts, replies: [], lookup_after_ms: MINUTE }
    const state = stateOf(message, { task: 'lookup' })
    const answer = plan([settlement(message, { task: 'lookup', found })], state)
    expect(answer.requeue).toHaveLength(more)
    expect(answer.dequeue).toHaveLength(1 - more)
    // A later callback still counts.
    const late = {
      ...settlement(message, { task: 'callback', receipts: [delivered] }),
      token: null,
    }
    expect(plan([late], stateOf(message)).messages).toMatchObject([{ status: 'delivered' }])
  })

  it('ends with the age of the message', () => {
    const created_at = new Date(AT.getTime() - 4 * HOUR)
    const message = make.message('w1', { status: 'sent', accepted: true, created_at })
    const lookup = settlement(message, { task: 'lookup', found: { type: 'unavailable' } })
    const answer = plan([lookup], stateOf(message, { task: 'lookup' }))
    expect(answer).toMatchObject({ counted: [true], requeue: [], dequeue: [message.id] })
  })
})

it.each([
  ['with an unknown outcome', 'queued', { unknown_since: new Date(AT.getTime() - 96 * HOUR) }],
  ['that was sent', 'sent', {}],
] as const)(
  'a look-up that did not begin concludes nothing about a message %s',
  (_, status, row) => {
    const created_at = new Date(AT.getTime() - 96 * HOUR)
    const fields = status === 'sent' ? { status, accepted: true, sent_at: created_at } : {}
    const message = make.message('w1', { created_at, ...fields })
    const state = stateOf(message, { task: 'lookup', ...row })
    const answer = plan(
      [settlement(message, { task: 'lookup', found: { type: 'not_begun' } })],
      state,
    )
    expect(answer).toMatchObject({
      counted: [true],
      dequeue: [],
      requeue: [{ task: 'lookup', ...row }],
    })
    expect(waitOf(answer)).toBe(2 * SECOND)
  },
)

describe('an unknown outcome', () => {
  const ambiguous: Outcome = { type: 'ambiguous', ...refusal }
  const result = { task: 'send', attempt: 1, outcome: ambiguous } as const

  it.each([
    ['at most ten minutes', 10 * MINUTE, 'queued'],
    ['more than ten minutes', 10 * MINUTE + 1, 'failed'],
  ])('of %s', (_, age, status) => {
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
    // A delay past the deadline ends with one more try.
    [3 * HOUR, 24 * HOUR, 'queued', HOUR],
    [4 * HOUR, 30 * SECOND, 'queued', SECOND],
    [4 * HOUR + 1, 30 * SECOND, 'failed', null],
  ])(
    'of a provider that rejects every repetition for %d ms and requests a delay of %d ms',
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
  ])('without a successful look-up: with %j for %d ms', (abilities, age, status) => {
    const since = new Date(AT.getTime() - age)
    const message = make.message('w1', { created_at: since })
    const lookup = settlement(
      message,
      { task: 'lookup', found: { type: 'unavailable' } },
      { abilities },
    )
    const answer = plan([lookup], stateOf(message, { task: 'lookup', unknown_since: since }))
    expect((answer.messages[0] ?? message).status).toBe(status)
  })

  it.each([
    ['looks it up first', { idempotent: true, lookup: true }, 'lookup', 2 * SECOND],
    ['sends it again if that is safe', { idempotent: true, lookup: false }, 'send', SECOND],
    ['waits for a report otherwise', { idempotent: false, lookup: false }, 'lookup', 10 * MINUTE],
  ])('%s', (_, abilities, task, wait_ms) => {
    const message = make.message('w1')
    const answer = plan([settlement(message, result, { abilities })], stateOf(message), 1)
    expect(answer.requeue).toMatchObject([{ task, unknown_since: AT, token: null }])
    expect(waitOf(answer)).toBe(wait_ms)
  })

  it('keeps its `unknown_since`', () => {
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
    never_accepted: true,
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

  it.each(['lookup', 'send'] as const)(
    'ends the unknown outcome that another claim noted: %s',
    (task) => {
      const message = make.message('w1')
      const state = stateOf(message, { task, token: null, unknown_since })
      expect(plan([settlement(message, result)], state)).toMatchObject({
        counted: [true],
        attempts: [{ number: 1, outcome: 'retry' }],
        requeue: [{ task: 'send', unknown_since: null, due_at: AT, token: null }],
      })
    },
  )

  it.each<[string, Partial<MessageQueueRow>]>([
    ['the message was sent again since', { token: null, unknown_since, attempt: 2 }],
    ['another claim sends it again', { token: 'theirs', unknown_since, attempt: 2 }],
    ['the outcome is not unknown', { token: null, unknown_since: null }],
  ])('changes nothing when %s', (_, queue) => {
    const message = make.message('w1')
    const answer = plan([settlement(message, result)], stateOf(message, queue))
    expect(answer).toMatchObject({ counted: [false], attempts: [], requeue: [], messages: [] })
  })
})

describe('an attempt that no provider accepted, after its claim was lost', () => {
  const busy = { type: 'retry', ...refusal, delay_ms: 0 } as const
  const result = { task: 'send', attempt: 1, outcome: busy, never_accepted: true } as const
  const interrupted = {
    task: 'send',
    attempt: 1,
    outcome: { type: 'ambiguous', error_code: 'interrupted', error_message: 'Stopped' },
  } as const

  it.each(['send', 'lookup'] as const)(
    'ends the claim that holds the message for it: %s',
    (task) => {
      const message = make.message('w1')
      for (const unknown_since of [null, new Date(AT.getTime() - MINUTE)]) {
        const state = stateOf(message, { token: 'theirs', task, unknown_since })
        expect(plan([settlement(message, result)], state)).toMatchObject({
          counted: [true],
          attempts: [{ number: 1, outcome: 'retry' }],
          requeue: [{ task: 'send', unknown_since: null, due_at: AT, token: null }],
        })
      }
    },
  )

  it('is known in the same write as the interruption, in either order', () => {
    const message = make.message('w1')
    const mine = settlement(message, result)
    const theirs = settlement(message, interrupted, { token: 'theirs' })
    for (const both of [
      [mine, theirs],
      [theirs, mine],
    ]) {
      const answer = plan(both, stateOf(message, { token: 'theirs' }))
      expect(answer.requeue).toMatchObject([{ task: 'send', unknown_since: null, token: null }])
      expect(answer.dequeue).toEqual([])
      expect(answer.messages.filter(({ status }) => status !== 'queued')).toEqual([])
    }
  })

  it('waits as long as the provider asked', () => {
    const message = make.message('w1')
    const outcome = { ...busy, delay_ms: 30_000 }
    const state = stateOf(message, { token: 'theirs' })
    const due_at = new Date(AT.getTime() + 30_000)
    expect(plan([settlement(message, { ...result, outcome })], state).requeue).toMatchObject([
      { due_at },
    ])
  })

  it('changes nothing once a part was sent or the message ended', () => {
    const sent = { ...make.message('w1'), status: 'sent' as const }
    const refused = { ...make.message('w1'), accepted: true }
    for (const message of [sent, refused]) {
      const answer = plan([settlement(message, result)], stateOf(message, { token: 'theirs' }))
      expect(answer).toMatchObject({ counted: [false], requeue: [] })
    }
  })
})

describe('a late acceptance of a mail to several', () => {
  const recipient = (address: string) =>
    ({ address, role: 'to', status: 'queued', accepted: false, ...refusal }) as const
  const rejected = { address: 'b@example.com', type: 'rejected', ...refusal } as const

  it.each([
    ['a newer attempt that is in flight', { token: 'other', attempt: 2 }, 'queued'],
    ['a newer attempt whose outcome is known or not', { token: null, attempt: 2 }, 'queued'],
    ['no newer attempt', { token: null, attempt: 1 }, 'failed'],
  ])('decides about a rejected recipient after %s', (_, row, status) => {
    const recipients = [recipient('a@example.com'), recipient('b@example.com')]
    const message = make.message('w1', { channel: 'email', recipients })
    const outcome: Outcome = {
      type: 'accepted',
      provider_message_id: 'P1',
      lookup_after_ms: null,
      recipients: [rejected],
    }
    const result = { task: 'send', attempt: 1, outcome } as const
    const { messages } = plan([settlement(message, result)], stateOf(message, row))
    expect(messages[0]?.recipients?.map((one) => one.status)).toEqual(['sent', status])
    expect(messages[0]?.credits_refunded).toBe(status === 'failed' ? message.credits_used / 2 : 0)
  })
})

describe('several settlements of one message in one write', () => {
  const rejected = { task: 'send', attempt: 1, outcome: { type: 'rejected', ...refusal } } as const
  const callback = { task: 'callback', receipts: [delivered] } as const

  const both = (message: MessageRow, first: Settlement['result'], second: Settlement['result']) =>
    plan([settlement(message, first), settlement(message, second)], stateOf(message))

  it('apply in order: a delivered message is not refunded', () => {
    const message = make.message('w1')
    const answer = both(message, { ...callback, receipts: [delivered] }, rejected)
    expect(answer.counted).toEqual([true, true])
    expect(answer.messages).toMatchObject([{ status: 'delivered', accepted: true, sequence: 1 }])
    expect(answer.entries).toEqual([])
    expect(answer.dequeue).toEqual([message.id])
  })

  it('apply in order: a refunded message is not delivered', () => {
    const message = make.message('w1')
    const answer = both(message, rejected, { ...callback, receipts: [delivered] })
    expect(answer.messages).toMatchObject([{ status: 'failed', accepted: false, sequence: 1 }])
    expect(answer.entries).toMatchObject([{ kind: 'refund', amount: SMS_PRICE, seq: 2 }])
    expect(answer.message_events).toMatchObject([
      { status: 'failed', applied: true },
      { status: 'delivered', applied: false },
    ])
  })

  it('end the claim: its second result does not count', () => {
    const message = make.message('w1')
    const answer = both(message, rejected, rejected)
    expect(answer.counted).toEqual([true, false])
    expect(answer.entries).toHaveLength(1)
    expect(answer.dequeue).toEqual([message.id])
  })

  it('do not change the state', () => {
    const message = Object.freeze(make.message('w1'))
    const state = stateOf(message)
    const before = structuredClone([...state.accounts])
    both(message, rejected, { ...callback, receipts: [delivered] })
    expect(message.status).toBe('queued')
    expect([...state.accounts]).toEqual(before)
  })
})

describe('a settlement that does not count', () => {
  it('plans nothing for an unknown message or one of another workspace', () => {
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

  it('has no token: no claim holds a row without a token', () => {
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

describe('an unchanged message', () => {
  const late: Receipt = { ...delivered, status: 'sent' }

  it.each<[string, Settlement['result'], Partial<MessageRow>, number]>([
    ['canceled too late', { task: 'cancel' }, { status: 'sent', accepted: true }, 0],
    ['canceled while it is sent', { task: 'cancel' }, {}, 0],
    [
      'an older status',
      { task: 'callback', receipts: [late] },
      { status: 'delivered', accepted: true, provider: 'carrier', provider_message_id: 'P1' },
      1,
    ],
  ])('is not written: %s', (_, result, overrides, noted) => {
    const message = make.message('w1', overrides)
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
