import { describe, expect, it } from 'vitest'
import { builders, SMS_PRICE, testRuntime } from '../../test/fixtures.ts'
import { units } from '../contract/fields/units.ts'
import type { BroadcastRow, MessageFileRow, MessageRow } from '../rows/rows.ts'
import {
  type AcceptState,
  broadcastKey,
  fileKey,
  idempotencyKeyOf,
  isLarge,
  planAccept,
  slicesOf,
  spendingKey,
  weightOf,
} from './accept.ts'
import { type Account, newAccount, type Operation } from './decide.ts'
import { suppressionKey } from './recipients.ts'
import { emptyCodeState } from './verify.ts'

const make = builders(testRuntime('accept'))

function state(overrides: Partial<Account> = {}): AcceptState {
  const account: Account = {
    ...newAccount('w1'),
    balance: units(3 * SMS_PRICE),
    seq: 7,
    ...overrides,
  }
  return {
    accounts: new Map([['w1', account]]),
    answers: new Map(),
    suppressed: new Set(),
    spent: new Map(),
    test_usage: new Map(),
    files: new Set(),
    codes: emptyCodeState(),
    broadcasts: new Map(),
  }
}

const NOTHING = {
  accounts: [],
  entries: [],
  holds: [],
  bulks: [],
  rejections: [],
  messages: [],
  files: [],
  counts: [],
  spending: [],
  test_usage: [],
  answers: [],
  verifications: [],
  verification_counts: [],
  verification_spending: [],
  broadcasts: [],
}

describe('planAccept', () => {
  it('writes an account once, as its last request leaves it', () => {
    const plan = planAccept([make.send('w1'), make.send('w1')], state())
    expect(plan.entries.map(({ seq }) => seq)).toEqual([8, 9])
    expect(plan.accounts).toMatchObject([{ workspace_id: 'w1', balance: SMS_PRICE, seq: 9 }])
  })

  it('writes nothing for a frozen account', () => {
    const answer = { route: 'r', key: 'k', request_hash: 'h', response: '{}' }
    const plan = planAccept([make.send('w1', {}, answer)], state({ status: 'frozen' }))
    expect(plan).toEqual({ ...NOTHING, results: [{ outcome: 'account_frozen' }] })
  })

  it('writes nothing for a request without enough credits', () => {
    const answer = { route: 'r', key: 'k', request_hash: 'h', response: '{}' }
    const plan = planAccept([make.send('w1', {}, answer)], state({ balance: units(1) }))
    expect(plan).toMatchObject({
      ...NOTHING,
      results: [{ outcome: 'insufficient_credits', required: SMS_PRICE, available: 1 }],
    })
  })

  it('writes nothing for a request over the daily limit of the workspace', () => {
    const limits = { balance: units(9 * SMS_PRICE), daily_limit: units(SMS_PRICE) }
    const plan = planAccept([make.send('w1'), make.send('w1')], state(limits))
    const of = { required: SMS_PRICE, limit: SMS_PRICE, spent: SMS_PRICE }
    expect(plan.results).toEqual([
      { outcome: 'accepted' },
      { outcome: 'daily_limit', of: 'workspace', ...of },
    ])
    expect(plan.messages).toHaveLength(1)
  })

  it('writes nothing for a request with a suppressed recipient', () => {
    const draft = { channel: 'email', recipient: 'Asha@example.com' } as const
    const of = { workspace_id: 'w1', channel: 'email', address: 'asha@example.com' } as const
    const suppressed = new Set([suppressionKey(of)])
    expect(planAccept([make.send('w1', draft)], { ...state(), suppressed })).toEqual({
      ...NOTHING,
      results: [{ outcome: 'suppressed', recipients: ['Asha@example.com'] }],
    })
  })

  describe('a step of a broadcast', () => {
    const NEXT = {
      ...{ cursor: 'c2', next_at: null, last_bulk_id: 'b1', contacts: 1, accepted: 1 },
      ...{ suppressed: 0, no_address: 0, rejected: 0, credits_used: units(SMS_PRICE) },
      departures: null,
      updated_at: new Date(0),
    }
    const step = { id: 'b', cursor: 'c1', next: NEXT }
    const stateOf = (status: BroadcastRow['status'], cursor: string): AcceptState => ({
      ...state(),
      broadcasts: new Map([[broadcastKey({ workspace_id: 'w1', id: 'b' }), { status, cursor }]]),
    })

    it('is written with its messages, once', () => {
      const requests = [1, 2].map(() => ({ ...make.send('w1'), broadcast: step }))
      const plan = planAccept(requests, stateOf('running', 'c1'))
      expect(plan.results).toEqual([{ outcome: 'accepted' }, { outcome: 'broadcast_moved' }])
      expect(plan.broadcasts).toEqual([{ workspace_id: 'w1', id: 'b', ...NEXT }])
      expect([plan.messages.length, plan.entries.length]).toEqual([1, 1])
    })

    it.each([
      ['that moved on', stateOf('running', 'c2')],
      ['that is paused', stateOf('paused', 'c1')],
      ['that is canceled', stateOf('canceled', 'c1')],
      ['that does not exist', state()],
    ])('writes nothing for a broadcast %s', (_, at) => {
      const plan = planAccept([{ ...make.send('w1'), broadcast: step }], at)
      expect(plan).toEqual({ ...NOTHING, results: [{ outcome: 'broadcast_moved' }] })
    })

    it('does not move without enough credits', () => {
      const at = { ...stateOf('running', 'c1'), accounts: state({ balance: units(1) }).accounts }
      const plan = planAccept([{ ...make.send('w1'), broadcast: step }], at)
      expect(plan).toMatchObject({ ...NOTHING, results: [{ outcome: 'insufficient_credits' }] })
    })
  })

  it('writes the spending of a key once, without the requests over its limit', () => {
    const spending = { api_key_id: 'k1', day: '2026-05-04', limit: units(4 * SMS_PRICE) }
    const requests = [1, 2, 3].map(() => ({ ...make.send('w1'), spending }))
    const spent = new Map([[spendingKey('w1', spending), units(2 * SMS_PRICE)]])
    const plan = planAccept(requests, { ...state(), spent })
    expect(plan.results.map(({ outcome }) => outcome)).toEqual([
      'accepted',
      'accepted',
      'daily_limit',
    ])
    expect(plan.messages).toHaveLength(2)
    expect(plan.entries).toHaveLength(2)
    expect(plan.spending).toEqual([
      { workspace_id: 'w1', api_key_id: 'k1', day: '2026-05-04', spent: 4 * SMS_PRICE },
    ])
    const counted = {
      workspace_id: 'w1',
      channel: 'sms',
      status: 'queued',
      count: 2,
      test_count: 0,
    }
    expect(plan.counts).toMatchObject([
      { ...counted, unit: 'all' },
      { ...counted, unit: 'day' },
      { ...counted, unit: 'hour' },
    ])
  })

  it.each([
    ['the same request', 'h', { outcome: 'replayed', response: '{"a":1}' }],
    ['another request', 'other', { outcome: 'key_reused' }],
  ])('answers a known key for %s without a debit', (_, request_hash, result) => {
    const answer = { route: 'r', key: 'k', request_hash: 'h', response: '{"a":1}' }
    const first = make.send('w1', {}, answer)
    const again = make.send('w1', {}, { ...answer, request_hash, response: '{"a":2}' })
    const plan = planAccept([first, again], state())
    expect(plan.results).toEqual([{ outcome: 'accepted' }, result])
    expect(plan.messages).toEqual(first.messages)
    expect([plan.entries.length, plan.answers.length]).toEqual([1, 1])
  })

  it('keeps the keys of workspaces and routes apart', () => {
    const answer = { route: 'r', key: 'k', request_hash: 'h', response: '{}' }
    const keys = [
      idempotencyKeyOf('w1', answer),
      idempotencyKeyOf('w2', answer),
      idempotencyKeyOf('w1', { ...answer, route: 's' }),
      idempotencyKeyOf('w1', { ...answer, key: 'l' }),
    ]
    expect(new Set(keys).size).toBe(keys.length)
  })

  it('accepts nothing of a request whose stored file is gone', () => {
    const file = { workspace_id: 'w1', sha256: 'a' } as MessageFileRow
    const request = { ...make.send('w1'), files: [file] }
    expect(planAccept([request], state())).toEqual({
      ...NOTHING,
      results: [{ outcome: 'file_gone' }],
    })
    const others = new Set([
      fileKey({ ...file, workspace_id: 'w2' }),
      fileKey({ ...file, sha256: 'b' }),
    ])
    expect(planAccept([request], { ...state(), files: others }).results).toEqual([
      { outcome: 'file_gone' },
    ])
    const files = new Set([fileKey(file)])
    expect(planAccept([request], { ...state(), files })).toMatchObject({
      results: [{ outcome: 'accepted' }],
      files: [file],
    })
  })

  it('holds the price of a call until its end can be reported no more', () => {
    const send = make.send('w1', { channel: 'voice' })
    const [call] = send.messages as [MessageRow]
    const debit = { ...send.debit, kind: 'hold', amount: units(0), held_delta: SMS_PRICE }
    const later = new Date(call.created_at.getTime() + 60_000)
    for (const [scheduled_at, begin] of [
      [null, call.created_at],
      [later, later],
    ] as const) {
      const messages = [{ ...call, scheduled_at }]
      const plan = planAccept([{ ...send, messages, debit: debit as Operation }], state())
      expect(plan.holds).toEqual([
        {
          workspace_id: 'w1',
          id: debit.id,
          message_id: call.id,
          n: 0,
          amount: SMS_PRICE,
          expires_at: new Date(begin.getTime() + 28 * 3_600_000),
          created_at: call.created_at,
        },
      ])
    }
  })

  it('keeps the answer with the time of the request', () => {
    const answer = { route: 'r', key: 'k', request_hash: 'h', response: '{"a":1}' }
    const request = make.send('w1', {}, answer)
    const plan = planAccept([request], state())
    const created_at = request.messages[0]?.created_at
    expect(plan.answers).toEqual([{ ...answer, workspace_id: 'w1', created_at }])
  })

  it('throws for a workspace without an account, and for a request without messages', () => {
    expect(() => planAccept([make.send('w2')], state())).toThrow('w2 has no credit account')
    const answer = { route: 'r', key: 'k', request_hash: 'h', response: '{}' }
    const request = make.send('w1', {}, answer)
    const empty = { ...request, debit: null, messages: [] }
    expect(() => planAccept([empty], state())).toThrow('a request without messages')
  })
})

// Between two slices the event loop does other work.
describe('the slices of a large write', () => {
  const half = 2 ** 18
  const long = (length: number) => make.message('w1', { content: { text: 'x'.repeat(length) } })
  const requestOf = (messages: number, rejections: number) => ({
    ...make.send('w1'),
    messages: Array(messages).fill(make.message('w1', { content: { text: '' } })),
    rejections: Array(rejections).fill({}),
  })

  it('weigh all texts of a message', () => {
    const content = { text: 'abc', media: [{ url: 'de' }], count: 7, none: null }
    const message = make.message('w1', { content: content as object, metadata: { key: 'fghi' } })
    expect(weightOf(message)).toBe(9)
  })

  it('are needed above a thousand rows or half a million characters', () => {
    expect(isLarge([])).toBe(false)
    expect(isLarge([requestOf(500, 200), requestOf(200, 100)])).toBe(false)
    expect(isLarge([requestOf(500, 200), requestOf(200, 101)])).toBe(true)
    const both = (last: number) =>
      [half, last].map((length) => ({ ...make.send('w1'), messages: [long(length)] }))
    expect(isLarge(both(half))).toBe(false)
    expect(isLarge(both(half + 1))).toBe(true)
  })

  it('have all rows in order, at most a thousand each, and at least one', () => {
    const rows = Array.from({ length: 2_500 }, (_, i) => i)
    const slices = slicesOf(rows)
    expect(slices.map(({ length }) => length)).toEqual([1_000, 1_000, 500])
    expect(slices.flat()).toEqual(rows)
    const weights = [half, half, 1, 3 * half, 1, half]
    expect(slicesOf(weights, (weight) => weight)).toEqual([
      [half, half],
      [1],
      [3 * half],
      [1, half],
    ])
    expect(slicesOf([])).toEqual([])
  })
})
