import { describe, expect, it } from 'vitest'
import type { ProviderAnswer } from '../http-client.ts'
import { acceptedAs, outcomeOf, UnsuccessfulCall } from './outcome.ts'

const NOW_MS = Date.UTC(2026, 0, 1)
const SID = `SM${'0a'.repeat(16)}`

const outcome = (answer: ProviderAnswer) => outcomeOf(new UnsuccessfulCall(answer), NOW_MS)

function answered(
  status: number,
  json: unknown,
  headers: Record<string, string> = {},
): ProviderAnswer {
  return { type: 'answered', status, headers, body: JSON.stringify(json) ?? '', json }
}

function refused(status: number, code: number): ProviderAnswer {
  const message = `canary +15557770001 ${code}`
  return answered(status, { code, message, more_info: 'https://canary.example', status })
}

const rejected = (error_code: string) => ({ type: 'rejected', error_code })
const retry = (error_code: string, misconfigured?: 'provider' | 'sender') => ({
  type: 'retry',
  error_code,
  misconfigured,
})

// Source: Twilio, Error and Warning Dictionary.
const TABLE: [codes: number[], status: number, expected: object][] = [
  [[20429], 429, retry('rate_limited')],
  [[20003], 401, retry('provider_unauthorized', 'provider')],
  [[20003], 403, retry('provider_unauthorized', 'provider')],
  [[20005, 30002], 400, retry('account_blocked', 'provider')],
  [[21211, 21614, 21265], 400, rejected('invalid_recipient')],
  [[21612, 21214], 400, rejected('unroutable')],
  [[21212, 21606, 21659, 21660, 21661], 400, retry('sender_invalid', 'sender')],
  [[21408, 21215], 400, rejected('region_not_enabled')],
  [[21608, 21219], 400, rejected('trial_account')],
  [[21610], 400, { ...rejected('opted_out'), suppress: 'opt_out' }],
  [[21617, 21658, 32018], 400, rejected('content_too_long')],
  [[21602], 400, rejected('invalid_content')],
  [[30001, 30022, 30023, 63018], 400, retry('rate_limited')],
  [[30003], 400, rejected('unreachable')],
  [[30004], 400, rejected('recipient_blocked')],
  [[30005], 400, rejected('invalid_recipient')],
  [[30006], 400, rejected('landline')],
  [[30007], 400, rejected('filtered')],
  [[30010], 400, rejected('price_too_high')],
  [[30019], 400, rejected('content_too_long')],
  [[30008, 30024, 30453, 63032, 63049], 400, rejected('undelivered')],
  [[30032, 30034], 400, retry('sender_restricted', 'sender')],
  [[30036], 400, rejected('expired')],
  [[63016], 400, rejected('outside_window')],
  [[63003, 63024], 400, rejected('invalid_recipient')],
  [[21609], 400, retry('provider_misconfigured', 'provider')],
  [[21655], 400, rejected('template_unknown')],
  [[21656], 400, rejected('invalid_template_variables')],
  [[63007, 21701], 400, retry('sender_invalid', 'sender')],
]

describe('the outcome of a code', () => {
  const rows = TABLE.flatMap(([codes, status, expected]) =>
    codes.map((code) => [code, status, expected] as const),
  )

  it.each(rows)('%i at HTTP %i', (code, status, expected) => {
    const found = outcome(refused(status, code))
    expect({ misconfigured: undefined, ...found }).toMatchObject(expected)
    expect(JSON.stringify(found)).not.toMatch(/canary|\+1555/)
    if (found.type === 'accepted') throw new Error('the refusal counts as acceptance')
    expect(found.error_message).toMatch(new RegExp(`^twilio:${code} [A-Z]`))
  })

  it('counts an unknown code by its HTTP status', () => {
    expect(outcome(refused(400, 99_999))).toEqual({
      type: 'rejected',
      error_code: 'provider_rejected',
      error_message: 'twilio:99999 HTTP 400',
    })
    const unknown = { type: 'ambiguous', error_message: 'twilio:99999 HTTP 500' }
    expect(outcome(refused(500, 99_999))).toMatchObject(unknown)
  })

  it('counts the code of a refusal at HTTP 500 and 503, but not from a gateway', () => {
    expect(outcome(refused(503, 21_730))).toMatchObject({
      type: 'retry',
      error_code: 'provider_unavailable',
    })
    expect(outcome(refused(500, 21_211))).toMatchObject(rejected('invalid_recipient'))
    expect(outcome(refused(502, 21_730))).toMatchObject({ type: 'ambiguous' })
  })
})

describe('the outcome of an HTTP status', () => {
  it.each([
    [301, retry('provider_misconfigured', 'provider')],
    [307, retry('provider_misconfigured', 'provider')],
    [400, rejected('provider_rejected')],
    [401, retry('provider_unauthorized', 'provider')],
    [403, retry('provider_unauthorized', 'provider')],
    [404, retry('provider_misconfigured', 'provider')],
    [405, retry('provider_misconfigured', 'provider')],
    [408, retry('provider_unavailable')],
    [409, retry('provider_unavailable')],
    [410, retry('provider_misconfigured', 'provider')],
    [413, rejected('provider_rejected')],
    [422, rejected('provider_rejected')],
    [425, retry('provider_unavailable')],
    [429, retry('rate_limited')],
    [500, { type: 'ambiguous' }],
    [501, { type: 'ambiguous' }],
    [502, { type: 'ambiguous' }],
    [503, { type: 'ambiguous' }],
    [504, { type: 'ambiguous' }],
  ])('reads %i without a code', (status, expected) => {
    const bodies = [undefined, 'x', [], null, { code: '' }, { code: {} }, { code: -1 }]
    for (const body of bodies) {
      const found = outcome(answered(status, body))
      expect({ misconfigured: undefined, ...found }).toMatchObject(expected)
    }
  })

  it.each([
    ['7', 7_000],
    ['Thu, 01 Jan 2026 00:00:30 GMT', 30_000],
    ['-3', null],
    ['soon', null],
    ['1000000000', 86_400_000],
  ])('reads the Retry-After %s of a 429', (header, delay_ms) => {
    const answer = answered(429, { code: 20_429 }, { 'retry-after': header })
    expect(outcome(answer)).toMatchObject({ type: 'retry', delay_ms })
  })
})

describe('a success', () => {
  it('is accepted and looked up later', () => {
    expect(acceptedAs(SID, 300_000)).toEqual({
      type: 'accepted',
      provider_message_id: SID,
      lookup_after_ms: 300_000,
    })
  })

  it.each([undefined, null, 7, {}, 'SMx', `${SID}\n`])(
    'is ambiguous if its id is %j, which is not one of Twilio',
    (sid) => {
      expect(acceptedAs(sid, 300_000)).toMatchObject({ type: 'ambiguous' })
    },
  )

  it('is ambiguous if the package cannot read it', () => {
    const error = new TypeError("Cannot read properties of null (reading 'body')")
    expect(outcomeOf(error, NOW_MS)).toEqual({
      type: 'ambiguous',
      error_code: 'no_answer',
      error_message: 'twilio: The answer cannot be read',
    })
  })
})

describe('a call without an answer', () => {
  const failure = { code: 'connect_refused', text: 'The connection was refused' } as const

  it('is a retry if the request was not sent', () => {
    expect(outcome({ type: 'not_sent', ...failure })).toEqual({
      type: 'retry',
      error_code: 'provider_unreachable',
      error_message: 'twilio: The connection was refused',
      delay_ms: null,
    })
  })

  it('is ambiguous if the request was written', () => {
    expect(outcome({ type: 'unanswered', ...failure })).toMatchObject({ type: 'ambiguous' })
  })
})
