import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { createSameFile } from './same-file.ts'

test('tells that a file is gone, back, or another one', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'svc-same-'))
  try {
    const path = join(folder, 'svc.db')
    writeFileSync(path, 'first')
    const assertSame = await createSameFile(path)
    writeFileSync(path, 'written to')
    await assertSame()
    renameSync(path, `${path}.old`)
    await expect(assertSame()).rejects.toMatchObject({ code: 'database_gone' })
    writeFileSync(path, 'second')
    await expect(assertSame()).rejects.toMatchObject({ code: 'database_replaced' })
    renameSync(`${path}.old`, path)
    await assertSame()
  } finally {
    rmSync(folder, { recursive: true })
  }
})

test('a database that is no file is none of its business', async () => {
  await (await createSameFile(null))()
})
