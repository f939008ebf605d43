import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type Units, units } from '../contract/fields/units.ts'
import { burn, expiring, type Lot } from './lots.ts'

const DAY_MS = 86_400_000

function lot(id: string, remaining: number, day: number, granted_seq = 1): Lot {
  return { id, remaining: units(remaining), granted_seq, expires_at: new Date(day * DAY_MS) }
}

const left = (lots: readonly Lot[]) =>
  Object.fromEntries(lots.map((each) => [each.id, each.remaining]))
const total = (lots: readonly Lot[]) => lots.reduce((sum, { remaining }) => sum + remaining, 0)

describe('burn', () => {
  const late = lot('late', 10, 9, 1)
  const soon = lot('soon', 10, 5, 7)
  const older = lot('older', 10, 5, 3)

  it.each([
    [0, { older: 10, soon: 10, late: 10 }],
    [4, { older: 6, soon: 10, late: 10 }],
    [10, { older: 0, soon: 10, late: 10 }],
    [15, { older: 0, soon: 5, late: 10 }],
    [29, { older: 0, soon: 0, late: 1 }],
    [99, { older: 0, soon: 0, late: 0 }],
  ])(
    'takes %d off the lot that expires first, then off the one granted first',
    (spent, expected) => {
      const counted = burn([late, soon, older], units(spent))
      expect(counted.map(({ id }) => id)).toEqual(['older', 'soon', 'late'])
      expect(left(counted)).toEqual(expected)
    },
  )

  it('returns a lot from which it takes nothing itself, so that no row is written for it', () => {
    const [first, second] = [lot('a', 5, 1), lot('b', 5, 2)]
    const counted = burn([second, first], units(3))
    expect(counted[0]).toEqual({ ...first, remaining: 2 })
    expect(counted[1]).toBe(second)
  })

  it('does not change its argument', () => {
    const lots = Object.freeze([Object.freeze(lot('a', 10, 1))])
    burn(lots, units(3))
    expect(left(lots)).toEqual({ a: 10 })
  })
})

it.each([
  [10, 50, 10],
  [10, 4, 4],
  [10, 0, 0],
  [10, -3, 0],
  [0, 50, 0],
])('with %d remaining in a lot and %d available, %d expires', (remaining, available, expected) => {
  expect(expiring({ remaining: units(remaining) }, units(available))).toBe(expected)
})

const lots = fc
  .array(fc.record({ remaining: fc.nat(50), day: fc.nat(4), seq: fc.nat(5) }), { maxLength: 8 })
  .map((drafts) => drafts.map(({ remaining, day, seq }, i) => lot(`${i}`, remaining, day, seq)))

describe('any lots', () => {
  it('have the same count in steps and at once', () => {
    fc.assert(
      fc.property(lots, fc.array(fc.nat(60), { maxLength: 5 }), (open, spent) => {
        const once = spent.reduce((sum, each) => sum + each, 0)
        const steps = spent.reduce(
          (counted, each) => burn(counted, units(each)),
          burn(open, units(0)),
        )
        expect(burn(open, units(once))).toEqual(steps)
      }),
    )
  })

  it('lose exactly the consumed credits, in order, and never go below zero', () => {
    fc.assert(
      fc.property(lots, fc.nat(500), (open, spent) => {
        const counted = burn(open, units(spent))
        expect(total(open) - total(counted)).toBe(Math.min(total(open), spent))
        const before = new Map(open.map(({ id, remaining }) => [id, remaining]))
        const touched = counted.map(({ id, remaining }) => remaining < (before.get(id) ?? 0))
        const lastTouched = touched.lastIndexOf(true)
        for (const each of counted.slice(0, Math.max(0, lastTouched)))
          expect(each.remaining).toBe(0)
        const key = ({ expires_at, granted_seq }: Lot) => expires_at.getTime() * 10 + granted_seq
        const keys = counted.map(key)
        expect(keys).toEqual([...keys].sort((a, b) => a - b))
      }),
    )
  })

  /** The events of a workspace: lots are counted only when one begins or ends; a refund is of one send. */
  const happening = fc.oneof(
    fc.record({
      do: fc.constant('grant' as const),
      amount: fc.integer({ min: 1, max: 40 }),
      days: fc.integer({ min: 1, max: 5 }),
    }),
    fc.record({ do: fc.constant('buy' as const), amount: fc.integer({ min: 1, max: 40 }) }),
    fc.record({ do: fc.constant('send' as const), amount: fc.integer({ min: 1, max: 20 }) }),
    fc.record({ do: fc.constant('refund' as const), which: fc.nat(20) }),
    fc.record({ do: fc.constant('wait' as const), days: fc.integer({ min: 1, max: 3 }) }),
  )

  it('expire at most the rest that per-send accounting would leave', () => {
    const step = fc.oneof(
      fc.record({ do: fc.constant('grant' as const), amount: fc.integer({ min: 1, max: 40 }) }),
      fc.record({ do: fc.constant('send' as const), amount: fc.integer({ min: 1, max: 60 }) }),
      fc.record({ do: fc.constant('refund' as const), which: fc.nat(8) }),
    )
    fc.assert(
      fc.property(fc.array(step, { maxLength: 40 }), (history) => {
        let open: Lot[] = []
        let uncounted = 0
        let since = 0
        /** The credits in the lots if each send took from them at once and each refund returned them. */
        let held = 0
        const sends: { seq: number; amount: number; taken: number }[] = []
        history.forEach((event, i) => {
          const seq = i + 1
          if (event.do === 'grant') {
            open = [...burn(open, units(uncounted)), lot(`${seq}`, event.amount, 9, seq)]
            uncounted = 0
            since = seq
            held += event.amount
          } else if (event.do === 'send') {
            const taken = Math.min(event.amount, held)
            sends.push({ seq, amount: event.amount, taken })
            uncounted += event.amount
            held -= taken
          } else {
            const [sent] = sends.splice(event.which, 1)
            if (sent && sent.seq > since) uncounted -= sent.amount
            held += sent?.taken ?? 0
          }
        })
        expect(total(burn(open, units(uncounted)))).toBeLessThanOrEqual(held)
      }),
      { numRuns: 300 },
    )
  })

  it('never expire more than was granted or is available', () => {
    fc.assert(
      fc.property(fc.array(happening, { maxLength: 60 }), (history) => {
        let open: Lot[] = []
        let balance = 0
        let day = 0
        let uncounted = 0
        let granted = 0
        let expired = 0
        let since = 0
        const sends: { seq: number; amount: number }[] = []
        const count = (seq: number) => {
          open = burn(open, units(uncounted))
          uncounted = 0
          since = seq
        }
        history.forEach((event, i) => {
          const seq = i + 1
          if (event.do === 'wait') {
            day += event.days
            const due = open.filter(({ expires_at }) => expires_at.getTime() <= day * DAY_MS)
            if (due.length > 0) count(seq)
            for (const { id } of due) {
              const ended = open.find((each) => each.id === id) as Lot
              const amount = expiring(ended, balance as Units)
              expect(amount).toBeLessThanOrEqual(balance)
              balance -= amount
              expired += amount
              open = open.filter((each) => each !== ended)
            }
          } else if (event.do === 'grant') {
            count(seq)
            open.push(lot(`${seq}`, event.amount, day + event.days, seq))
            balance += event.amount
            granted += event.amount
          } else if (event.do === 'buy') balance += event.amount
          else if (event.do === 'send') {
            const amount = Math.min(event.amount, balance)
            balance -= amount
            uncounted += amount
            if (amount > 0) sends.push({ seq, amount })
          } else {
            const [sent] = sends.splice(event.which, 1)
            balance += sent?.amount ?? 0
            if (sent && sent.seq > since) uncounted -= sent.amount
          }
          expect(uncounted).toBeGreaterThanOrEqual(0)
          expect(expired + total(open)).toBeLessThanOrEqual(granted)
          expect(balance).toBeGreaterThanOrEqual(0)
        })
      }),
      { numRuns: 300 },
    )
  })
})
