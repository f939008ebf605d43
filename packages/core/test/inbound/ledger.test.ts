import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { units } from '../../src/contract/fields/units.ts'
import { createInbound } from '../../src/inbound/inbound.ts'
import { verifyLedger } from '../../src/maintenance/ledger/verify-ledger.ts'
import type { Storage } from '../../src/storage/ports/storage.ts'
import { openSqlite } from '../../src/storage/sqlite/sqlite.ts'
import { builders, SMS_PRICE, testRuntime } from '../fixtures.ts'
import { migratedFolder } from '../migrated-file.ts'

const runtime = testRuntime('inbound')
const make = builders(runtime)
const PERSON = '+255700000001'
const NUMBER = '+15005550006'

let folder: string
let file: string
let storage: Storage
beforeEach(async () => {
  folder = await migratedFolder('svc-inbound-')
  file = join(folder, 'svc.db')
  storage = openSqlite(file, runtime)
})
afterEach(async () => {
  await storage.close()
  await rm(folder, { recursive: true })
})

it('replies to keywords leave the ledger consistent', async () => {
  const { id: workspace_id } = await workspace()
  const conversation = { workspace_id, channel: 'sms', sender: NUMBER, address: PERSON } as const
  await storage.write(({ conversations }) =>
    conversations.note([{ ...conversation, last_sent_at: runtime.now() }]),
  )
  const scheduled_at = new Date(runtime.now().getTime() + 86_400_000)
  await storage.hot.accept([make.send(workspace_id, { recipient: PERSON, scheduled_at })])
  const inbound = createInbound({ storage, runtime })
  for (const text of ['STOP', 'HELP', 'START', 'Thank you!']) {
    await inbound.receive({ name: 'carrier', handles_stop: false }, [
      {
        type: 'received',
        channel: 'sms',
        provider_message_id: runtime.id(),
        sender: PERSON,
        recipient: NUMBER,
        content: { text, media: [] },
      },
    ])
  }
  // Later than every scheduled message: verification finds a message without a queue row.
  const at = new Date(runtime.now().getTime() + 10 * 3_600_000)
  const report = await verifyLedger(`file:${file}`, { now: () => at })
  expect(report).toMatchObject({ ok: true, differences: [], messages: 4 })
  const page = { limit: 10, offset: 0 }
  const messages = await storage.read.messages.list(workspace_id, {}, page)
  expect(messages.map(({ credits_used }) => credits_used)).toEqual([0, 0, 0, SMS_PRICE])
  const account = await storage.read.credits.account(workspace_id)
  expect(account?.balance).toBe(units(10 * SMS_PRICE))
})

async function workspace() {
  const row = make.workspace()
  await storage.write(async ({ workspaces, credits }) => {
    await workspaces.insert(row)
    await credits.open(row.id, runtime.now())
    await credits.post(row.id, make.grant(units(10 * SMS_PRICE)))
  })
  return row
}
