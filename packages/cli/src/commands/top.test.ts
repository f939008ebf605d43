import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { createSameFile } from './top.ts'

test('detects a removed and a replaced file', async () => {
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

test('accepts a database that is not a file', async () => {
  await (await createSameFile(null))()
})
