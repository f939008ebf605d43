import { describe, expect, test } from 'vitest'
import { openTable, type TableRow } from './read-table.ts'

async function read(csv: string | Buffer, chunk = 7, charset?: string): Promise<TableRow[]> {
  const bytes = Buffer.from(csv as string)
  async function* pieces() {
    for (let at = 0; at < bytes.length; at += chunk) yield bytes.subarray(at, at + chunk)
  }
  const rows: TableRow[] = []
  for await (const row of (await openTable(pieces, charset)).rows) rows.push(row)
  return rows
}

describe('openTable', () => {
  test('gives the first line of each row, for all line breaks', async () => {
    const csv = 'a,b\r\n1,"x\r\ny"\r\n\r\n,\r\n2,z\n3,"q\nr\n"\r\n4,w'
    for (const chunk of [1, 2, 3, 1000]) {
      expect(await read(csv, chunk)).toEqual([
        { line: 1, cells: ['a', 'b'] },
        { line: 2, cells: ['1', 'x\r\ny'] },
        { line: 6, cells: ['2', 'z'] },
        { line: 7, cells: ['3', 'q\nr\n'] },
        { line: 10, cells: ['4', 'w'] },
      ])
    }
  })

  test.each([
    ['\ufeffto;name\n1;x,y', ['1', 'x,y']],
    ['to\tname\n1\tx', ['1', 'x']],
    ['"a;b"|name\n1|x', ['1', 'x']],
    ['to\n1', ['1']],
  ])('finds the delimiter of %j', async (csv, cells) => {
    expect((await read(csv, 1000))[1]?.cells).toEqual(cells)
  })

  test('reads quoted cells, for all chunk sizes', async () => {
    const parts = ['a', 'é', '"', ',', '\n', ' ', '😀', 'x']
    // Every pair of parts, a few parts in a cell.
    const cells = parts.flatMap((one) => parts.map((other) => `${one}${other}${one}`))
    const rows = cells.map((cell, i) => [String(i), cell])
    const quoted = (text: string) => `"${text.replaceAll('"', '""')}"`
    const texts = rows.map((row) => row.map(quoted).join(','))
    let line = 2
    const expected = rows.map((row, i) => {
      const at = { line, cells: row }
      line += texts[i]?.split('\n').length ?? 0
      return at
    })
    for (const chunk of [4, 5, 6, 7, 11, 64, 1000]) {
      expect((await read(`h,i\n${texts.join('\n')}\n`, chunk)).slice(1)).toEqual(expected)
    }
  })

  test('gives the first line of each row, also where lines end with CR alone', async () => {
    const csv = 'a,b\r1,"x\ry"\r\r2,z\r'
    for (const chunk of [1, 2, 1000]) {
      const lines = (await read(csv, chunk)).map(({ line }) => line)
      expect(lines).toEqual([1, 2, 5])
    }
  })

  test.each([
    ['a quoted cell with other separators', '"a,b,c";name\n1;x\n', ['1', 'x']],
    ['a quoted heading of two lines', '"a,\nb,c,d";name\n1;x\n', ['1', 'x']],
    [
      'commas that are regular, and a semicolon in the header',
      'a,"b";c,d\r1,2,3\r'.replace('"b"', 'b'),
      ['1', '2', '3'],
    ],
    ['CR alone', 'a;b\r1,5;2\r', ['1,5', '2']],
    ['a line that names it', 'sep=;\r\na,b;c\r\n1;2', ['1', '2']],
    ['a line that names the tab', 'sep=\t\na\tb\n1\t2', ['1', '2']],
    ['a line that names an unusual one', '\ufeffSEP=^\na^b\n1^2', ['1', '2']],
  ])('finds the separator with %s', async (_, csv, cells) => {
    expect((await read(csv, 1000))[1]?.cells).toEqual(cells)
  })

  test('counts the line that names the separator', async () => {
    expect((await read('sep=;\r\na;b\r\n1;"2\r\n3"\r\n4;5')).map(({ line }) => line)).toEqual([
      2, 3, 5,
    ])
  })

  const text = 'name;city\nJosé “Pepe” €;Łódź\n'
  const wide = Buffer.from(text, 'utf16le')
  const latin = 'name;city\nJosé \u0093Pepe\u0094 \u0080;Köln\n'
  test.each([
    ['UTF-8', Buffer.from(text), 'José “Pepe” €'],
    ['UTF-8 with a mark', Buffer.from(`\ufeff${text}`), 'José “Pepe” €'],
    ['UTF-16 LE with a mark', Buffer.from(`\ufeff${text}`, 'utf16le'), 'José “Pepe” €'],
    ['UTF-16 BE with a mark', Buffer.from(`\ufeff${text}`, 'utf16le').swap16(), 'José “Pepe” €'],
    ['UTF-16 LE without a mark', wide, 'José “Pepe” €'],
    ['UTF-16 BE without a mark', Buffer.from(wide).swap16(), 'José “Pepe” €'],
    ['Windows-1252', Buffer.from(latin, 'latin1'), 'José “Pepe” €'],
  ])('finds the encoding of %s, for all chunk sizes', async (_, bytes, name) => {
    for (const chunk of [64, 1000]) {
      expect((await read(bytes, chunk))[1]?.cells[0]).toBe(name)
    }
  })

  test('decodes the encoding that the caller names', async () => {
    const bytes = Buffer.from([...Buffer.from('name\n'), 0xc8, 0xe2, 0xe0, 0xed])
    expect((await read(bytes, 1000, 'windows-1251'))[1]?.cells).toEqual(['Иван'])
    await expect(read(bytes, 1000, 'klingon')).rejects.toThrow(
      'the character set "klingon" is not known',
    )
    await expect(read(bytes, 1000, 'utf-8')).rejects.toThrow('line 2: it is not UTF-8')
  })

  test.each([
    ['an open quote', 'a,b\n1,x\n2,"y\n3,z\n', 'line 3: a quote is not closed'],
    ['text behind a quote', 'a,b\n1,"x"y\n', 'line 2: a quote is in a wrong place'],
    [
      'a quote within a cell',
      'a,b\r\n1,"q\r\nr"\r\n2,x"y\r\n',
      'line 4: a quote is in a wrong place',
    ],
    ['NUL', 'a,b\n1,x\n2,\u0000\n', 'line 3: the character U+0000'],
    [
      'UTF-8 with a broken character',
      Buffer.from([...Buffer.from('a\né\nü\n'), 0xff]),
      'line 4: it is not UTF-8',
    ],
    ['half a character', Buffer.from('a,é\n1,é').subarray(0, -1), 'line 2: it is not UTF-8'],
  ])('refuses %s, with the line', async (_, csv, message) => {
    for (const chunk of [4, 1000]) await expect(read(csv, chunk)).rejects.toThrow(message)
  })

  test.each(['x', ','])('stops reading an endless line of %s', async (character) => {
    let chunksRead = 0
    async function* endless() {
      yield Buffer.from('to\n1\n')
      for (; chunksRead < 100 * 16; chunksRead++) yield Buffer.alloc(64 * 1024, character)
    }
    const reading = async () => {
      for await (const _ of (await openTable(endless, 'utf-8')).rows);
    }
    await expect(reading()).rejects.toThrow('line 3: the row has more than 128 KB')
    expect(chunksRead).toBeLessThan(20)
  })
})
