import { TRANSACTIONS_CSV_HEADER, writeContactsCsv } from '@svc/core/operate'
import { describe, expect, it } from 'vitest'
import { missingFor } from '../console/pages/bulks/recipients.ts'
import { plainPhone } from '../console/pages/contacts/plain-phone.ts'
import { csvText, RowCount } from '../console/parts/csv.ts'

describe('CSV of the console', () => {
  it.each([
    '=1+1',
    '+1+1',
    '-1',
    '@SUM(A1)',
    '\t=1',
    "'=1",
    '＝1',
    ' =1',
    "' \u00a0=1",
    '\u3000@A',
  ])('writes %j so that no spreadsheet runs it', (cell) => {
    expect(csvText([[cell]]).trim()).toBe(`'${cell}`)
  })

  it.each(['=1', ' =1', "' =1", 'a =1', ' a', '+1 2', '+14155550100', ' +1', '\u00a0-1', "'a"])(
    'guards %j as an export of contacts does',
    (name) => {
      const at = new Date(0).toISOString()
      const contact = { id: '', name, phone: null, email: null, external_id: null, tags: [] }
      const rest = { attributes: {}, subscriptions: {}, created_at: at, updated_at: at }
      const line = writeContactsCsv([{ ...contact, ...rest } as never])
      expect(csvText([[name]]).trimEnd()).toBe(line.split(',')[1])
    },
  )

  it('leaves phone numbers unchanged, and quotes separators and lines', () => {
    expect(csvText([[1, '+14155550100', null]])).toBe('1,+14155550100,\r\n')
    expect(csvText([['a "quoted", cell\r\nwith lines']])).toBe(
      '"a ""quoted"", cell\r\nwith lines"\r\n',
    )
  })
})

describe('phone numbers in fields', () => {
  it.each([
    ['+39 (0)6 698 1234', '+39066981234'],
    ['+43 (0)664 1234', '+436641234'],
    ['+43 664 12345 / 67', '+43 664 12345 / 67'],
    ['+1 415 555 0100 - 12', '+1 415 555 0100 - 12'],
  ])('%s is sent as %s', (text, number) => {
    expect(plainPhone(text)).toBe(number)
  })
})

describe('the placeholders of a bulk', () => {
  it('lack a value if the recipient has none and they have no fallback', () => {
    const content = { text: 'Hi {{name}} {{ city }} {{city}} {{day|today}}' }
    expect(missingFor(content, { to: '+1', name: 'Asha' })).toBe('city')
  })
})

describe('the rows of an export', () => {
  const rows = [
    ['2', 'b', '2026-05-04T09:00:01.000Z', 'send', 'x "y",\r\nz'],
    ['1.5', 'a', '2026-05-04T09:00:00.000Z', 'opening', 'ü'],
  ]
  const text = TRANSACTIONS_CSV_HEADER + csvText(rows)

  it.each([1, 7, 10_000])(
    'are counted in pieces of %i bytes, and the last one is known',
    async (size) => {
      const bytes = new TextEncoder().encode(text)
      const count = new RowCount()
      for (let at = 0; at < bytes.length; at += size) count.add(bytes.subarray(at, at + size))
      expect(count.rows).toBe(2)
      const last = { after: '1.5', at: '2026-05-04T09:00:00.000Z' }
      expect(await count.lastRow(new Blob([bytes]))).toEqual(last)
    },
  )

  it('are none before the first line has arrived', () => {
    expect(new RowCount().rows).toBe(0)
  })
})
