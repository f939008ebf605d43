import { describe, expect, it } from 'vitest'
import { builders, testRuntime } from '../../test/fixtures.ts'
import { units } from '../contract/fields/units.ts'
import type { Outcome, Receipt } from '../contract/outside/provider.ts'
import type { StoredRecipient } from '../rows/messages.ts'
import type { MessagePartRow, MessageQueueRow, MessageRow } from '../rows/rows.ts'
import { type Account, type Entry, newAccount } from './decide.ts'
import type { Subscriber } from './deliveries.ts'
import { planSettle } from './settle.ts'
import type { AttemptSummary, LookupAnswer, Settlement, SettlePlan } from './settlement.ts'
import { reportsOf } from './step.ts'

const runtime = testRuntime('settle-carrier')
const make = builders(runtime)
const AT = runtime.now()
const NUMBER = '+15005550006'
const MINUTE_MS = 60_000

const refusal = { error_code: 'busy', error_message: 'Busy' }
const accepted: Outcome = { type: 'accepted', provider_message_id: 'B1', lookup_after_ms: null }
const sent = (outcome: Outcome): Settlement['result'] => {
  return { task: 'send', attempt: 1, outcome, sender: NUMBER }
}
const reported = (overrides: Partial<Receipt>): Settlement['result'] => {
  const receipt: Receipt = {
    status: 'delivered',
    provider_message_id: 'A1',
    error_code: null,
    error_message: null,
    ...overrides,
  }
  return { task: 'callback', receipts: [receipt] }
}

/** The plan for a report of `provider` about a message in flight. */
function settled(
  message: MessageRow,
  provider: string,
  result: Settlement['result'],
  {
    token = 'mine' as string | null,
    attempts = [] as Omit<AttemptSummary, 'message_id'>[],
    parts = [] as MessagePartRow[],
    entries = [] as Entry[],
    account = {} as Partial<Account>,
    queue = {} as Partial<MessageQueueRow>,
    abilities = { idempotent: false, lookup: false },
    subscribers = [] as Subscriber[],
    isQueued = true,
  } = {},
): SettlePlan {
  const { workspace_id, id: message_id, channel } = message
  const queued: MessageQueueRow = {
    message_id,
    workspace_id,
    channel,
    task: 'send',
    due_at: AT,
    set_at: AT,
    token,
    attempt: 1,
    is_bulk: false,
    held_by: null,
    unknown_since: null,
    ...queue,
  }
  const settlement: Settlement = {
    workspace_id,
    message_id,
    token: 'mine',
    provider,
    abilities,
    result,
    at: AT,
  }
  const state = {
    messages: new Map([[message_id, message]]),
    queue: new Map(isQueued ? [[message_id, queued]] : []),
    subscribers: new Map([['w1', subscribers]]),
    accounts: new Map([['w1', { ...newAccount('w1'), seq: 1, ...account }]]),
    attempts: new Map([[message_id, attempts.map((one) => ({ ...one, message_id }))]]),
    parts: new Map([[message_id, parts]]),
    entries_about: new Map([[message_id, entries]]),
  }
  return planSettle([settlement], state, { newId: runtime.id, random: () => 0 })
}

describe('the conversation', () => {
  const ambiguous: Outcome = { type: 'ambiguous', ...refusal }
  const row = { workspace_id: 'w1', sender: NUMBER, address: '+14155552671' }

  it.each<[string, Outcome]>([
    ['was accepted', accepted],
    ['may have arrived', ambiguous],
  ])('is recorded for a message that %s', (_, outcome) => {
    const { conversations } = settled(make.message('w1'), 'b', sent(outcome))
    expect(conversations).toMatchObject([row])
  })

  it('is recorded for a message whose receipt came before an ambiguous outcome', () => {
    const message = make.message('w1', { status: 'delivered' })
    const { conversations } = settled(message, 'b', sent(ambiguous))
    expect(conversations).toMatchObject([row])
  })

  it.each<[string, Outcome]>([
    ['was refused', { type: 'rejected', ...refusal }],
    ['is to be tried again', { type: 'retry', ...refusal, delay_ms: null }],
  ])('is not recorded for a message that %s', (_, outcome) => {
    expect(settled(make.message('w1'), 'b', sent(outcome)).conversations).toEqual([])
  })

  it('is written once for each address, as the last message left it, in their order', () => {
    const [second, first, again] = ['+14155552672', '+14155552671', '+14155552672'].map(
      (recipient) => make.message('w1', { recipient }),
    ) as [MessageRow, MessageRow, MessageRow]
    const all = [second, first, again]
    const times = all.map((_, i) => new Date(AT.getTime() + i))
    const settlements = all.map(({ id: message_id }, i): Settlement => {
      const at = times[i] as Date
      const of = { workspace_id: 'w1', message_id, token: null, provider: 'a', at }
      return { ...of, abilities: { idempotent: false, lookup: false }, result: sent(accepted) }
    })
    const state = {
      messages: new Map(all.map((message) => [message.id, message])),
      queue: new Map(),
      subscribers: new Map(),
      accounts: new Map([['w1', newAccount('w1')]]),
      attempts: new Map(),
      parts: new Map(),
      entries_about: new Map(),
    }
    const plan = planSettle(settlements, state, { newId: runtime.id, random: () => 0 })
    expect(plan.conversations).toMatchObject([
      { address: first.recipient, last_sent_at: times[1] },
      { address: again.recipient, last_sent_at: times[2] },
    ])
  })

  it('is never recorded for a test key, which would get the answers to other workspaces', () => {
    const message = make.message('w1', { livemode: false })
    expect(settled(message, 'sandbox', sent(accepted)).conversations).toEqual([])
    expect(settled(message, 'sandbox', sent(ambiguous)).conversations).toEqual([])
  })
})

describe('the provider message id', () => {
  it('is replaced when another provider accepts the message', () => {
    const message = make.message('w1', {
      status: 'sent',
      accepted: true,
      provider: 'a',
      provider_message_id: 'A1',
    })
    const { messages } = settled(message, 'b', sent(accepted))
    expect(messages).toMatchObject([{ provider: 'b', provider_message_id: 'B1' }])
  })

  it('comes from the provider that reports the message, not from a later attempt', () => {
    const message = make.message('w1', { provider: 'b' })
    const { messages } = settled(message, 'a', reported({}), { token: null })
    expect(messages).toMatchObject([
      { status: 'delivered', provider: 'a', provider_message_id: 'A1' },
    ])
  })

  it('is not stored with the name of another provider', () => {
    const message = make.message('w1', { status: 'sent', accepted: true, provider: 'b' })
    const { messages } = settled(message, 'a', reported({}))
    expect(messages).toMatchObject([
      { status: 'delivered', provider: 'b', provider_message_id: null },
    ])
  })

  it('names only a part of its own provider: two providers may give the same id', () => {
    const message = make.message('w1', { status: 'sent', accepted: true, provider: 'b' })
    const part = (provider: string, attempt: number, number: number, id: string) => {
      const status = 'sent' as const
      const of = { workspace_id: 'w1', message_id: message.id, provider_message_id: id, status }
      return { ...of, provider, attempt, number, created_at: AT }
    }
    const parts = [part('a', 1, 1, '7'), part('b', 2, 1, '7'), part('b', 2, 2, '8')]
    const plan = settled(message, 'b', reported({ provider_message_id: '7' }), { parts })
    expect(plan.part_changes).toMatchObject([{ provider: 'b', attempt: 2, number: 1 }])
    expect(plan.messages.filter(({ status }) => status !== 'sent')).toEqual([])
  })
})

describe('a look-up that finds the message', () => {
  const found: LookupAnswer = { type: 'found', receipts: [], replies: [], lookup_after_ms: null }

  it.each([
    ['keeps the provider of a message that has one', 'b', 'b'],
    ['is of the provider of a message that has none', null, 'a'],
  ])('%s', (_, provider, after) => {
    const message = make.message('w1', { status: 'sent', provider })
    const { messages } = settled(message, 'a', { task: 'lookup', found })
    expect(messages).toMatchObject([{ status: 'sent', accepted: true, provider: after }])
  })
})

describe('a report on a part', () => {
  it.each([
    ['sent', []],
    ['delivered', [{ number: 1, status: 'delivered' }]],
    ['read', [{ number: 1, status: 'delivered' }]],
    ['failed', [{ number: 1, status: 'failed' }]],
  ] as const)('that it was %s changes %j', (status, changed) => {
    const message = make.message('w1', {
      ...{ channel: 'whatsapp', status: 'sent', accepted: true, provider: 'a' },
    })
    const of = { workspace_id: 'w1', message_id: message.id, provider: 'a', attempt: 1 }
    const part = { ...of, status: 'sent' as const, created_at: AT }
    const parts = [
      { ...part, number: 1, provider_message_id: 'A1' },
      { ...part, number: 2, provider_message_id: 'A2' },
    ]
    expect(settled(message, 'a', reported({ status }), { parts }).part_changes).toMatchObject(
      changed,
    )
  })
})

describe('a report without recipients on an e-mail with several', () => {
  const EARLIER = new Date(AT.getTime() - MINUTE_MS)
  const after = (before: StoredRecipient['status'][]) => {
    const recipients = before.map((status, i) => ({ ...to(`${i}@x.example`), status }))
    const of = { channel: 'email', recipients, provider: 'a', updated_at: EARLIER } as const
    return settled(make.message('w1', of), 'a', reported({}), { token: null })
  }

  it('concerns all of them while none has a result, otherwise those with one', () => {
    const statusesAfter = (...before: StoredRecipient['status'][]) =>
      after(before).messages[0]?.recipients?.map(({ status }) => status)
    expect(statusesAfter('queued', 'queued')).toEqual(['delivered', 'delivered'])
    expect(statusesAfter('queued', 'sent')).toEqual(['queued', 'delivered'])
  })

  it('is only noted if it changes none', () => {
    const plan = after(['queued', 'delivered'])
    expect(plan.message_events).toMatchObject([{ status: 'delivered', applied: false }])
    expect(plan.messages).toMatchObject([{ status: 'queued', updated_at: EARLIER }])
  })
})

// A server reports on all addresses to which it passed the mail on. RFC 3464, section 2.3.
describe('a report that names several recipients', () => {
  const failed = { status: 'failed', error_code: 'bounced', error_message: 'Gone' } as const
  const waits = { status: 'sent', error_code: null, error_message: null } as const
  const [own, other] = ['Asha@example.com', 'other@example.com']

  it.each<[string, Partial<Receipt>, object | null, number]>([
    [
      'fails the message that waits for another',
      {
        ...waits,
        recipients: [
          { addresses: [other], ...waits },
          { addresses: ['list@example.com', own], ...failed, suppress: 'bounce' },
        ],
      },
      failed,
      1,
    ],
    [
      'does not fail it for another',
      {
        ...failed,
        suppress: 'bounce',
        recipients: [
          { addresses: [other], ...failed, suppress: 'bounce' },
          { addresses: [own], ...failed, error_message: 'Full' },
        ],
      },
      { status: 'failed', error_message: 'Full' },
      0,
    ],
    [
      'does not fail the message that waits itself',
      {
        ...failed,
        recipients: [
          { addresses: [own], ...waits },
          { addresses: [other], ...failed, suppress: 'bounce' },
        ],
      },
      null,
      0,
    ],
    [
      'counts as a whole if it names only others',
      { ...failed, suppress: 'bounce', recipients: [{ addresses: [other], ...failed }] },
      failed,
      1,
    ],
  ])('%s', (_, report, expected, suppressed) => {
    const message = make.message('w1', {
      channel: 'email',
      recipient: 'asha@example.com',
      status: 'sent',
      accepted: true,
      provider: 'a',
    })
    const plan = settled(message, 'a', reported({ provider_message_id: null, ...report }))
    expect(plan.messages).toMatchObject(expected ? [expected] : [])
    expect(plan.suppressions).toHaveLength(suppressed)
  })
})

describe('a message that no provider can take now', () => {
  const postponed = { task: 'postponed', wait_ms: MINUTE_MS, error_message: 'Paused' } as const

  it('is due again when it expires, and does not fail before', () => {
    const expires_at = new Date(AT.getTime() + 1)
    const plan = settled(make.message('w1', { expires_at }), '', postponed, { token: null })
    expect(plan.requeue).toMatchObject([{ due_at: expires_at }])
    expect(plan.messages).toEqual([])
  })

  it.each([
    ['no longer than ten minutes', 10 * MINUTE_MS, 'queued', null],
    ['longer than ten minutes', 10 * MINUTE_MS + 1, 'failed', 'outcome_unknown'],
  ])('with an unknown outcome for %s', (_, age, status, error_code) => {
    const queue = { unknown_since: new Date(AT.getTime() - age) }
    const message = make.message('w1', { provider: 'a' })
    const plan = settled(message, '', postponed, { token: null, queue })
    const after = plan.messages[0] ?? message
    expect(after).toMatchObject({ status, error_code, credits_refunded: 0 })
    expect(plan.requeue).toHaveLength(status === 'queued' ? 1 : 0)
    expect(plan.entries).toEqual([])
  })

  it('with an unknown outcome for longer is kept for an idempotent provider', () => {
    const since = new Date(AT.getTime() - 11 * MINUTE_MS)
    const message = make.message('w1', { provider: 'a', created_at: since })
    const plan = settled(message, 'a', postponed, {
      token: null,
      queue: { unknown_since: since },
      abilities: { idempotent: true, lookup: false },
    })
    expect(plan.messages).toEqual([])
    expect(plan.requeue).toMatchObject([{ unknown_since: since }])
  })

  it('fails and is refunded when it expired', () => {
    const message = make.message('w1', { expires_at: AT })
    const plan = settled(message, '', postponed, { token: null })
    expect(plan.messages).toMatchObject([{ status: 'failed', error_code: 'expired' }])
    expect(plan.entries).toMatchObject([{ kind: 'refund' }])
  })
})

describe('a message that went out in part', () => {
  const partial: Outcome = { type: 'retry', ...refusal, delay_ms: null, partial: true }
  const begun = (overrides: Partial<MessageRow> = {}) =>
    make.message('w1', { accepted: true, provider: 'a', ...overrides })
  const postponed = { task: 'postponed', wait_ms: MINUTE_MS, error_message: 'Paused' } as const

  it('stays queued, accepted by its provider, and can be answered', () => {
    const plan = settled(make.message('w1'), 'a', sent(partial))
    expect(plan.messages).toMatchObject([{ status: 'queued', accepted: true, provider: 'a' }])
    expect(plan.requeue).toMatchObject([{ task: 'send', unknown_since: null }])
    expect(plan.conversations).toMatchObject([{ sender: NUMBER }])
  })

  it('is accepted also when the claim was lost', () => {
    const plan = settled(make.message('w1'), 'a', sent(partial), { token: 'another' })
    expect(plan.messages).toMatchObject([{ status: 'queued', accepted: true }])
    expect(plan).toMatchObject({ counted: [false], requeue: [], attempts: [] })
    const refunded = make.message('w1', { status: 'failed' })
    expect(settled(refunded, 'a', sent(partial), { token: null }).messages).toEqual([])
  })

  const gone = { expires_at: new Date(AT.getTime() - 1) }
  it.each<[string, Settlement['result'], Partial<MessageRow>, string | null, string]>([
    ['refused', sent({ type: 'rejected', ...refusal }), {}, 'mine', 'busy'],
    ['tried for too long', sent(partial), gone, 'mine', 'expired'],
    ['put off for too long', postponed, gone, null, 'expired'],
    ['suppressed', { task: 'suppressed' }, {}, null, 'suppressed'],
  ])('fails without a refund when the rest is %s', (_, result, overrides, token, error_code) => {
    const plan = settled(begun(overrides), 'a', result, { token })
    expect(plan.messages).toMatchObject([{ status: 'failed', error_code, credits_refunded: 0 }])
    expect(plan.entries).toEqual([])
    expect(plan.dequeue).toHaveLength(1)
  })

  it('cannot be canceled', () => {
    const plan = settled(begun(), '', { task: 'cancel' }, { token: null })
    expect(plan).toMatchObject({ counted: [false], messages: [], entries: [] })
  })
})

describe('the text of a refund', () => {
  it('says that it is of some recipients, if the others got the e-mail', () => {
    const recipients = [to('a@x.example'), to('b@x.example')]
    const message = make.message('w1', { channel: 'email', recipients })
    const rejection = { address: 'b@x.example', type: 'rejected', ...refusal } as const
    const plan = settled(message, 'a', sent({ ...accepted, recipients: [rejection] }))
    expect(plan.messages).toMatchObject([{ status: 'sent' }])
    const amount = message.credits_used / 2
    const description = 'Recipients that no provider accepted'
    expect(plan.entries).toMatchObject([{ kind: 'refund', amount, description }])
  })

  it('gives nothing back for a recipient who may have the e-mail', () => {
    const recipients = [to('a@x.example'), to('b@x.example')]
    const message = make.message('w1', { channel: 'email', recipients })
    const listed = [
      { address: 'a@x.example', type: 'rejected', ...refusal } as const,
      {
        address: 'b@x.example',
        type: 'rejected',
        ...refusal,
        error_code: 'outcome_unknown',
      } as const,
    ]
    const plan = settled(
      message,
      'a',
      sent({ type: 'retry', ...refusal, delay_ms: null, recipients: listed }),
    )
    expect(plan.messages).toMatchObject([
      { status: 'failed', accepted: true, recipients: [{ accepted: false }, { accepted: true }] },
    ])
    expect(plan.entries).toMatchObject([{ kind: 'refund', amount: message.credits_used / 2 }])
  })

  it('never gives back what was given back before', () => {
    const recipients = [to('a@x.example'), to('b@x.example')]
    const before = make.message('w1', { channel: 'email', recipients })
    const message = { ...before, credits_refunded: units(before.credits_used / 4) }
    const rejection = { address: 'b@x.example', type: 'rejected', ...refusal } as const
    const plan = settled(message, 'a', sent({ ...accepted, recipients: [rejection] }))
    expect(plan.entries).toMatchObject([{ kind: 'refund', amount: before.credits_used / 4 }])
    expect(plan.messages).toMatchObject([{ credits_refunded: before.credits_used / 2 }])
  })

  const canceled = { error_code: 'canceled', error_message: 'Canceled by the carrier' }
  const rejected = sent({ type: 'rejected', ...canceled })
  const recipients = [to('a@x.example'), to('b@x.example')]

  it.each<[string, Settlement['result'], string | null, string]>([
    ['a rejection with its code', rejected, 'mine', 'Failed before any provider accepted it'],
    ['a cancellation', { task: 'cancel' }, null, 'Canceled before it was sent'],
  ])('names a cancellation only for a cancellation: %s', (_, result, token, description) => {
    for (const message of [
      make.message('w1'),
      make.message('w1', { channel: 'email', recipients }),
    ]) {
      const plan = settled(message, 'a', result, { token })
      expect(plan.messages).toMatchObject([{ status: 'failed', error_code: 'canceled' }])
      expect(plan.entries).toMatchObject([
        { kind: 'refund', amount: message.credits_used, description },
      ])
    }
  })
})

describe('a message that its provider refused late', () => {
  const late = (overrides: Partial<Receipt> = {}): Settlement['result'] => {
    const receipt: Receipt = {
      status: 'failed',
      provider_message_id: null,
      ...refusal,
      ...overrides,
    }
    return { task: 'refused', receipt: { ...receipt, never_accepted: true } }
  }
  const doubtful = { task: 'lookup', unknown_since: new Date(AT.getTime() - MINUTE_MS) } as const
  const waiting = { token: null, queue: doubtful }

  it('fails and is refunded', () => {
    const message = make.message('w1', { provider: 'a' })
    const plan = settled(message, 'a', late({ suppress: 'opt_out' }), waiting)
    expect(plan.messages).toMatchObject([
      { status: 'failed', accepted: false, error_code: 'busy', error_message: 'Busy' },
    ])
    expect(plan.entries).toMatchObject([{ kind: 'refund', amount: message.credits_used }])
    expect(plan.dequeue).toEqual([message.id])
    expect(plan.suppressions).toMatchObject([{ reason: 'opt_out' }])
  })

  it('fails also when it waits for nothing any more', () => {
    const plan = settled(make.message('w1', { provider: 'a' }), 'a', late(), { isQueued: false })
    expect(plan.messages).toMatchObject([{ status: 'failed', accepted: false }])
    expect(plan.dequeue).toEqual([])
  })

  const first = { number: 1, provider: 'a', outcome: 'started' } as const
  const second = { ...first, number: 2 }

  it('fails also before its attempt is settled, and the attempt is rejected', () => {
    const plan = settled(make.message('w1'), 'a', late(), { attempts: [first] })
    expect(plan.messages).toMatchObject([{ status: 'failed', accepted: false, provider: 'a' }])
    expect(plan.entries).toHaveLength(1)
    expect(plan.dequeue).toHaveLength(1)
    expect(plan.attempts).toEqual([
      {
        workspace_id: 'w1',
        message_id: plan.messages[0]?.id,
        number: 1,
        outcome: 'rejected',
        provider_message_id: null,
        ...refusal,
        finished_at: AT,
      },
    ])
  })

  it('fails while a second attempt is in flight, if only that one can be meant', () => {
    const attempts = [{ ...first, provider: 'b', outcome: 'ambiguous' as const }, second]
    const message = make.message('w1', { provider: 'b' })
    const plan = settled(message, 'a', late(), { attempts, queue: { attempt: 2 } })
    expect(plan.messages).toMatchObject([{ status: 'failed', accepted: false, provider: 'a' }])
    expect(plan.attempts).toMatchObject([{ number: 2, outcome: 'rejected' }])
  })

  it.each([
    ['an earlier attempt', [{ ...first, outcome: 'ambiguous' as const }, second]],
    [
      'an attempt of another provider',
      [
        { ...first, outcome: 'ambiguous' as const },
        { ...second, provider: 'b' },
      ],
    ],
  ])('does not change while an attempt is in flight and %s may be meant', (_, attempts) => {
    const message = make.message('w1', { provider: 'a' })
    const plan = settled(message, 'a', late(), { attempts, queue: { attempt: 2 } })
    expect(plan).toMatchObject({ messages: [], entries: [], dequeue: [], attempts: [] })
    expect(plan.message_events).toMatchObject([{ status: 'failed', applied: false }])
  })

  it('does not change when two attempts have an unknown outcome', () => {
    const attempts = [first, second].map((one) => ({ ...one, outcome: 'ambiguous' as const }))
    const message = make.message('w1', { provider: 'a' })
    const plan = settled(message, 'a', late(), { ...waiting, attempts })
    expect(plan).toMatchObject({ messages: [], entries: [], dequeue: [], attempts: [] })
  })

  it('does not reject an attempt that is only looked up', () => {
    const attempts = [{ ...first, outcome: 'ambiguous' as const }]
    const plan = settled(make.message('w1', { provider: 'a' }), 'a', late(), {
      attempts,
      queue: doubtful,
    })
    expect(plan.messages).toMatchObject([{ status: 'failed', accepted: false }])
    expect(plan.attempts).toEqual([])
  })

  it.each<[string, Partial<MessageRow>, Partial<MessageQueueRow>]>([
    ['is sent by now', { status: 'sent', accepted: true, provider: 'a' }, doubtful],
    ['went out in part', { accepted: true, provider: 'a' }, doubtful],
    ['is with another provider', { provider: 'b' }, doubtful],
    ['failed and was refunded', { status: 'failed', provider: 'a' }, doubtful],
    ['is sent again after an unknown outcome', { provider: 'a' }, { ...doubtful, task: 'send' }],
  ])('does not change when it %s', (_, overrides, queue) => {
    const plan = settled(make.message('w1', overrides), 'a', late(), { token: null, queue })
    expect(plan).toMatchObject({ messages: [], entries: [], dequeue: [], requeue: [] })
    expect(plan.message_events).toMatchObject([{ status: 'failed', applied: false }])
  })
})

describe('the event of a change', () => {
  const subscribers: Subscriber[] = [
    { id: 'h1', workspace_id: 'w1', events: ['*'], mode: 'all', format: 'svc' },
  ]
  const dataOf = ({ events }: SettlePlan) => events.map(({ body }) => JSON.parse(body).data)

  it('has the message as it is now, without fields that it does not have', () => {
    const message = make.message('w1', { provider: 'a', metadata: { order: 'A1' } })
    const plan = settled(message, 'a', sent({ ...accepted, status: 'delivered' }), { subscribers })
    const data = {
      message_id: message.id,
      recipient: message.recipient,
      channel: 'sms',
      credits_used: 1,
      metadata: { order: 'A1' },
      bulk_id: null,
      livemode: true,
      provider_message_id: 'B1',
      error_code: null,
      error_message: null,
      occurred_at: AT.toISOString(),
    }
    expect(dataOf(plan)).toEqual([
      { ...data, status: 'sent', sequence: 1 },
      { ...data, status: 'delivered', sequence: 2 },
    ])
    expect(plan.events.map(({ event }) => event)).toEqual(['message.sent', 'message.delivered'])
  })

  it('has the tags and recipients of an e-mail, and the addresses that failed', () => {
    const tags = [{ name: 'kind', value: 'receipt' }]
    const recipients = [to('a@x.example'), to('b@x.example')]
    const message = make.message('w1', { channel: 'email', recipients, tags })
    const rejection = { address: 'b@x.example', type: 'rejected', ...refusal } as const
    const outcome = { ...accepted, recipients: [rejection] }
    const [whole, some] = dataOf(settled(message, 'a', sent(outcome), { subscribers }))
    expect(whole).toMatchObject({ status: 'sent', tags, error_code: null })
    expect(whole.recipients).toHaveLength(2)
    expect(whole).not.toHaveProperty('failed_recipients')
    expect(some).toMatchObject({ tags, failed_recipients: ['b@x.example'], error_code: 'busy' })
    expect(some.sequence).toBe(whole.sequence + 1)
  })

  it('has the duration of a call', () => {
    const message = make.message('w1', { channel: 'voice', status: 'sent', accepted: true })
    const ended = settled(message, 'a', reported({ duration_s: 70 }), { subscribers })
    expect(dataOf(ended)).toMatchObject([{ status: 'delivered', duration_s: 70 }])
    const plain = settled(message, 'a', reported({}), { subscribers })
    expect(dataOf(plain)[0]).not.toHaveProperty('duration_s')
  })
})

// Reports after an erasure may name the person again.
describe('a report about an erased message', () => {
  const erased = (overrides: Partial<MessageRow>) =>
    make.message('w1', { erased_at: AT, recipient: '', provider: 'a', ...overrides })
  const failure = { ...refusal, error_message: 'asha@example.com is unknown' }
  const bounce = { status: 'failed', ...failure, suppress: 'bounce' } as const

  it.each<[string, MessageRow, Settlement['result']]>([
    ['a rejection', erased({}), sent({ type: 'rejected', ...failure, suppress: 'bounce' })],
    ['an acceptance', erased({}), sent(accepted)],
    ['an unknown outcome', erased({}), sent({ type: 'ambiguous', ...failure })],
    ['a receipt', erased({ status: 'sent', accepted: true }), reported(bounce)],
    ['a late receipt', erased({ status: 'read', accepted: true }), reported(bounce)],
    [
      'a receipt about several recipients',
      erased({
        channel: 'email',
        status: 'sent',
        accepted: true,
        recipients: [
          { ...to(''), status: 'sent', accepted: true },
          { ...to(''), status: 'sent', accepted: true },
        ],
      }),
      reported(bounce),
    ],
  ])('stores no text, id or address of %s', (_, message, result) => {
    const plan = settled(message, 'a', result)
    expect(JSON.stringify(plan)).not.toContain('asha')
    expect(JSON.stringify(plan)).not.toMatch(/"[AB]1"/)
    expect(plan).toMatchObject({ suppressions: [], conversations: [] })
  })
})

describe('the history of a message', () => {
  it('has the applied statuses in their order, then the reports without effect', () => {
    const time = (ms: number) => new Date(AT.getTime() + ms)
    const none = { error_code: null, error_message: null }
    const report = (status: MessageRow['status'], applied: boolean, ms: number) =>
      ({ status, applied, ...refusal, at: time(ms) }) as const
    const rows = [
      report('failed', true, 4),
      report('sent', false, 1),
      report('queued', true, 2),
      report('delivered', true, 5),
    ]
    const message = { sent_at: time(3), delivered_at: time(5), read_at: null }
    expect(reportsOf(message, rows)).toEqual([
      report('queued', true, 2),
      { status: 'sent', applied: true, ...none, at: time(3) },
      report('failed', true, 4),
      report('delivered', true, 5),
      report('sent', false, 1),
    ])
    expect(reportsOf({ sent_at: null, delivered_at: null, read_at: null }, [])).toEqual([])
  })
})

describe('a read receipt', () => {
  it.each([
    ['whatsapp', ['delivered', 'read']],
    ['sms', ['delivered']],
    ['email', ['delivered']],
  ] as const)('on %s passes through %j', (channel, statuses) => {
    const message = make.message('w1', { channel, status: 'sent', accepted: true, provider: 'a' })
    const plan = settled(message, 'a', reported({ status: 'read' }))
    expect(plan.reached).toEqual(statuses.map((status) => ({ channel, status })))
    expect(plan.message_events).toEqual([])
    const read_at = channel === 'whatsapp' ? AT : null
    expect(plan.messages).toMatchObject([
      { status: statuses.at(-1), sent_at: null, delivered_at: AT, read_at, failed_at: null },
    ])
  })
})

describe('the duration of a call', () => {
  it('is stored with its charge, also if the call was reported as delivered before', () => {
    const price = units(6_000_000)
    const of = { channel: 'voice', status: 'delivered', accepted: true, provider: 'a' } as const
    const message = make.message('w1', { ...of, credits_used: price })
    const voice = { channel: 'voice', counter_account: 'revenue:voice' } as const
    const entries = [entryOf(message, { ...voice, held_delta: price })]
    const account = { balance: price, held: price }
    const settle = (duration_s: number, known: Partial<MessageRow> = {}) =>
      settled({ ...message, ...known }, 'a', reported({ duration_s }), { entries, account })
    const plan = settle(70)
    expect(plan.messages).toMatchObject([
      { status: 'delivered', duration_s: 70, credits_used: units(4_000_000), updated_at: AT },
    ])
    expect(plan.entries).toMatchObject([{ kind: 'settle', amount: units(-4_000_000) }])
    expect(plan.message_events).toMatchObject([{ status: 'delivered', applied: false }])
    // A later report neither charges the call again nor changes the duration.
    expect(settle(190, plan.messages[0])).toMatchObject({ messages: [], entries: [] })
  })
})

describe('a call with an expired hold', () => {
  const none = { amount: units(0), channel: 'voice', counter_account: 'revenue:voice' } as const
  const price = units(2_000_000)

  it.each<[string, Settlement['result']]>([
    ['rejected', sent({ type: 'rejected', ...refusal })],
    ['not answered', reported({ status: 'failed', duration_s: 0 })],
  ])('and %s costs nothing', (_, result) => {
    const message = make.message('w1', { channel: 'voice', credits_used: price })
    const hold = entryOf(message, { ...none, kind: 'hold', held_delta: price, seq: 1 })
    const ended = { ...none, kind: 'void', held_delta: units(-price), seq: 2 } as const
    const entries = [hold, entryOf(message, { ...ended, resolves: hold.id })]
    const plan = settled(message, 'a', result, { entries })
    expect(plan.messages).toMatchObject([{ status: 'failed', credits_used: 0 }])
    expect(plan.entries).toEqual([])
  })
})

function to(address: string): StoredRecipient {
  return {
    address,
    role: 'to',
    status: 'queued',
    accepted: false,
    error_code: null,
    error_message: null,
  }
}

function entryOf({ workspace_id, id: ref_id }: MessageRow, overrides: Partial<Entry>): Entry {
  return {
    id: runtime.id(),
    workspace_id,
    seq: 1,
    kind: 'hold',
    amount: units(0),
    held_delta: units(0),
    balance_after: units(0),
    held_after: units(0),
    counter_account: '',
    ref_type: 'message',
    ref_id,
    ref_n: 0,
    channel: null,
    quantity: null,
    unit_price: units(2_000_000),
    resolves: null,
    actor: null,
    description: null,
    created_at: AT,
    ...overrides,
  }
}
