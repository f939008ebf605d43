import { expect, test } from 'vitest'
import type { Outcome } from '../contract/outside/provider.ts'
import { createProviderRecord } from './provider-desk.ts'

const START_MS = Date.parse('2026-05-04T09:00:00Z')
const MINUTE_MS = 60_000

const unknown: Outcome = { type: 'ambiguous', error_code: 'timeout', error_message: 'No answer' }
const busy: Outcome = { type: 'retry', error_code: 'x', error_message: 'X', delay_ms: null }
const rejected: Outcome = { type: 'rejected', error_code: 'x', error_message: 'X' }
const accepted: Outcome = { type: 'accepted', provider_message_id: '1', lookup_after_ms: null }

test('the unknown outcomes since the last acceptance are kept beyond the period, until the provider takes or refuses a message', () => {
  let elapsed_ms = 0
  const record = createProviderRecord({
    now: () => new Date(START_MS + elapsed_ms),
    elapsed: () => elapsed_ms,
  })
  expect(record.of('gateway').unanswered).toBeNull()
  record.note('gateway', [accepted, unknown])
  elapsed_ms += MINUTE_MS
  record.note('gateway', [unknown, busy])
  record.note('other', [unknown, accepted])
  elapsed_ms += 60 * MINUTE_MS
  const since = new Date(START_MS)
  expect(record.of('gateway')).toMatchObject({ unknown: 0, unanswered: { count: 2, since } })
  expect(record.of('other').unanswered).toBeNull()
  for (const answer of [
    () => record.note('gateway', [accepted]),
    () => record.note('gateway', [rejected]),
    () => record.noteAnswer('gateway'),
  ]) {
    record.note('gateway', [unknown])
    expect(record.of('gateway').unanswered).not.toBeNull()
    answer()
    expect(record.of('gateway').unanswered).toBeNull()
  }
  record.noteAnswer('never called')
  expect(record.of('never called').unanswered).toBeNull()
})
