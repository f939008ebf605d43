import type { LookupResult, Outcome } from '../../src/contract/outside/provider.ts'
import type { MessageRow } from '../../src/rows/rows.ts'
import type { Settlement } from '../../src/rules/settlement.ts'
import { receipt } from './bench.ts'

/** What a settlement must lead to. */
export interface Expected {
  counted: boolean
  status: MessageRow['status']
  refunded: boolean
  /** The next claim and its delay, as minimum and maximum; null: no further claim. */
  next: null | { task: 'send' | 'lookup'; wait_ms: readonly [min: number, max: number] }
}

/** Where a message can stand when the result of its claim comes in. */
export const STATES = ['held', 'sent', 'delivered', 'failed', 'lost'] as const
export type State = (typeof STATES)[number]

export interface Case<Result> {
  result: Result
  abilities?: Settlement['abilities']
  expected: Record<State, Expected>
}

function then(task: 'send' | 'lookup', min: number, max = min): Expected['next'] {
  return { task, wait_ms: [min, max] }
}

function becomes(status: MessageRow['status'], next: Expected['next'] = null): Expected {
  return { counted: true, status, refunded: false, next }
}

const refunded: Expected = { counted: true, status: 'failed', refunded: true, next: null }

/** Another claim holds the message: nothing changes, and the next step belongs to that claim. */
const ignored: Expected = { counted: false, status: 'queued', refunded: false, next: null }

/** A callback has reported the status meanwhile, so the outcome of the attempt no longer counts. */
function unmoved(next: Expected['next'] = null) {
  return {
    sent: becomes('sent', next),
    delivered: becomes('delivered', next),
    failed: becomes('failed', next),
  }
}

/** A provider that reports by look-up is queried further, until the message failed. */
const lookedUpAgain = { ...unmoved(then('lookup', 2_000)), failed: becomes('failed') }

const refusal = { error_code: 'unroutable', error_message: 'No route' }
const accepted = { type: 'accepted', provider_message_id: 'P9' } as const
const ambiguous = { type: 'ambiguous', error_code: 'timeout', error_message: 'No answer' } as const

/** Every outcome of a send in every state. `failed` is a failure that a provider reported after it took the message. */
export const SENDS: Record<string, Case<Outcome>> = {
  accepted: {
    result: { ...accepted, lookup_after_ms: null },
    expected: { held: becomes('sent'), ...unmoved(), lost: becomes('sent') },
  },
  'accepted, to be looked up': {
    result: { ...accepted, lookup_after_ms: 5_000 },
    expected: {
      held: becomes('sent', then('lookup', 5_000)),
      ...unmoved(then('lookup', 5_000)),
      lost: becomes('sent'),
    },
  },
  rejected: {
    result: { type: 'rejected', ...refusal },
    expected: { held: refunded, ...unmoved(), lost: ignored },
  },
  retry: {
    result: { type: 'retry', ...refusal, delay_ms: null },
    expected: { held: becomes('queued', then('send', 0, 1_000)), ...unmoved(), lost: ignored },
  },
  'retry after a given delay': {
    result: { type: 'retry', ...refusal, delay_ms: 60_000 },
    expected: { held: becomes('queued', then('send', 60_000)), ...unmoved(), lost: ignored },
  },
  'ambiguous, and only a callback can report it': {
    result: ambiguous,
    expected: { held: becomes('queued', then('lookup', 600_000)), ...unmoved(), lost: ignored },
  },
  'ambiguous, and the provider has look-ups': {
    result: ambiguous,
    abilities: { idempotent: false, lookup: true },
    expected: { held: becomes('queued', then('lookup', 2_000)), ...lookedUpAgain, lost: ignored },
  },
  'ambiguous, and the provider has look-ups although sending again is harmless': {
    result: ambiguous,
    abilities: { idempotent: true, lookup: true },
    expected: { held: becomes('queued', then('lookup', 2_000)), ...lookedUpAgain, lost: ignored },
  },
  'ambiguous, and sending again is harmless': {
    result: ambiguous,
    abilities: { idempotent: true, lookup: false },
    expected: { held: becomes('queued', then('send', 0, 1_000)), ...unmoved(), lost: ignored },
  },
}

function found(
  receipts: ReturnType<typeof receipt>[],
  lookup_after_ms: number | null = null,
): LookupResult {
  return { type: 'found', receipts, replies: [], lookup_after_ms }
}

/**
 * Every answer to a look-up in every state. `held` is a message of which it is unknown whether the provider has it;
 * the others are being polled, `lost` is an unknown one whose lease ended.
 */
export const LOOKUPS: Record<string, Case<LookupResult>> = {
  'found, nothing new': {
    result: found([]),
    expected: { held: becomes('sent'), ...unmoved(), lost: becomes('sent') },
  },
  'found, more to come': {
    result: found([], 7_000),
    expected: {
      held: becomes('sent', then('lookup', 7_000)),
      ...unmoved(then('lookup', 7_000)),
      lost: becomes('sent'),
    },
  },
  'found delivered': {
    result: found([receipt('delivered')]),
    expected: {
      held: becomes('delivered'),
      sent: becomes('delivered'),
      delivered: becomes('delivered'),
      failed: becomes('delivered'),
      lost: becomes('delivered'),
    },
  },
  'found failed': {
    result: found([receipt('failed')]),
    expected: {
      held: becomes('failed'),
      sent: becomes('failed'),
      delivered: becomes('delivered'),
      failed: becomes('failed'),
      lost: becomes('failed'),
    },
  },
  'never seen': {
    result: { type: 'not_found' },
    expected: { held: becomes('queued', then('lookup', 2_000)), ...unmoved(), lost: ignored },
  },
  'no answer now': {
    result: { type: 'unavailable' },
    expected: {
      held: becomes('queued', then('lookup', 2_000)),
      // Waiting as long again as was waited since it was sent.
      ...unmoved(then('lookup', 5_000)),
      lost: ignored,
    },
  },
}
