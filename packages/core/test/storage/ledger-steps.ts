import fc from 'fast-check'
import { UNITS_MAX } from '../../src/contract/fields/units.ts'
import { ENTRY_KINDS } from '../../src/rows/credits.ts'
import type { Reported } from '../../src/rules/settlement.ts'

/** How many workspaces a history has. */
export const WORKSPACES = 3

/** What a message may cost: nothing, the least there is, crooked and plain sums, more than most have. */
const COSTS = [0, 1, 100_003, 500_000, 1_000_000, 7_000_000]

const workspace = fc.nat(WORKSPACES - 1)
/** Sometimes more than any account has; never so much that a later refund would exceed the cap. */
const amount = fc.oneof(
  { weight: 30, arbitrary: fc.constantFrom(1, 99_999, 1_000_000, 3_000_000, 20_000_000) },
  { weight: 1, arbitrary: fc.constantFrom(0, 2 * UNITS_MAX) },
)

/** One request to accept messages. */
const request = fc.record({
  workspace,
  costs: fc.array(fc.constantFrom(...COSTS), { minLength: 1, maxLength: 3 }),
  expires: fc.boolean(),
  /** Few keys and few bodies, so that they meet. */
  idempotency: fc.option(fc.record({ key: fc.nat(5), body: fc.nat(1) })),
})
export type RequestStep = ArbitraryOf<typeof request>

const acceptance = fc.record({
  do: fc.constant('accept' as const),
  requests: fc.array(request, { minLength: 1, maxLength: 4 }),
})
const posting = fc.record({
  do: fc.constant('post' as const),
  workspace,
  kind: fc.constantFrom('grant' as const, ...ENTRY_KINDS),
  amount,
  held: amount,
  sign: fc.constantFrom(-1, 1),
  part: fc.constantFrom('amount', 'held', 'both'),
  /** The wrong way round for its kind, once in a while. */
  wrong: fc.nat(15).map((n) => n === 0),
  /** Null for a fact that was not posted before. */
  fact: fc.option(fc.nat(3)),
})
export type PostStep = ArbitraryOf<typeof posting>

/** Requests that may run at the same moment. */
const call = fc.oneof({ weight: 3, arbitrary: acceptance }, { weight: 1, arbitrary: posting })
export type CallStep = ArbitraryOf<typeof call>

const step = fc.oneof(
  { weight: 8, arbitrary: acceptance },
  { weight: 5, arbitrary: posting },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant('together' as const),
      calls: fc.array(call, { minLength: 2, maxLength: 4 }),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant('break' as const),
      workspace,
      how: fc.constantFrom('same debit' as const, 'same message' as const),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('terms' as const),
      workspace,
      limit: fc.constantFrom(0, 0, 1, 5_000_000),
      frozen: fc.nat(3).map((n) => n === 0),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant('claim' as const),
      limit: fc.integer({ min: 1, max: 8 }),
    }),
  },
  {
    weight: 7,
    arbitrary: fc.record({
      do: fc.constant('settle' as const),
      of: fc.array(fc.record({ which: fc.nat(30), result: fc.nat(3) }), {
        minLength: 1,
        maxLength: 4,
      }),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('callback' as const),
      which: fc.nat(60),
      status: fc.constantFrom<Reported>('sent', 'delivered', 'read', 'failed'),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant('wait' as const),
      ms: fc.constantFrom(1, 1_000, 31_000, 600_000, 4 * 3_600_000),
    }),
  },
)
export type LedgerStep = ArbitraryOf<typeof step>

/** Histories of up to `max` steps. */
export function ledgerHistories(max: number): fc.Arbitrary<LedgerStep[]> {
  return fc.array(step, { minLength: 1, maxLength: max, size: 'max' })
}

type ArbitraryOf<A> = A extends fc.Arbitrary<infer T> ? T : never
