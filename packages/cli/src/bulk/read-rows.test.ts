import { describe, expect, test } from 'vitest'
import { type CsvRow, readRows } from './read-rows.ts'

async function read(csv: string | Buffer, chunk = 7): Promise<CsvRow[]> {
  const bytes = Buffer.from(csv as string)
  async function* pieces() {
    for (let at = 0; at < bytes.length; at += chunk) yield bytes.subarray(at, at + chunk)
  }
  const rows: CsvRow[] = []
  for await (const row of readRows(pieces(), 'x.csv')) rows.push(row)
  return rows
}

describe('readRows', () => {
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

  test.each([
    ['an open quote', 'a,b\n1,x\n2,"y\n3,z\n', 'a quote that opens after line 2 is never closed'],
    ['text behind a quote', 'a,b\n1,"x"y\n', 'line 2: a quote is in a wrong place'],
    [
      'a quote within a cell',
      'a,b\r\n1,"q\r\nr"\r\n2,x"y\r\n',
      'line 4: a quote is in a wrong place',
    ],
    ['NUL', 'a,b\n1,x\n2,\u0000\n', 'line 3: the character U+0000'],
    ['UTF-16', Buffer.from('a,b\n', 'utf16le'), 'line 1: the character U+0000'],
    ['latin-1', Buffer.from('a,b\n1,é\n2,x\n3,ü\n', 'latin1'), 'line 2: not UTF-8'],
    ['half a character', Buffer.from('a,b\n1,é').subarray(0, -1), 'line 2: not UTF-8'],
  ])('refuses %s, with the line', async (_, csv, message) => {
    for (const chunk of [4, 1000]) {
      await expect(read(csv, chunk)).rejects.toMatchObject({
        exit_code: 2,
        message: expect.stringContaining(message),
      })
    }
  })

  test('stops reading an endless line', async () => {
    let chunksRead = 0
    async function* endless() {
      yield Buffer.from('to\n1\n')
      for (; chunksRead < 100 * 16; chunksRead++) yield Buffer.alloc(64 * 1024, 'x')
    }
    const reading = async () => {
      for await (const _ of readRows(endless(), 'x.csv'));
    }
    await expect(reading()).rejects.toThrow('the row after line 2 has more than 128 KB')
    expect(chunksRead).toBeLessThan(20)
  })
})
