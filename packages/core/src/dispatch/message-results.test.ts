import { describe, expect, it } from 'vitest'
import { AT, accepted, busy, claimed, laneParts } from '../../test/dispatch/lane-parts.ts'
import type { Outcome } from '../contract/outside/provider.ts'
import type { StoredRecipient } from '../rows/messages.ts'
import type { ClaimedMessage } from '../rules/claim.ts'
import {
  abilitiesOf,
  FILE_MISSING,
  isNotAccepted,
  NOT_BEGUN,
  NOT_CALLED,
  type Result,
  repliesIn,
  reportAttempts,
  type SendResult,
  sendResult,
  settleMessages,
  UNANSWERED,
  UNVERIFIED,
} from './message-results.ts'
import type { Routing } from './routing.ts'

const routing = { senderOf: (provider: string) => `number of ${provider}` } as unknown as Routing

// Only an attempt that no provider has a part of may be sent again after its claim was lost.
it.each<[string, Outcome, Partial<ClaimedMessage>, object]>([
  [
    'that a provider accepted',
    { type: 'accepted', provider_message_id: 'A1', lookup_after_ms: null },
    {},
    {},
  ],
  ['to be tried again', busy, {}, { never_accepted: true }],
  ['after an unknown one', busy, { unknown_since: AT }, {}],
  ['that went out in part', { ...busy, partial: true }, {}, {}],
  ['without an answer', UNANSWERED, {}, {}],
  ['without a call', NOT_CALLED, {}, { never_accepted: true, by_service: true }],
  ['of an unverified domain', UNVERIFIED, {}, { by_service: true }],
])('the result of an attempt %s', (_, outcome, fields, more) => {
  expect(sendResult(routing, claimed(fields), outcome)).toEqual({
    task: 'send',
    attempt: 3,
    outcome,
    sender: 'ACME',
    ...more,
  })
})

it('an attempt that its provider did not begin counts as not made', () => {
  const result = sendResult(routing, claimed(), { ...busy, not_begun: true })
  expect(result).toMatchObject({ outcome: NOT_BEGUN, never_accepted: true, by_service: true })
  const begun = { ...busy, not_begun: true, partial: true } as const
  expect(sendResult(routing, claimed(), begun)).toMatchObject({ outcome: begun })
})

it('the result of an e-mail with several recipients names those who opted out', () => {
  const recipients: StoredRecipient[] = []
  const rejected = {
    address: 'b@x.example',
    type: 'rejected',
    error_code: 'no',
    error_message: 'No',
  } as const
  const message = claimed({ channel: 'email', recipients, left_out: ['c@x.example'] })
  const result = sendResult(routing, message, { ...busy, recipients: [rejected] })
  const optedOut = { address: 'c@x.example', type: 'rejected', error_code: 'suppressed' }
  expect(result.outcome.recipients).toMatchObject([rejected, optedOut])
  expect(result).not.toHaveProperty('never_accepted')
  expect(sendResult(routing, message, NOT_CALLED).outcome).toEqual(NOT_CALLED)
})

it.each<[string, Partial<ClaimedMessage>, string]>([
  ['of the claim', {}, 'ACME'],
  ['of the provider after an interruption', { interrupted: true }, 'number of a'],
  ['of the sandbox without a provider', { route: null }, 'number of sandbox'],
  ['of the last provider', { route: null, provider: 'b' }, 'number of b'],
  ['of the provider that is asked', { task: 'lookup', provider: 'b' }, 'number of b'],
])('a result has the sender %s', (_, fields, sender) => {
  expect(sendResult(routing, claimed(fields), busy).sender).toBe(sender)
})

it('a reply that a look-up found is from the recipient, about the message of its workspace', () => {
  const found = {
    type: 'found',
    receipts: [],
    replies: [{ provider_message_id: 'R1', text: 'STOP' }],
    lookup_after_ms: null,
  } as const
  const messages = [claimed(), claimed({ task: 'lookup', provider: 'b' })]
  expect(
    repliesIn(routing, messages, [
      { type: 'unavailable' },
      { ...found, replies: [...found.replies], receipts: [] },
    ]),
  ).toEqual([
    {
      type: 'received',
      channel: 'sms',
      provider_message_id: 'R1',
      sender: '+255700000001',
      recipient: 'number of b',
      content: { text: 'STOP', media: [] },
      about: { workspace_id: 'w1', livemode: true },
    },
  ])
  expect(repliesIn(routing, messages, [])).toEqual([])
})

it('the outcomes of the service are what a customer reads', () => {
  const text = ({ type, error_code, error_message }: Exclude<Outcome, { type: 'accepted' }>) =>
    `${type} ${error_code}: ${error_message}`
  const all = [UNANSWERED, NOT_CALLED, NOT_BEGUN, FILE_MISSING, UNVERIFIED]
  expect(all.map((outcome) => text(outcome as never))).toEqual([
    'ambiguous no_answer: The provider did not answer',
    'retry not_called: The provider was not called: sending was paused, or the service stood still for too long',
    'retry not_called: The provider was not called: it was paused, or its connections were in use',
    'rejected invalid_content: A file of the message is missing',
    'rejected sender_not_verified: The domain of from_address is not a verified sending domain of this workspace',
  ])
})

it('only an outcome to be tried again, of which nothing went out, is surely not accepted', () => {
  const outcomes = [busy, { ...busy, partial: true as const }, UNANSWERED, UNVERIFIED, accepted]
  expect(outcomes.map(isNotAccepted)).toEqual([true, false, false, false, false])
})

it('a provider that did not begin a request is no reason for another outcome', () => {
  const outcome = { ...UNANSWERED, not_begun: true } as Outcome
  expect(sendResult(routing, claimed(), outcome).outcome).toBe(outcome)
})

it('an e-mail without outcomes of recipients has those who opted out', () => {
  const message = claimed({ channel: 'email', recipients: [], left_out: ['c@x.example'] })
  expect(sendResult(routing, message, busy).outcome.recipients).toHaveLength(1)
})

it('a recipient who opted out after an attempt with an unknown outcome may have the e-mail', () => {
  const unknown_since = new Date()
  const left_out = ['c@x.example']
  const message = claimed({ channel: 'email', recipients: [], left_out, unknown_since })
  expect(sendResult(routing, message, busy).outcome.recipients).toMatchObject([
    { address: 'c@x.example', type: 'rejected', error_code: 'outcome_unknown' },
  ])
})

it('the sender is that of the provider if the claim chose none', () => {
  const route = { provider: null, wait_ms: 1, error_message: 'x' } as const
  expect(sendResult(routing, claimed({ route, provider: 'b' }), busy).sender).toBe('number of b')
  const lookup = claimed({ task: 'lookup', provider: 'a' })
  expect(sendResult(routing, lookup, busy).sender).toBe('number of a')
})

it('a provider has the abilities of its traits, and none if it is not known', () => {
  expect(abilitiesOf()).toEqual({ idempotent: false, lookup: false })
  expect(abilitiesOf({})).toEqual({ idempotent: false, lookup: false })
  expect(abilitiesOf({ idempotent: true })).toEqual({ idempotent: true, lookup: false })
  expect(abilitiesOf({ lookup: true })).toEqual({ idempotent: false, lookup: true })
})

describe('the results of a batch', () => {
  const sent = (outcome: Outcome): SendResult => ({
    task: 'send',
    attempt: 3,
    outcome,
    sender: 'ACME',
  })

  it('are stored with their tokens, except those of messages that are not sent now', async () => {
    const { parts, settled } = laneParts()
    const traits = new Map([['b', { idempotent: true, lookup: true }]])
    const route = { provider: null, wait_ms: 1, error_message: 'x' } as const
    const messages = [
      claimed(),
      claimed({ message_id: 'm2', suppressed: true }),
      claimed({ message_id: 'm3', route }),
      claimed({ message_id: 'm4', task: 'lookup', provider: 'b', route: null }),
    ]
    const results = messages.map(() => sent(busy))
    const routing = { ...parts.routing, traits } as unknown as Routing
    await settleMessages({ ...parts, routing }, messages, results)
    const none = { idempotent: false, lookup: false }
    expect(settled).toEqual(
      [
        { message_id: 'm1', token: 't1', provider: 'a', abilities: none },
        { message_id: 'm2', token: null, provider: 'a', abilities: none },
        { message_id: 'm3', token: null, provider: 'sandbox', abilities: none },
        {
          message_id: 'm4',
          token: 't1',
          provider: 'b',
          abilities: { idempotent: true, lookup: true },
        },
      ].map((one) => ({ ...one, workspace_id: 'w1', result: sent(busy), at: AT })),
    )
  })

  it('are logged without a recipient and a content, those of attempts only', async () => {
    const logged: unknown[] = []
    const { parts } = laneParts()
    const log = { ...parts.runtime.log, debug: (...line: unknown[]) => void logged.push(line) }
    const messages = [claimed(), claimed({ message_id: 'm2' }), claimed({ message_id: 'm3' })]
    const lookup = { task: 'lookup', result: { type: 'unavailable' } } as never as Result
    const runtime = { ...parts.runtime, log }
    await settleMessages({ ...parts, runtime }, messages, [sent(busy), sent(accepted), lookup])
    const fields = { workspace_id: 'w1', channel: 'sms', attempt: 3 }
    expect(logged).toEqual([
      [{ message_id: 'm1', ...fields, outcome: 'retry', error_code: 'busy' }, 'message.attempted'],
      [{ message_id: 'm2', ...fields, outcome: 'accepted' }, 'message.attempted'],
    ])
  })

  it('are stored in a span of their calls', async () => {
    const spans: unknown[] = []
    const { parts, settled } = laneParts()
    const tracing = {
      async settle(count: number, links: unknown[], store: () => Promise<void>) {
        spans.push([count, links])
        await store()
      },
    } as never
    const link = { name: 'a call' } as never
    await settleMessages({ ...parts, tracing }, [claimed()], [sent(busy)], [link])
    await settleMessages({ ...parts, tracing }, [claimed()], [sent(busy)])
    expect(spans).toEqual([
      [1, [link]],
      [1, []],
    ])
    expect(settled).toHaveLength(2)
  })

  it('count by channel and outcome, with the duration of the call', () => {
    const { parts } = laneParts()
    const counted: unknown[] = []
    const telemetry = { attempted: (...about: unknown[]) => void counted.push(about) } as never
    const runtime = { ...parts.runtime, telemetry }
    const took = { began_ms: 1, duration_ms: 20 } as never
    const messages = [claimed(), claimed({ channel: 'email' }), claimed()]
    const results = [sent(busy), sent(accepted)]
    const links = [{ name: 'a call' }]
    const tracing = {
      sent(...about: unknown[]) {
        counted.push(about)
        return links
      },
    } as never
    expect(reportAttempts({ runtime, tracing }, 'a', messages, results, took)).toBe(links)
    expect(counted).toEqual([
      ['a', 'sms', 'retry', 20],
      ['a', 'email', 'accepted', 20],
      ['a', messages, [busy, accepted], took],
    ])
    const quiet = { runtime: { ...runtime, telemetry: undefined } as never, tracing: null }
    expect(reportAttempts(quiet, 'a', messages, results, took)).toBeUndefined()
  })
})
