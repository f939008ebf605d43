import { describe, expect, it } from 'vitest'
import { builders, SMS_PRICE, testRuntime } from '../../test/fixtures.ts'
import { units } from '../contract/fields/units.ts'
import { type AcceptState, planAccept, spendingKey } from './accept.ts'
import { type Account, newAccount } from './decide.ts'
import { suppressionKey } from './recipients.ts'

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

  it('writes nothing for a request with a suppressed recipient', () => {
    const draft = { channel: 'email', recipient: 'Asha@example.com' } as const
    const of = { workspace_id: 'w1', channel: 'email', address: 'asha@example.com' } as const
    const suppressed = new Set([suppressionKey(of)])
    expect(planAccept([make.send('w1', draft)], { ...state(), suppressed })).toEqual({
      ...NOTHING,
      results: [{ outcome: 'suppressed', recipients: ['Asha@example.com'] }],
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
