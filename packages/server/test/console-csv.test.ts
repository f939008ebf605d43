import { describe, expect, it } from 'vitest'
import { recipientsIn } from '../console/pages/bulks/recipients.ts'
import { csvRows, csvText } from '../console/parts/csv.ts'

describe('CSV in the console', () => {
  it('reads what it writes, whatever the cells contain', () => {
    const rows = [
      ['to', 'text'],
      ['+14155550100', 'a "quoted", cell\r\nwith lines'],
      ['x', ''],
    ]
    expect(csvRows(csvText(rows))).toEqual(rows)
  })

  it.each(['=1+1', '+1+1', '-1', '@SUM(A1)', '\t=1', "'=1", '＝1'])(
    'writes %j so that no spreadsheet runs it',
    (cell) => {
      expect(csvRows(csvText([['a', cell]]))[0]?.[1]).toBe(`'${cell}`.trim())
    },
  )

  it('leaves phone numbers unchanged', () => {
    expect(csvText([[1, '+14155550100', null]])).toBe('1,+14155550100,\r\n')
  })
})

describe('the recipients of a bulk', () => {
  it('are one a line or a cell, also with separators in phone numbers', () => {
    expect(recipientsIn('+1 (415) 555-0100\n\nasha@example.com, +14155550101\r\n')).toEqual([
      { to: '+14155550100' },
      { to: 'asha@example.com' },
      { to: '+14155550101' },
    ])
  })

  it('are columns with names; other columns are variables', () => {
    expect(recipientsIn('\ufeffname;Phone;Order\nAsha;+14155550100;"A;1"\nBen;;\n;foo;')).toEqual([
      { to: '+14155550100', name: 'Asha', variables: { Order: 'A;1' } },
      { to: '', name: 'Ben' },
      { to: 'foo' },
    ])
  })

  it('take a formula and a very long text for what they are, soon', () => {
    expect(recipientsIn('=cmd')).toEqual([{ to: '=cmd' }])
    expect(recipientsIn('"'.repeat(100_001))).toHaveLength(1)
    expect(recipientsIn(`${' '.repeat(100_000)}x`)).toEqual([{ to: 'x' }])
  })
})
