import { describe, expect, test } from 'vitest'
import { createStatusTable, parseStatus, type StatusClass, statusText } from './status-table.ts'

const meaningOf = createStatusTable({})

describe('the class of a status', () => {
  const rows: [StatusClass, number[]][] = [
    ['throttled', [0x58]],
    ['retry', [0x14, 0x64, 0x08]],
    ['rebind', [0x04, 0x05]],
    ['provider', [0x0d, 0x0e, 0x0f, 0x53]],
    ['sender', [0x0a, 0x48, 0x49]],
    ['rejected', [0x0b, 0x01, 0x43, 0x45, 0x65, 0x66, 0x104, 0x62]],
    ['rejected', [0x33, 0x400, 0xffff_ffff]],
  ]
  test.each(rows)('is %s for %j', (of, statuses) => {
    for (const status of statuses) expect(meaningOf(status).class).toBe(of)
  })
})

describe('a status with an own class in the settings', () => {
  const own = createStatusTable({ '0x0400': 'retry', 1025: 'opted_out', '0x45': 'retry' })
  test.each([
    [0x400, 'retry', 'provider_unavailable'],
    [0x401, 'opted_out', 'opted_out'],
    [0x45, 'retry', 'provider_unavailable'],
    [0x0b, 'rejected', 'invalid_recipient'],
    [0x402, 'rejected', 'provider_rejected'],
  ])('%i is %s', (status, of, error_code) => {
    expect(own(status)).toMatchObject({ class: of, error_code })
  })
})

test.each([
  ['0x0400', 1024],
  ['0X400', 1024],
  ['1024', 1024],
  ['0xffffffff', 0xffff_ffff],
  ['0', null],
  ['0x0', null],
  ['4294967296', null],
  ['-1', null],
  ['1e3', null],
  ['', null],
])('parseStatus reads %j as %s', (text, status) => {
  expect(parseStatus(text)).toBe(status)
})

test('statusText has the number and the text of the status', () => {
  expect(statusText(0x0b, meaningOf(0x0b))).toBe('smpp:0x0b The destination address is not valid')
  expect(statusText(0x400, meaningOf(0x400))).toBe('smpp:0x400 The SMSC refused the message')
})
