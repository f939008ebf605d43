import { describe, expect, test } from 'vitest'
import { createStatusTable } from './status-table.ts'
import { type PartResult, partResult, verdictOf } from './verdict.ts'

const meaningOf = createStatusTable({ '0x400': 'opted_out' })
const ok = (message_id: string) => partResult({ status: 0, message_id }, 'as_is', meaningOf)
const no = (status: number) => partResult({ status, message_id: '' }, 'as_is', meaningOf)
const silence: PartResult = { type: 'unanswered', reason: 'no answer in time' }
const unwritten: PartResult = {
  type: 'unwritten',
  error_code: 'not_connected',
  reason: 'No connection to the SMSC is up',
}

function verdict(results: (PartResult | null)[], isLast = false) {
  return verdictOf('m', results, isLast)
}

describe('the verdict on one part', () => {
  test.each<[string, PartResult, object]>([
    ['accepted', ok('7'), { type: 'accepted', provider_message_id: '7', part_ids: ['7'] }],
    ['accepted without an id', ok(''), { type: 'accepted', provider_message_id: null }],
    ['no answer', silence, { type: 'ambiguous', error_code: 'no_answer' }],
    ['not written', unwritten, { type: 'retry', error_code: 'not_connected' }],
    ['throttled', no(0x58), { type: 'retry', error_code: 'rate_limited', delay_ms: 1000 }],
    ['queue full', no(0x14), { type: 'retry', delay_ms: null }],
    ['not bound', no(0x04), { type: 'retry', error_code: 'not_connected' }],
    ['the account', no(0x0e), { type: 'retry', misconfigured: 'provider' }],
    ['the sender', no(0x0a), { type: 'retry', misconfigured: 'sender' }],
    ['the recipient', no(0x0b), { type: 'rejected', error_code: 'invalid_recipient' }],
    ['opted out', no(0x400), { type: 'rejected', suppress: 'opt_out' }],
  ])('%s', (_title, result, expected) => {
    const { outcome, missing } = verdict([result])
    expect(outcome).toMatchObject(expected)
    expect(missing).toEqual([])
    if (outcome.type === 'retry' && !('misconfigured' in expected)) {
      expect(outcome.misconfigured).toBeUndefined()
    }
  })

  test('has no part_ids if the SMSC gave no id', () => {
    expect(verdict([ok('')]).outcome).not.toHaveProperty('part_ids')
    expect(verdict([ok('7'), ok('')]).outcome).toEqual({
      type: 'accepted',
      provider_message_id: '7',
      lookup_after_ms: null,
    })
  })
})

describe('the verdict on several parts', () => {
  test('has the first id and all ids if all were accepted', () => {
    expect(verdict([ok('7'), ok('8'), ok('9')])).toEqual({
      outcome: {
        type: 'accepted',
        provider_message_id: '7',
        lookup_after_ms: null,
        part_ids: ['7', '8', '9'],
      },
      missing: [],
    })
  })

  test.each<[string, (PartResult | null)[], object]>([
    ['the first was refused', [no(0x0b), null, null], { type: 'rejected' }],
    ['the first can be retried', [no(0x58), null], { type: 'retry' }],
    ['one is unanswered', [ok('7'), silence, no(0x0b)], { type: 'ambiguous' }],
    ['the first is unanswered', [silence, null], { type: 'ambiguous' }],
    ['another can be retried', [ok('7'), no(0x58), ok('9')], { type: 'retry', partial: true }],
    ['another was not written', [ok('7'), unwritten], { type: 'retry', partial: true }],
  ])('%s', (_title, results, outcome) => {
    expect(verdict(results)).toMatchObject({ outcome, missing: [] })
    expect('partial' in verdict(results).outcome).toBe('partial' in outcome)
  })

  test('is accepted, with failed receipts of the missing parts, if it will never be complete', () => {
    const { outcome, missing } = verdict([ok('7'), no(0x58), no(0x0b)])
    expect(outcome).toEqual({
      type: 'accepted',
      provider_message_id: '7',
      lookup_after_ms: null,
      part_ids: ['7', 'm.2', 'm.3'],
    })
    const error = {
      status: 'failed',
      error_code: 'invalid_recipient',
      error_message: expect.stringMatching(/^smpp:0x0b .* \(part [23] of 3\)$/),
    }
    expect(missing).toEqual([
      { ...error, provider_message_id: 'm.2' },
      { ...error, provider_message_id: 'm.3' },
    ])
  })

  test('has the retryable parts among the missing ones if there is no retry', () => {
    const { outcome, missing } = verdict([ok('7'), no(0x58), null], true)
    expect(outcome).toMatchObject({ type: 'accepted', part_ids: ['7', 'm.2', 'm.3'] })
    expect(missing).toMatchObject([{ error_code: 'rate_limited' }, { error_code: 'rate_limited' }])
    expect(verdict([ok('7'), null], true).missing).toMatchObject([{ error_code: 'not_connected' }])
  })

  test('suppresses an opted-out recipient with the missing part', () => {
    expect(verdict([ok('7'), no(0x400)]).missing).toMatchObject([{ suppress: 'opt_out' }])
  })
})
