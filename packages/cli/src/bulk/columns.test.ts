import { describe, expect, test } from 'vitest'
import { columnsOf } from './columns.ts'

type Settings = Parameters<typeof columnsOf>[1]

function rowOf(header: string[], cells: string[], more: Partial<Settings> = {}) {
  const settings = { file: 'x.csv', channel: 'sms', to_column: undefined, content: {} } as const
  const columns = columnsOf({ line: 1, cells: header }, { ...settings, ...more })
  return columns.rowOf({ line: 2, cells }).recipient
}

describe('columnsOf', () => {
  test('reads the address from to, else from phone or email', () => {
    const header = ['email', 'phone', 'to']
    expect(rowOf(header, ['e', 'p', 't'])).toEqual({ to: 't' })
    expect(rowOf(header.slice(0, 2), ['e', ' p '])).toEqual({ to: 'p' })
    expect(rowOf(header.slice(0, 2), ['e', 'p'], { channel: 'email' })).toEqual({ to: 'e' })
    expect(rowOf(['to', 'Mobile'], ['t', 'm'], { to_column: 'Mobile' })).toEqual({ to: 'm' })
  })

  test('ignores empty cells, and sends an empty address for a row without a recipient', () => {
    expect(rowOf(['to', 'contact_id', 'name'], ['', 'c', ''])).toEqual({ contact_id: 'c' })
    expect(rowOf(['to', 'contact_id'], ['', ''])).toEqual({ to: '' })
  })

  test('sends metadata and the variables of the content', () => {
    const content = { text: 'Hi {{name}}, "{{order "id}}"' }
    const header = ['to', 'order "id', 'secret', 'metadata.row', 'name']
    expect(rowOf(header, ['t', 'A1', 's', '7', 'Asha'], { content })).toEqual({
      to: 't',
      name: 'Asha',
      variables: { 'order "id': 'A1' },
      metadata: { row: '7' },
    })
  })

  test.each([
    [['name'], {}, 'x.csv has no column named to, phone or contact_id'],
    [['name'], { channel: 'email' }, 'no column named to, email or contact_id'],
    [['to'], { to_column: 'Mobile' }, 'it has no column named Mobile: it has to'],
    [['to', ' '], {}, 'column 2 has no name'],
    [['to', 'a', 'To'], {}, 'columns 1 and 3 are both named to'],
  ] as const)('refuses the header %j', (header, more, message) => {
    expect(() => rowOf([...header], [], more as Partial<Settings>)).toThrow(message)
  })
})
