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

describe('of one part', () => {
  test.each<[string, PartResult, object]>([
    ['taken', ok('7'), { type: 'accepted', provider_message_id: '7', part_ids: ['7'] }],
    ['taken without an id', ok(''), { type: 'accepted', provider_message_id: null }],
    ['no answer', silence, { type: 'ambiguous', error_code: 'no_answer' }],
    ['not written', unwritten, { type: 'retry', error_code: 'not_connected' }],
    ['throttled', no(0x58), { type: 'retry', error_code: 'rate_limited', delay_ms: 1000 }],
    ['queue full', no(0x14), { type: 'retry', delay_ms: null }],
    ['not bound', no(0x04), { type: 'retry', error_code: 'not_connected' }],
    ['the account', no(0x0e), { type: 'retry', misconfigured: 'provider' }],
    ['the sender', no(0x0a), { type: 'retry', misconfigured: 'sender' }],
    ['the recipient', no(0x0b), { type: 'rejected', error_code: 'invalid_recipient' }],
    ['opted out', no(0x400), { type: 'rejected', suppress: 'opt_out' }],
  ])('%s', (_title, result, outcome) => {
    const { outcome: told, missing } = verdict([result])
    expect(told).toMatchObject(outcome)
    expect(missing).toEqual([])
    if (told.type === 'retry' && !('misconfigured' in outcome)) {
      expect(told.misconfigured).toBeUndefined()
    }
  })

  test('one without an id promises no receipts', () => {
    expect(verdict([ok('')]).outcome).not.toHaveProperty('part_ids')
    expect(verdict([ok('7'), ok('')]).outcome).toEqual({
      type: 'accepted',
      provider_message_id: '7',
      lookup_after_ms: null,
    })
  })
})

describe('of several', () => {
  test('all taken: the first id, and all of them', () => {
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
    ['the first may come later', [no(0x58), null], { type: 'retry' }],
    ['one is open', [ok('7'), silence, no(0x0b)], { type: 'ambiguous' }],
    ['the first is open', [silence, null], { type: 'ambiguous' }],
    ['another may come later', [ok('7'), no(0x58), ok('9')], { type: 'retry', partial: true }],
    ['another was not written', [ok('7'), unwritten], { type: 'retry', partial: true }],
  ])('%s', (_title, results, outcome) => {
    expect(verdict(results)).toMatchObject({ outcome, missing: [] })
    expect('partial' in verdict(results).outcome).toBe('partial' in outcome)
  })

  test('out in part, and never whole: accepted, and failed by what is missing', () => {
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

  test('where there is no other time, what might have come later is missing too', () => {
    const { outcome, missing } = verdict([ok('7'), no(0x58), null], true)
    expect(outcome).toMatchObject({ type: 'accepted', part_ids: ['7', 'm.2', 'm.3'] })
    expect(missing).toMatchObject([{ error_code: 'rate_limited' }, { error_code: 'rate_limited' }])
    expect(verdict([ok('7'), null], true).missing).toMatchObject([{ error_code: 'not_connected' }])
  })

  test('who wants no more is told with what is missing', () => {
    expect(verdict([ok('7'), no(0x400)]).missing).toMatchObject([{ suppress: 'opt_out' }])
  })
})
