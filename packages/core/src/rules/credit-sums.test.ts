import { describe, expect, it } from 'vitest'
import { units } from '../contract/fields/units.ts'
import { type CausedEntry, joinedCauses, sumsOf } from './credit-sums.ts'

const entry = (over: Partial<CausedEntry>): CausedEntry => ({
  seq: 1,
  kind: 'send',
  amount: units(-10),
  held_delta: units(0),
  channel: 'sms',
  created_at: new Date('1970-01-03T23:59:59.999Z'),
  api_key_id: 'k1',
  bulk_id: null,
  broadcast_id: null,
  ...over,
})

describe('sumsOf', () => {
  it('adds entries of one day, kind, channel and key', () => {
    const { days, causes } = sumsOf([
      entry({}),
      entry({ amount: units(-5) }),
      entry({ created_at: new Date('1970-01-04T00:00:00.000Z') }),
      entry({ channel: 'email' }),
      entry({ api_key_id: 'k2' }),
      entry({ kind: 'grant', amount: units(100), channel: null, api_key_id: null }),
    ])
    const one = { kind: 'send', channel: 'sms', api_key_id: 'k1', held_delta: 0 }
    expect(days).toEqual([
      { ...one, day: 2, kind: 'grant', channel: '', api_key_id: '', count: 1, amount: 100 },
      { ...one, day: 2, channel: 'email', count: 1, amount: -10 },
      { ...one, day: 2, count: 2, amount: -15 },
      { ...one, day: 2, api_key_id: 'k2', count: 1, amount: -10 },
      { ...one, day: 3, count: 1, amount: -10 },
    ])
    expect(causes).toEqual([])
  })

  it('puts the debit of a bulk and its refunds together, and the bulks of a broadcast', () => {
    const refund = { kind: 'refund', amount: units(10) } as const
    const { causes } = sumsOf([
      entry({ bulk_id: 'b1', amount: units(-30) }),
      entry({ bulk_id: 'b1', ...refund }),
      entry({ bulk_id: 'b1', ...refund }),
      entry({ bulk_id: 'b2', broadcast_id: 'x', amount: units(-1) }),
      entry({ bulk_id: 'b3', broadcast_id: 'x', amount: units(-2) }),
    ])
    const shared = { day: 2, channel: 'sms', api_key_id: 'k1' }
    expect(causes).toEqual([
      { ...shared, cause_type: 'bulk', cause_id: 'b1', spent: 30, refunded: 20, refunds: 2 },
      { ...shared, cause_type: 'broadcast', cause_id: 'x', spent: 3, refunded: 0, refunds: 0 },
    ])
    expect(joinedCauses([...causes, ...causes])).toMatchObject([
      { cause_id: 'b1', spent: 60, refunded: 40, refunds: 4 },
      { cause_id: 'x', spent: 6 },
    ])
  })

  it('counts what a hold reserves as spent, until it ends', () => {
    const call = { bulk_id: 'b1', channel: 'voice' }
    const entries = [
      entry({ ...call, kind: 'hold', amount: units(0), held_delta: units(50) }),
      entry({ ...call, kind: 'settle', amount: units(-20), held_delta: units(-20) }),
      entry({ ...call, kind: 'void', amount: units(0), held_delta: units(-30) }),
    ]
    const spent = [1, 2, 3].map((count) => sumsOf(entries.slice(0, count)).causes[0]?.spent)
    expect(spent).toEqual([50, 50, 20])
    expect(sumsOf(entries).causes).toMatchObject([{ refunded: 0, refunds: 0 }])
  })
})
