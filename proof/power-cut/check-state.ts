import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { verifyLedger } from '../../packages/core/src/maintenance/ledger/verify-ledger.ts'
import { systemRuntime } from '../../packages/core/src/runtime/runtime.ts'
import { connect } from '../../packages/core/src/storage/sqlite/engine/connection.ts'
import { openSqlite } from '../../packages/core/src/storage/sqlite/sqlite.ts'
import type { Accepted } from './recording.ts'

const FILE = 'svc.db'
const EXAMPLES_MAX = 3

export function writeState(folder: string, files: ReadonlyMap<string, Buffer>): void {
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder, { recursive: true })
  for (const [name, bytes] of files) {
    mkdirSync(dirname(join(folder, name)), { recursive: true })
    writeFileSync(join(folder, name), bytes)
  }
}

/** Opens a state after a power cut as the service does, and returns the broken promises. */
export async function faultsOf(folder: string, due: readonly Accepted[]): Promise<string[]> {
  const file = join(folder, FILE)
  try {
    const storage = openSqlite(file, systemRuntime())
    await storage.close()
    const faults = [...missingFrom(file, due)]
    const { ok, differences } = await verifyLedger(`file:${file}`)
    if (!ok) faults.push(`the ledger does not add up: ${JSON.stringify(differences.slice(0, 3))}`)
    return faults
  } catch (error) {
    return [`the database cannot be used: ${(error as Error).message}`]
  }
}

function missingFrom(file: string, due: readonly Accepted[]): string[] {
  const database = connect(file, { readonly: true })
  try {
    const list = (sql: string) => database.prepare(sql).pluck().all() as string[]
    const damage = list('pragma integrity_check').filter((text) => text !== 'ok')
    const messages = new Set(list('select id from messages'))
    const debits = new Map<string, number>()
    for (const id of list("select ref_id from ledger_entries where kind = 'send'")) {
      debits.set(id, (debits.get(id) ?? 0) + 1)
    }
    const lost = due.filter(({ message_id }) => !messages.has(message_id))
    const wrong = due.filter(
      ({ message_id, mode }) => (debits.get(message_id) ?? 0) !== (mode === 'live' ? 1 : 0),
    )
    return [
      ...damage.slice(0, EXAMPLES_MAX).map((text) => `the file is damaged: ${text}`),
      ...violation('are lost', lost, due),
      ...violation('are not debited exactly once', wrong, due),
    ]
  } finally {
    database.close()
  }
}

function violation(what: string, found: readonly Accepted[], due: readonly Accepted[]): string[] {
  if (found.length === 0) return []
  const examples = found.slice(0, EXAMPLES_MAX).map(({ message_id }) => message_id)
  return [`${found.length} of ${due.length} acknowledged messages ${what}: ${examples.join(', ')}`]
}
