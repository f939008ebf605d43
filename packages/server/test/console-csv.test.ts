import { describe, expect, it } from 'vitest'
import { guarded as guardedByExport } from '../../core/src/contacts/csv-cells.ts'
import { guarded, readCsv, writeCsv } from '../console/shell/csv.ts'

describe('readCsv', () => {
  it.each([
    [
      'a,b\r\n1,2\r\n',
      [
        ['a', 'b'],
        ['1', '2'],
      ],
    ],
    [
      'a,b\n1,2',
      [
        ['a', 'b'],
        ['1', '2'],
      ],
    ],
    ['a\r1\r2\r', [['a'], ['1'], ['2']]],
    [
      'a,b\n\n1,\n',
      [
        ['a', 'b'],
        ['1', ''],
      ],
    ],
    [
      'a,b\n1,',
      [
        ['a', 'b'],
        ['1', ''],
      ],
    ],
    [
      'a;b\n1,5;2\n',
      [
        ['a', 'b'],
        ['1,5', '2'],
      ],
    ],
    [
      'a,b\n"x ""y"" z","1\r\n2"\n',
      [
        ['a', 'b'],
        ['x "y" z', '1\r\n2'],
      ],
    ],
    [
      'a,b\n"",""""\n',
      [
        ['a', 'b'],
        ['', '"'],
      ],
    ],
    ['', []],
  ])('reads %j', (text, rows) => {
    expect(readCsv(text)).toEqual(rows)
  })

  it('names the row of a quote that is not closed', () => {
    expect(() => readCsv('a\n1\n"2\n')).toThrow('A quote is not closed: row 3.')
  })

  it('reads what writeCsv writes', () => {
    const rows = [
      ['name', 'phone'],
      ['O"Hara, Ltd; \n x', '+255700000001'],
      ['', ''],
    ]
    expect(readCsv(writeCsv(rows))).toEqual(rows)
  })
})

describe('guarded', () => {
  it.each(['=1+1', '+1+1', '-1', '@A1', '\t=1', '＝1', '+255700000001', "o'hara", 'a=1', ''])(
    'writes %j as the export does',
    (cell) => {
      expect(guarded(cell)).toBe(guardedByExport(cell))
    },
  )

  it('leaves a cell that an export has guarded', () => {
    expect(guarded("'=1+1")).toBe("'=1+1")
  })
})
