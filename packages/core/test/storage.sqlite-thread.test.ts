import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openSqliteInThread } from '../src/storage/sqlite/sqlite.ts'
import { storageContract } from './storage.contract.ts'

storageContract('SQLite in a thread', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'svc-storage-'))
  const open = () => openSqliteInThread(join(folder, 'svc.db'))
  const storage = await open()
  return { storage, reopen: open, close: () => rm(folder, { recursive: true }) }
})
