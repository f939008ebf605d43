import { describe, expect, it } from 'vitest'
import { missingFor, recipientsIn } from '../console/pages/bulks/recipients.ts'
import { fieldsOf, meaningOf, plainPhone } from '../console/pages/contacts/fields.ts'
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
  it('are one per line or a cell, with their lines, also with separators in phone numbers', () => {
    const text = '+1 (415) 555-0100\n\nasha@example.com, 00 43 (0)664/1\r\n0043-664.1\n'
    expect(recipientsIn(text, 'sms')).toEqual({
      recipients: [
        { to: '+14155550100' },
        { to: 'asha@example.com' },
        { to: '+436641' },
        { to: '+436641' },
      ],
      lines: [1, 3, 3, 4],
      missing: 0,
    })
  })

  it('are columns with names; other columns are variables', () => {
    const text = '\ufeffname;Mobile;Order\nAsha;+14155550100;"A;\n1"\nBen;;\n\n;foo;'
    expect(recipientsIn(text, 'sms')).toEqual({
      recipients: [
        { to: '+14155550100', name: 'Asha', variables: { Order: 'A;\n1' } },
        { to: 'foo' },
      ],
      lines: [2, 6],
      missing: 1,
    })
  })

  it('have the variables of their headings, also of one that is a field of a contact', () => {
    const { recipients } = recipientsIn(
      'to,Name,ID,E-Mail\n+14155550100,Asha,7,a@example.com',
      'sms',
    )
    expect(recipients[0]?.variables).toMatchObject({ ID: '7', 'E-Mail': 'a@example.com' })
  })

  it.each([
    ['+39 (0)6 698 1234', '+39066981234'],
    ['+43 (0)664 1234', '+436641234'],
    ['+43 664 12345 / 67', '+43 664 12345 / 67'],
    ['+1 415 555 0100 - 12', '+1 415 555 0100 - 12'],
  ])('have the phone number %s as %s', (text, number) => {
    expect(plainPhone(text)).toBe(number)
  })

  it('are the rows of an export of contacts, by the channel', () => {
    const text =
      'name,phone,email,attributes\r\n\'=Asha,+14155550100,,"{""city"":""Moshi"",""age"":7,""more"":{}}"\r\nBen,,ben@example.com,\r\n'
    expect(recipientsIn(text, 'whatsapp')).toMatchObject({
      recipients: [{ to: '+14155550100', name: '=Asha', variables: { city: 'Moshi', age: '7' } }],
      missing: 1,
    })
    expect(recipientsIn(text, 'email')).toMatchObject({
      recipients: [{ to: 'ben@example.com', name: 'Ben' }],
      missing: 1,
    })
  })

  it('take a formula and a very long text for what they are, soon', () => {
    expect(recipientsIn('=cmd', 'sms').recipients).toEqual([{ to: '=cmd' }])
    expect(recipientsIn('"'.repeat(100_001), 'sms').recipients).toHaveLength(1)
    expect(recipientsIn(`${' '.repeat(100_000)}x`, 'sms').recipients).toEqual([{ to: 'x' }])
    const spaced = `+1${' '.repeat(100_000)}x`
    expect(recipientsIn(spaced, 'sms').recipients).toEqual([{ to: spaced }])
  })

  it('lack a value for the placeholders without a fallback', () => {
    const content = { text: 'Hi {{name}} {{ city }} {{city}} {{day|today}}' }
    expect(missingFor(content, { to: '+1', name: 'Asha' })).toBe('city')
  })
})

describe('the columns of a file with contacts', () => {
  it('are fields by their usual headings, each field once', () => {
    const header = ['Name', 'E-Mail', 'Telephone', 'Mobile', 'City', 'Email address', 'ID']
    expect(fieldsOf(header)).toEqual([
      'name',
      'email',
      'phone',
      'Mobile',
      'City',
      'Email address',
      'id',
    ])
    expect(fieldsOf(['number', 'phone'])).toEqual(['number', 'phone'])
    expect(['email', 'City', 'id'].map(meaningOf)).toEqual([
      'e-mail',
      'attribute City',
      'not imported',
    ])
  })
})
