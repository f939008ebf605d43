import { describe, expect, it } from 'vitest'
import { callReceipt, messageReceipt, secondsOf } from './receipt.ts'

const SID = `SM${'1'.repeat(32)}`

describe('messageReceipt', () => {
  it.each([
    ['accepted', 'sent'],
    ['scheduled', 'sent'],
    ['queued', 'sent'],
    ['sending', 'sent'],
    ['sent', 'sent'],
    ['partially_delivered', 'sent'],
    ['delivered', 'delivered'],
    ['read', 'read'],
    ['a_word_of_tomorrow', 'sent'],
    ['constructor', 'sent'],
  ])('reads %s as %s', (status, ours) => {
    expect(messageReceipt({ sid: SID, status, code: null })).toEqual({
      status: ours,
      provider_message_id: SID,
      error_code: null,
      error_message: null,
    })
  })

  it.each([
    ['undelivered', 30_003, 'unreachable', 'twilio:30003 Unreachable handset'],
    ['failed', 30_005, 'invalid_recipient', 'twilio:30005 Unknown destination handset'],
    ['failed', 30_008, 'undelivered', 'twilio:30008 Unknown error'],
    ['undelivered', 99_999, 'undelivered', 'twilio:99999 Not delivered'],
    ['undelivered', null, 'undelivered', 'twilio: Not delivered'],
    ['failed', null, 'undelivered', 'twilio: Not sent'],
    ['canceled', null, 'carrier_canceled', 'twilio: Canceled'],
  ])('reads %s with code %s as %s', (status, code, error_code, error_message) => {
    expect(messageReceipt({ sid: SID, status, code })).toEqual({
      status: 'failed',
      provider_message_id: SID,
      error_code,
      error_message,
    })
  })

  it('suppresses the recipient after a late opt-out', () => {
    const receipt = messageReceipt({ sid: SID, status: 'failed', code: 21_610 })
    expect(receipt).toMatchObject({ status: 'failed', suppress: 'opt_out' })
  })
})

describe('callReceipt', () => {
  const call = (status: string, duration_s: number | null, code: number | null = null) =>
    callReceipt({ sid: SID, status, code, duration_s })

  it.each(['queued', 'initiated', 'ringing', 'in-progress', 'answered', 'another'])(
    'reads %s as sent, without a duration',
    (status) => {
      const receipt = call(status, null)
      expect(receipt).toMatchObject({ status: 'sent', error_code: null })
      expect(receipt).not.toHaveProperty('duration_s')
    },
  )

  it('reads completed as delivered, with the duration', () => {
    expect(call('completed', 61)).toMatchObject({ status: 'delivered', duration_s: 61 })
  })

  it('reads completed without a duration as sent', () => {
    expect(call('completed', null)).toMatchObject({ status: 'sent' })
    expect(call('completed', null)).not.toHaveProperty('duration_s')
  })

  it.each([
    ['completed', 'unanswered'],
    ['busy', 'busy'],
    ['no-answer', 'unanswered'],
    ['failed', 'call_failed'],
    ['canceled', 'carrier_canceled'],
  ])('reads %s with a duration of 0 as failed with %s', (status, error_code) => {
    expect(call(status, 0)).toMatchObject({ status: 'failed', error_code, duration_s: 0 })
  })

  it('uses the meaning of a known code', () => {
    const receipt = call('failed', null, 21_211)
    expect(receipt).toMatchObject({ error_code: 'invalid_recipient', duration_s: 0 })
    expect(receipt.error_message).toBe('twilio:21211 Invalid recipient')
  })

  it.each([
    ['0', 0],
    ['59', 59],
    ['', null],
    ['-1', null],
    ['1.5', null],
    [7, null],
    [undefined, null],
  ])('reads %j as %j seconds', (text, seconds) => {
    expect(secondsOf(text)).toBe(seconds)
  })
})
