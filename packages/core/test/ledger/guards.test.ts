import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { units } from '../../src/contract/fields/units.ts'
import { queuedRow } from '../../src/rules/claim.ts'
import { newAccount } from '../../src/rules/decide.ts'
import { planSettle } from '../../src/rules/settle.ts'
import type { SettleState } from '../../src/rules/settlement.ts'
import { builders, SMS_PRICE, testRuntime } from '../fixtures.ts'
import { createDatabase, type TestDatabase } from '../postgres-database.ts'
import { postgresSubject, type Subject, sqliteSubject } from './subjects.ts'

/** What holds even where a planner or a store was wrong before. */
function guards(engine: string, open: () => Promise<Subject>, end: () => Promise<void>): void {
  describe(`on ${engine}`, () => {
    let subject: Subject
    let id: string
    beforeAll(async () => {
      subject = await open()
      const row = builders(subject.clock).workspace()
      id = row.id
      await subject.storage.write(async ({ workspaces, credits }) => {
        await workspaces.insert(row)
        await credits.open(id, subject.clock.now())
        await credits.post(id, builders(subject.clock).grant(units(50 * SMS_PRICE)))
      })
    })
    afterAll(async () => {
      await subject?.close()
      await end()
    })

    it('the table itself books a fact once', async () => {
      const make = builders(subject.clock)
      const [first, second] = [make.send(id), make.send(id)]
      if (!first.debit || !second.debit) throw new Error('both cost something')
      await subject.storage.hot.accept([first])
      const before = await subject.rows([id])
      second.debit.reference = first.debit.reference
      await expect(subject.storage.hot.accept([second])).rejects.toThrow()
      expect(await subject.rows([id])).toEqual(before)
    })

    it('the table itself ends a hold once', async () => {
      const make = builders(subject.clock)
      const post = (kind: 'hold' | 'void', held: number, resolves: string | null) =>
        subject.storage.write(({ credits }) =>
          credits.post(id, make.grant(units(0), { kind, held_delta: units(held), resolves })),
        )
      const held = await post('hold', 5, null)
      if (!held.ok || 'repeated' in held) throw new Error('there is enough to hold')
      await post('hold', 5, null)
      await post('void', -5, held.entry.id)
      const before = await subject.rows([id])
      await expect(post('void', -5, held.entry.id)).rejects.toThrow()
      expect(await subject.rows([id])).toEqual(before)
    })
  })
}

let folder: string
guards(
  'SQLite',
  async () => {
    folder = await mkdtemp(join(tmpdir(), 'svc-guards-'))
    return sqliteSubject(testRuntime('guards'), folder)
  },
  () => rm(folder, { recursive: true }),
)

let database: TestDatabase
guards(
  'PostgreSQL',
  async () => {
    database = await createDatabase()
    return postgresSubject(testRuntime('guards'), database.url)
  },
  () => database.drop(),
)

it('a message that got its credits back gets none again, whatever its status says', () => {
  const runtime = testRuntime('guards')
  const message = builders(runtime).message('w', { credits_refunded: SMS_PRICE })
  const token = 'token'
  const state: SettleState = {
    messages: new Map([[message.id, message]]),
    queue: new Map([[message.id, { ...queuedRow(message), token, attempt: 1 }]]),
    subscribers: new Map(),
    accounts: new Map([['w', newAccount('w')]]),
    attempts: new Map(),
    parts: new Map(),
    entries_about: new Map(),
  }
  const outcome = { type: 'rejected', error_code: 'unroutable', error_message: 'No' } as const
  const settlement = {
    ...{ workspace_id: 'w', message_id: message.id, token, provider: 'carrier' },
    abilities: { idempotent: false, lookup: false },
    result: { task: 'send', attempt: 1, outcome } as const,
    at: runtime.now(),
  }
  const plan = planSettle([settlement], state, { newId: runtime.id, random: () => 0 })
  expect(plan.messages).toMatchObject([{ status: 'failed', credits_refunded: SMS_PRICE }])
  expect(plan.entries).toEqual([])
})
