import { appendFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import type { ProcessIo } from '../process/process-io.ts'
import { columnsOf } from './columns.ts'
import { openInputFile } from './input-file.ts'

const cwd = mkdtempSync(join(tmpdir(), 'svc-bulk-'))

afterAll(() => rmSync(cwd, { recursive: true }))

function openCsv(text: string) {
  writeFileSync(join(cwd, 'x.csv'), text)
  return openInputFile('x.csv', { cwd } as ProcessIo, (header, file) =>
    columnsOf(header, { file, channel: 'sms', to_column: undefined, content: {} }),
  )
}

describe('openInputFile', () => {
  test('counts the rows, and reads the rows after a line', async () => {
    const input = await openCsv('to\n1\n\n2\n3\n')
    expect(input).toMatchObject({
      name: 'x.csv',
      rows: 3,
      sha256: expect.stringMatching(/^\w{64}$/),
    })
    const lines: number[] = []
    for await (const { line } of input.after(2)) lines.push(line)
    expect(lines).toEqual([4, 5])
    await input.close()
  })

  test('detects a change of the file', async () => {
    const input = await openCsv('to\n1\n')
    await input.assertUnchanged()
    appendFileSync(join(cwd, 'x.csv'), '2\n')
    await expect(input.assertUnchanged()).rejects.toMatchObject({ code: 'input_changed' })
    await input.close()
  })

  test.each([
    ['', 'x.csv is empty: it needs a header row'],
    ['\n\n', 'x.csv is empty'],
    ['to,n\n', 'x.csv has a header row and no other'],
    ['to,n\n1,2\n3\n4,5,6\n', 'the header has 2 cells, but line 3 has 1, line 4 has 3'],
    [`to,n\n${'1\n'.repeat(7)}`, 'line 6 has 1, and 2 more'],
  ])('refuses %j', async (text, message) => {
    await expect(openCsv(text)).rejects.toMatchObject({
      exit_code: 2,
      message: expect.stringContaining(message),
    })
  })
})
