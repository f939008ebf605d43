import { expect, it } from 'vitest'
import { AT, busy, claimed } from '../../test/dispatch/lane-parts.ts'
import type { Outcome } from '../contract/outside/provider.ts'
import type { StoredRecipient } from '../rows/messages.ts'
import type { ClaimedMessage } from '../rules/claim.ts'
import {
  NOT_BEGUN,
  NOT_CALLED,
  repliesIn,
  sendResult,
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
