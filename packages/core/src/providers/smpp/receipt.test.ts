import { describe, expect, test } from 'vitest'
import { type Delivery, TLV } from './pdu.ts'
import { receiptOf, submittedId } from './receipt.ts'
import { settings } from './settings.ts'

const ADDRESS = { ton: 0, npi: 0, digits: '' }
const USUAL = { id_form: 'as_is', unknown_as: 'sent' } as const

function delivery(tlvs: Record<number, string | number[]> = {}): Delivery {
  const values = Object.entries(tlvs).map(
    ([tag, value]) =>
      [Number(tag), typeof value === 'string' ? Buffer.from(value) : Buffer.from(value)] as const,
  )
  return {
    source: ADDRESS,
    destination: ADDRESS,
    esm_class: 4,
    data_coding: 0,
    octets: Buffer.alloc(0),
    tlvs: new Map(values),
  }
}

const TAIL = 'sub:001 dlvrd:001 submit date:2604301200 done date:260430120059'
const text = (state: string, err = '000') => `id:77 ${TAIL} stat:${state} err:${err} text:Hello`

describe('a state by its text', () => {
  test.each([
    ['DELIVRD', 'delivered', null],
    ['ENROUTE', 'sent', null],
    ['ACCEPTD', 'sent', null],
    ['BUFFRED', 'sent', null],
    ['BUFFERD', 'sent', null],
    ['ACKED', 'sent', null],
    ['SCHEDULED', 'sent', null],
    ['UNKNOWN', 'sent', null],
    ['delivrd', 'delivered', null],
    ['EXPIRED', 'failed', 'expired'],
    ['UNDELIV', 'failed', 'undeliverable'],
    ['DELETED', 'failed', 'undeliverable'],
    ['REJECTD', 'failed', 'rejected'],
    ['REJECTED', 'failed', 'rejected'],
    ['FAILED', 'failed', 'undeliverable'],
    ['SKIPPED', 'failed', 'undeliverable'],
    ['DELIVERED', 'delivered', null],
    ['Delivered', 'delivered', null],
    ['DELIVERD', 'delivered', null],
    ['UNDELIVERABLE', 'failed', 'undeliverable'],
    ['UNDELIVERED', 'failed', 'undeliverable'],
    ['Undelivered', 'failed', 'undeliverable'],
    ['UNDELIVRD', 'failed', 'undeliverable'],
    ['UNDELIVERD', 'failed', 'undeliverable'],
    ['ACCEPTED', 'sent', null],
    ['BUFFERED', 'sent', null],
    ['constructor', 'sent', null],
  ])('%s is %s', (state, status, error_code) => {
    const receipt = receiptOf(delivery(), text(state), USUAL, false)
    expect(receipt).toMatchObject({ status, error_code, provider_message_id: '77' })
  })
})

describe('a state by its number', () => {
  test.each([
    [0, 'sent'],
    [1, 'sent'],
    [2, 'delivered'],
    [3, 'failed'],
    [4, 'failed'],
    [5, 'failed'],
    [6, 'sent'],
    [7, 'sent'],
    [8, 'failed'],
    [9, 'failed'],
  ])('%i is %s, whatever the text says', (number, status) => {
    const other = status === 'delivered' ? 'UNDELIV' : 'DELIVRD'
    const report = delivery({ [TLV.message_state]: [number] })
    expect(receiptOf(report, text(other), USUAL, false)).toMatchObject({ status })
  })

  test('is ignored if SMPP does not have it', () => {
    const report = delivery({ [TLV.message_state]: [99] })
    expect(receiptOf(report, text('DELIVRD'), USUAL, false)).toMatchObject({ status: 'delivered' })
  })
})

describe('the state UNKNOWN', () => {
  test.each(['sent', 'delivered', 'failed'] as const)('counts as %s with that setting', (as) => {
    const own = { ...USUAL, unknown_as: as }
    expect(receiptOf(delivery(), text('UNKNOWN'), own, false)).toMatchObject({ status: as })
  })
})

test('an intermediate failure is not final', () => {
  expect(receiptOf(delivery(), text('UNDELIV'), USUAL, true)).toMatchObject({
    status: 'sent',
    error_code: null,
  })
  expect(receiptOf(delivery(), text('DELIVRD'), USUAL, true)).toMatchObject({ status: 'delivered' })
})

describe('the text of a receipt', () => {
  test.each([
    'id:77 stat:DELIVRD err:0A1',
    'ID:77 SUB:1 STAT:DELIVRD ERR:0A1 TEXT:',
    'stat:DELIVRD err:0A1 done date:2604301200 id:77',
    'id: 77 stat: DELIVRD err: 0A1',
    `id:77 ${TAIL} stat:DELIVRD err:0A1 Text:id:99 stat:UNDELIV err:999`,
    'submit date:26043012 id:77 done date:26043012 stat:DELIVRD',
  ])('is read from %j', (own_text) => {
    expect(receiptOf(delivery(), own_text, USUAL, false)).toMatchObject({
      provider_message_id: '77',
      status: 'delivered',
    })
  })

  test('ignores an id and a state that the author of the message wrote', () => {
    const report = delivery({ [TLV.receipted_message_id]: '77' })
    const foreign = `${TAIL} err:000 text:id:999 stat:UNDELIV`
    expect(receiptOf(delivery(), foreign, USUAL, false)).toBeNull()
    expect(receiptOf(report, foreign, USUAL, false)).toMatchObject({
      provider_message_id: '77',
      status: 'sent',
    })
  })

  test('may begin with its label text', () => {
    const labels = 'text: id:77 stat:DELIVRD err:000'
    expect(receiptOf(delivery(), labels, USUAL, false)).toMatchObject({
      provider_message_id: '77',
      status: 'delivered',
    })
  })

  test('may have an id with a colon', () => {
    const receipt = receiptOf(delivery(), 'id:7:ab stat:DELIVRD', USUAL, false)
    expect(receipt?.provider_message_id).toBe('7:ab')
  })

  test('has no error in an empty label', () => {
    const receipt = receiptOf(delivery(), 'id:7 err: stat:UNDELIV', USUAL, false)
    expect(receipt?.error_message).toBe('smpp:UNDELIV The message could not be delivered')
  })

  test.each([
    '',
    'Hello',
    'stat:DELIVRD',
    'mid:77',
    `id: ${TAIL} stat:DELIVRD`,
    `id:${'x'.repeat(65)} stat:DELIVRD`,
  ])('names no message in %j', (own_text) => {
    expect(receiptOf(delivery(), own_text, USUAL, false)).toBeNull()
  })
})

describe('the reason of a failure', () => {
  test('is the number in the text', () => {
    expect(receiptOf(delivery(), text('UNDELIV', '0a1'), USUAL, false)?.error_message).toBe(
      'smpp:UNDELIV The message could not be delivered (error 0a1)',
    )
  })

  test('names the state as the SMSC writes it', () => {
    expect(receiptOf(delivery(), text('UNDELIVERABLE'), USUAL, false)?.error_message).toBe(
      'smpp:UNDELIVERABLE The message could not be delivered (error 000)',
    )
  })

  test('has at most 16 characters of the number', () => {
    const err = '0123456789abcdef0'
    expect(receiptOf(delivery(), text('UNDELIV', err), USUAL, false)?.error_message).toBe(
      'smpp:UNDELIV The message could not be delivered (error 0123456789abcdef)',
    )
  })

  test('is the number of the network if there is one', () => {
    const report = delivery({ [TLV.network_error_code]: [3, 0, 21] })
    expect(receiptOf(report, text('UNDELIV', '0a1'), USUAL, false)?.error_message).toBe(
      'smpp:UNDELIV The message could not be delivered (error 3:21)',
    )
  })

  test('never repeats the message', () => {
    const labels = 'id:77 stat:UNDELIV text:err:secret'
    expect(JSON.stringify(receiptOf(delivery(), labels, USUAL, false))).not.toContain('secret')
  })
})

describe('ids', () => {
  type Row = [string, 'as_is' | 'fold' | 'hex_to_decimal' | 'decimal_to_hex', string, string]
  test.each<Row>([
    ['as_is', 'as_is', 'aB01', 'aB01'],
    ['leading zeros', 'fold', '000123', '123'],
    ['zeros alone', 'fold', '000', '00'],
    ['case', 'fold', '0A1F', 'a1f'],
    ['hex in the receipt, decimal in the answer', 'hex_to_decimal', '26', '1A'],
    ['the same, with zeros', 'hex_to_decimal', '0000000026', '0000001a'],
    ['decimal in the receipt, hex in the answer', 'decimal_to_hex', '1A', '26'],
    ['the same, with zeros', 'decimal_to_hex', '0000001A', '0000000026'],
    ['long ones', 'decimal_to_hex', 'ffffffffffffffff', '18446744073709551615'],
    ['an id that is not a number', 'hex_to_decimal', 'x-1', 'X-1'],
  ])('match, %s (%s): %s and %s', (_title, id_form, submitted, reported) => {
    const receipt = receiptOf(
      delivery(),
      `id:${reported} stat:DELIVRD`,
      { ...USUAL, id_form },
      false,
    )
    expect(receipt?.provider_message_id).toBe(submittedId(submitted, id_form))
  })

  test('do not match in another case with as_is', () => {
    const receipt = receiptOf(delivery(), 'id:ab stat:DELIVRD', USUAL, false)
    expect(receipt?.provider_message_id).not.toBe(submittedId('AB', 'as_is'))
  })

  test.each<[string, string, string | null, string]>([
    ['a TLV alone has the form of the text', '26', null, '1a'],
    ['a TLV equal to the text has the form of the text', '26', 'id:26', '1a'],
    ['a TLV that differs has the form of the submission', '1A', 'id:26', '1a'],
    ['a TLV of digits that differs has it too', '12', 'id:18', '12'],
    ['a TLV beside an empty label has the form of the text', '26', 'id: sub:001', '1a'],
    ['the same, with the date next', '26', 'id: submit date:2604301200', '1a'],
    ['the same, with a date of another spelling', '26', 'id: submit_date:2604301200', '1a'],
    ['the same, without a blank', '26', 'id:stat:DELIVRD', '1a'],
    ['the same, at the end', '26', 'err:000 id:', '1a'],
    ['a TLV may end with a NUL', '26\0', null, '1a'],
    ['a TLV that is not an id is ignored', '\x01', 'id:26', '1a'],
  ])('%s', (_title, own, label, id) => {
    const report = delivery({ [TLV.receipted_message_id]: own })
    const form = { ...USUAL, id_form: 'decimal_to_hex' as const }
    expect(receiptOf(report, `${label ?? ''} stat:DELIVRD`, form, false)).toMatchObject({
      provider_message_id: id,
    })
  })

  test.each([
    ['', null],
    ['   ', null],
    ['a b', null],
    ['é', null],
    ['x'.repeat(65), null],
    [' 12 ', '12'],
    ['x'.repeat(64), 'x'.repeat(64)],
  ])('of the submission %j is stored as %j', (id, stored) => {
    expect(submittedId(id, 'as_is')).toBe(stored)
  })
})

test('these tests cover all forms of the settings', () => {
  expect(settings.shape.id_form.unwrap().options).toEqual([
    'as_is',
    'fold',
    'hex_to_decimal',
    'decimal_to_hex',
  ])
})
