import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { builders, testRuntime } from '../../test/fixtures.ts'
import { units } from '../contract/fields/units.ts'
import type { Outcome, RecipientOutcome, RecipientReceipt } from '../contract/outside/provider.ts'
import type { StoredRecipient } from '../rows/messages.ts'
import { newAccount } from './decide.ts'
import { isAbout, isTo, newlyFailed, readRecipient } from './recipients.ts'
import { planSettle } from './settle.ts'
import type { SettledMessage, Settlement, SettleState } from './settlement.ts'

const PRICE = 100_000
const ADDRESSES = ['a@x.example', 'b@x.example', 'c@x.example', 'd@x.example']
const failure = { error_code: 'no', error_message: 'No' }

const RANK = { queued: 0, sent: 1, failed: 1, delivered: 2, read: 3 } as const

const listed = fc
  .uniqueArray(fc.constantFrom(...ADDRESSES), { maxLength: 4 })
  .chain((addresses) =>
    fc.tuple(
      ...addresses.map((address) =>
        fc
          .constantFrom('rejected', 'retry')
          .map((type): RecipientOutcome => ({ address, type, ...failure })),
      ),
    ),
  )
const outcome: fc.Arbitrary<Outcome> = fc
  .record({
    type: fc.constantFrom('accepted', 'rejected', 'retry', 'ambiguous'),
    recipients: listed,
  })
  .map(({ type, recipients }): Outcome => {
    if (type === 'accepted') {
      return { type, provider_message_id: null, lookup_after_ms: null, recipients }
    }
    if (type === 'retry') return { type, ...failure, delay_ms: null, recipients }
    return { type: type as 'rejected' | 'ambiguous', ...failure, recipients }
  })
const receipt: fc.Arbitrary<RecipientReceipt> = fc.record({
  addresses: fc.tuple(fc.constantFrom(...ADDRESSES, 'z@x.example')),
  status: fc.constantFrom('sent', 'delivered', 'failed'),
  error_code: fc.constant(null),
  error_message: fc.constant(null),
})
const result: fc.Arbitrary<Settlement['result']> = fc.oneof(
  {
    weight: 3,
    arbitrary: outcome.map((outcome) => ({ task: 'send', attempt: 1, outcome }) as const),
  },
  fc.array(receipt, { maxLength: 3 }).map((recipients) => ({
    task: 'callback' as const,
    receipts: [
      {
        status: 'sent' as const,
        provider_message_id: null,
        error_code: null,
        error_message: null,
        recipients,
      },
    ],
  })),
  fc.constantFrom('sent', 'delivered', 'failed').map((status) => ({
    task: 'callback' as const,
    receipts: [
      {
        status: status as 'sent',
        provider_message_id: null,
        error_code: null,
        error_message: null,
      },
    ],
  })),
  fc.constant({ task: 'cancel' } as const),
  fc.constant({ task: 'postponed', wait_ms: 1_000, error_message: 'No provider' } as const),
  fc.constant<Settlement['result']>({
    task: 'lookup',
    found: { type: 'found', receipts: [], replies: [], lookup_after_ms: null },
  }),
)

/** Whether the share of the recipient must go back. */
const isRejected = ({ status, accepted }: StoredRecipient) => status === 'failed' && !accepted

it('conserves the credits, refunds each share once, and moves each status forward', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 2, max: 4 }),
      fc.array(fc.tuple(result, fc.integer({ min: 0, max: 50 * 3_600_000 })), { maxLength: 8 }),
      (count, steps) => {
        const runtime = testRuntime('several')
        const none = {
          status: 'queued',
          accepted: false,
          error_code: null,
          error_message: null,
        } as const
        const recipients = ADDRESSES.slice(0, count).map(
          (address): StoredRecipient => ({ address, role: 'to', ...none }),
        )
        const row = builders(runtime).message('w1', {
          channel: 'email',
          recipient: 'a@x.example',
          recipients,
          credits_used: units(PRICE * count),
        })
        let message: SettledMessage = row
        let queue: SettleState['queue'] = new Map([
          [
            row.id,
            {
              message_id: row.id,
              workspace_id: 'w1',
              channel: 'email',
              task: 'send',
              due_at: runtime.now(),
              set_at: runtime.now(),
              token: null,
              attempt: 1,
              is_bulk: false,
              held_by: null,
              unknown_since: null,
            },
          ],
        ])
        let account = { ...newAccount('w1'), seq: 1 }
        const refunds: number[] = []
        for (const [one, wait_ms] of steps) {
          const at = runtime.advance(wait_ms)
          const queued = queue.get(row.id)
          const holds = one.task === 'send' || one.task === 'lookup'
          if (queued) queue = new Map([[row.id, { ...queued, token: holds ? 'mine' : null }]])
          const state: SettleState = {
            messages: new Map([[row.id, message]]),
            queue: new Map(queue),
            subscribers: new Map(),
            accounts: new Map([['w1', account]]),
            attempts: new Map(),
            parts: new Map(),
            entries_about: new Map(),
          }
          const before = message
          const plan = planSettle(
            [
              {
                workspace_id: 'w1',
                message_id: row.id,
                token: 'mine',
                provider: 'carrier',
                abilities: { idempotent: false, lookup: true },
                result: one,
                at,
              },
            ],
            state,
            { newId: runtime.id, random: () => 0 },
          )
          message = plan.messages[0] ?? message
          account = plan.accounts[0] ?? account
          if (plan.dequeue.length > 0) queue = new Map()
          for (const changed of plan.requeue) queue = new Map([[row.id, changed]])
          refunds.push(...plan.entries.map(({ amount }) => amount))
          expect(RANK[message.status]).toBeGreaterThanOrEqual(RANK[before.status])
          for (const [i, { status, accepted }] of (message.recipients ?? []).entries()) {
            const earlier = before.recipients?.[i] as StoredRecipient
            expect(RANK[status]).toBeGreaterThanOrEqual(RANK[earlier.status])
            if (isRejected(earlier)) expect([status, accepted]).toEqual(['failed', false])
          }
        }
        const all = message.recipients ?? []
        const isOver = all.every(({ status }) => status !== 'queued')
        const due = isOver ? all.filter(isRejected).length * PRICE : 0
        expect(refunds.length).toBeLessThanOrEqual(1)
        expect(refunds.reduce((sum, amount) => sum + amount, 0)).toBe(due)
        expect(message.credits_refunded).toBe(due)
        expect(account.balance).toBe(due)
        // A message waits exactly as long as one of its recipients.
        expect(message.status === 'queued').toBe(!isOver)
        if (isOver) {
          expect(message.status === 'failed').toBe(all.every(({ status }) => status === 'failed'))
        } else expect(queue.has(row.id)).toBe(true)
      },
    ),
    { numRuns: 500 },
  )
})

it('groups the recipients that failed with a step by their reason', () => {
  const stateOf = (reasons: (string | null)[]) =>
    reasons.map((error_code, i): StoredRecipient => {
      const status = error_code === null ? 'sent' : 'failed'
      const address = ADDRESSES[i] ?? ''
      return { address, role: 'to', status, accepted: true, error_code, error_message: null }
    })
  const before = stateOf([null, null, 'bounced', null])
  const after = stateOf(['bounced', 'full', 'bounced', 'bounced'])
  const addresses = newlyFailed(before, after).map((group) => group.map(({ address }) => address))
  expect(addresses).toEqual([[ADDRESSES[0], ADDRESSES[3]], [ADDRESSES[1]]])
})

// An erasure removes what is about one person, and nothing about another.
describe('the recipient of an erasure', () => {
  const phone = readRecipient('+255700000001')
  const mail = readRecipient('Asha@Example.com')

  it('is a phone number or an e-mail address', () => {
    expect(phone).toEqual({ kind: 'phone', address: '+255700000001' })
    expect(mail).toEqual({ kind: 'email', address: 'asha@example.com' })
    for (const text of ['', '255700000001', 'asha', 'asha@']) {
      expect(() => readRecipient(text)).toThrow('must be a phone number')
    }
  })

  it.each<[string, unknown, boolean]>([
    ['a phone number', '+255700000001', true],
    ['another number', '+255700000002', false],
    ['a number in another spelling', '255700000001', false],
    ['no text', undefined, false],
  ])('is the address: %s', (_, text, expected) => {
    expect(isTo(phone, text)).toBe(expected)
  })

  it.each<[string, unknown, boolean]>([
    ['an e-mail address in another case', 'ASHA@example.COM', true],
    ['another address', 'other@example.com', false],
    ['a phone number', '+255700000001', false],
    ['no text', null, false],
  ])('of an e-mail is the address: %s', (_, text, expected) => {
    expect(isTo(mail, text)).toBe(expected)
  })

  it.each([
    [phone, '+255700000001', true],
    [phone, '00255 700-000-001', true],
    [phone, '+255700000002', false],
    [phone, '+2557000000011', false],
    [phone, 'asha@example.com', false],
    [mail, 'Asha@Example.com', true],
    [mail, '"Asha" <ASHA@example.com>, other', true],
    [mail, 'other@example.com, asha@example.com;', true],
    [mail, 'Asha <masha@example.com>', false],
    [mail, 'asha@example.com.tz', false],
    [mail, '', false],
  ])('%j is named by %j: %s', (recipient, text, expected) => {
    expect(isAbout(recipient, text)).toBe(expected)
  })
})
