import { beforeEach, describe, expect, it } from 'vitest'
import { createBilling } from '../../src/billing/billing.ts'
import type { ExportedTransaction } from '../../src/billing/transaction-lines.ts'
import { units } from '../../src/contract/fields/units.ts'
import { createCreditSums } from '../../src/credits/credit-sums.ts'
import { createCredits } from '../../src/credits/credits.ts'
import { ledgerJsonLine } from '../../src/credits/ledger-lines.ts'
import { expireLots } from '../../src/credits/lots.ts'
import { statementOf } from '../../src/credits/spending.ts'
import { readLedger } from '../../src/maintenance/ledger/read-ledger.ts'
import { verifyLedgerFiles } from '../../src/maintenance/ledger/verify-files.ts'
import { verifyLedger } from '../../src/maintenance/ledger/verify-ledger.ts'
import { createHistoryRetention } from '../../src/retention/history.ts'
import type { Operation } from '../../src/rules/decide.ts'
import { LEDGER_SECRET } from '../../src/rules/fold.ts'
import { readSecretsKeys } from '../../src/secrets/keys.ts'
import { createSealer, type Sealer } from '../../src/secrets/sealer.ts'
import { createSecrets, secretOpener } from '../../src/secrets/secrets.ts'
import { createSecretsAtRest } from '../../src/secrets-at-rest/secrets-at-rest.ts'
import type { Storage } from '../../src/storage/ports/storage.ts'
import { Sqlite } from '../../src/storage/sqlite/engine/connection.ts'
import { SMS_PRICE } from '../fixtures.ts'
import { connectTo } from '../postgres-client.ts'
import { benchFor, only, receipt } from '../storage/bench.ts'
import { ENGINES } from './engines.ts'
import { historySteps } from './history.ts'

const ASHA = '+255700000009'
const DAY_MS = 24 * 60 * 60_000
const HISTORY_DAYS = 30
const LEDGER_DAYS = 400
const going = () => false
const OF_MESSAGES = ['send', 'refund', 'hold', 'settle', 'void']

/** What breaks a folded ledger, and the check that finds it. */
const CHANGES: readonly [what: string, change: string, check: string][] = [
  ['the balance of the opening', 'update ledger_openings set balance = balance + 1', 'opening'],
  [
    'the opening and the account together',
    `update ledger_openings set balance = balance + 1, amount = amount + 1;
     update credit_accounts set balance = balance + 1;
     update ledger_entries set balance_after = balance_after + 1 where kind = 'send'`,
    'signature',
  ],
  ['the sums', `update ledger_openings set sums = '[]'`, 'opening'],
  ['the hash of the chain', `update ledger_openings set hash = '00'`, 'signature'],
  ['the number', 'update ledger_openings set seq = seq - 1', 'opening'],
  ['the opening itself', 'delete from ledger_openings', 'sequence'],
  ['the signature', `update ledger_openings set signature = ''`, 'signature'],
  ['the sums of removed history', 'update removed_history set charged = 0', 'removed'],
  ['the rows of removed history', 'delete from removed_history', 'removed'],
  [
    'a kept amount',
    `update ledger_entries set amount = amount + 1 where kind = 'grant'`,
    'opening',
  ],
  [
    'a kept description',
    `update ledger_entries set description = 'mine' where kind = 'grant'`,
    'opening',
  ],
  ['a kept entry', `delete from ledger_entries where kind = 'grant'`, 'opening'],
  [
    'an amount after the opening',
    `update ledger_entries set amount = amount - 1 where kind = 'send'`,
    'balance_after',
  ],
  ['an entry after the opening', `delete from ledger_entries where kind = 'send'`, 'seq'],
  ['the secret', `delete from secrets where name = 'ledger'`, 'signature'],
]

async function* asLines(lines: readonly string[]): AsyncGenerator<string> {
  for (const line of lines) yield line.trimEnd()
}

describe.each(ENGINES)('the fold of the ledger on %s', (name, engineOf) => {
  const engine = engineOf()
  const bench = benchFor(engine.open)
  const steps = historySteps(bench)

  const secret = (sealer = createSealer([], bench.clock)) =>
    createSecrets({ storage: bench.storage, runtime: bench.clock, sealer })
  const errors: unknown[] = []
  beforeEach(() => {
    errors.length = 0
  })
  const log = { ...bench.clock.log, error: (fields: unknown) => void errors.push(fields) }
  const fold = async (storage: Storage = bench.storage, sealer?: Sealer) => {
    await createCreditSums(storage).write(going)
    await createHistoryRetention({
      ...{ storage, runtime: { ...bench.clock, log } as typeof bench.clock, days: HISTORY_DAYS },
      ledger: { days: LEDGER_DAYS, key: () => secret(sealer)(LEDGER_SECRET) },
    }).apply(going)
  }
  const pass = (days: number) => {
    engine.advance(days * DAY_MS)
    return bench.clock.advance(days * DAY_MS)
  }
  const verified = async () => {
    const options = { now: bench.clock.now }
    const all = await verifyLedger(engine.url(), options)
    const fast = await verifyLedger(engine.url(), { ...options, fast: true })
    expect(fast).toEqual(all)
    return all
  }
  /** A connection beside the service. */
  const connect = async () => {
    if (name === 'SQLite') {
      const connection = new Sqlite(engine.url().slice('file:'.length))
      const run = async (text: string) => void connection.exec(text)
      return { run, close: async () => void connection.close() }
    }
    const client = await connectTo(engine.url())
    const run = async (text: string) => void (await client.query(text))
    return { run, close: () => client.end() }
  }
  /** Changes the database without the service. */
  const plant = async (text: string) => {
    const { run, close } = await connect()
    await run(text)
    await close()
  }
  /** SQL that also changes entries, which the database refuses. */
  const tampering = (text: string) => {
    const [off, on] =
      name === 'SQLite'
        ? [
            'drop trigger if exists ledger_entries_no_update; drop trigger if exists ledger_entries_no_delete',
            '',
          ]
        : [
            'alter table ledger_entries disable trigger all',
            'alter table ledger_entries enable trigger all',
          ]
    return `${off};${text};${on}`
  }
  const openingOf = (workspaceId: string) => bench.storage.read.ledgerOpenings.of(workspaceId)
  const credits = () => createCredits({ storage: bench.storage, runtime: bench.clock })
  const accepted = { type: 'accepted', provider_message_id: 'P', lookup_after_ms: null } as const

  /** A call that ended after 61 seconds: a hold and its settlement. */
  const call = async (workspaceId: string) => {
    const credits_used = units(3 * SMS_PRICE)
    const request = bench.make.send(workspaceId, { channel: 'voice', credits_used })
    const debit: Operation = {
      ...(request.debit as Operation),
      ...{ kind: 'hold', amount: units(0), held_delta: credits_used },
      ...{ quantity: 3, unit_price: SMS_PRICE },
    }
    await bench.accept({ ...request, debit })
    const message = only(request.messages)
    const due = await bench.claimMessages()
    const claimed = only(due.filter(({ message_id }) => message_id === message.id))
    await bench.settle(claimed, { task: 'send', attempt: 1, outcome: accepted })
    return async () => {
      const ended = { workspace_id: workspaceId, message_id: message.id, token: null }
      const report = { ...receipt('delivered'), duration_s: 61 }
      await bench.settle(ended, { task: 'callback', receipts: [report] })
    }
  }

  const bulk = async (workspaceId: string, count: number) => {
    const request = bench.make.bulk(workspaceId, count)
    await bench.accept({ ...request, bulk: bench.make.bulkRow(request.messages) })
    for (const [i, one] of (await bench.claimMessages({ limit: count })).entries()) {
      const refused = { type: 'rejected', error_code: 'no', error_message: 'no' } as const
      await bench.settle(one, { task: 'send', attempt: 1, outcome: i < 2 ? refused : accepted })
    }
  }

  /** Entries of every kind that messages cause, a grant and an adjustment. */
  const history = async (workspaceId: string) => {
    await steps.done(workspaceId, ASHA)
    await steps.refused(workspaceId, ASHA)
    const end = await call(workspaceId)
    await bulk(workspaceId, 5)
    const adjustment = { amount: units(-7), id: bench.clock.id(), actor: 'me', reason: 'test' }
    await credits().adjust(workspaceId, adjustment)
    await end()
    await steps.done(workspaceId, ASHA)
    return adjustment
  }

  it('replaces the entries of removed messages, and changes no balance, sum or statement', async () => {
    const workspaceId = await bench.workspace(100)
    const adjustment = await history(workspaceId)
    const month = bench.clock.now().toISOString().slice(0, 7)
    const before = await bench.ledger(workspaceId)
    const account = await bench.account(workspaceId)
    const books = await verified()
    expect(books).toMatchObject({ differences: [], openings: 0, folded_entries: 0 })

    pass(LEDGER_DAYS - 1)
    await fold()
    expect(await bench.ledger(workspaceId)).toEqual(before)
    expect(await openingOf(workspaceId)).toBeNull()
    const statement = await statementOf({ storage: bench.storage }, workspaceId, month)

    pass(3)
    const young = await steps.done(workspaceId, ASHA)
    await fold()
    const left = await bench.ledger(workspaceId)
    const kept = before.filter(({ kind }) => !OF_MESSAGES.includes(kind))
    expect(left.map(({ id }) => id)).toEqual([...kept.map(({ id }) => id), left.at(-1)?.id])
    expect(left.at(-1)).toMatchObject({ ref_id: young.id, seq: before.length + 1 })
    const last = before.at(-1)
    expect(await openingOf(workspaceId)).toMatchObject({
      ...{ seq: before.length, balance: last?.balance_after, held: last?.held_after },
      ...{ entries: before.length - kept.length, kept: kept.length, last_at: last?.created_at },
      amount: before
        .filter(({ kind }) => OF_MESSAGES.includes(kind))
        .reduce((sum, { amount }) => sum + amount, 0),
    })
    expect(await bench.account(workspaceId)).toMatchObject({
      balance: account.balance - SMS_PRICE,
    })
    const after = await verified()
    expect(after).toMatchObject({ differences: [], openings: 1, signatures_checked: true })
    expect(after.folded_entries).toBe(before.length - kept.length)
    const entriesOf = (of: typeof books) =>
      of.counter_accounts.map((one) => [one.counter_account, one.entries])
    expect(Object.fromEntries(entriesOf(after))).toEqual({
      ...Object.fromEntries(entriesOf(books)),
      'revenue:sms': (Object.fromEntries(entriesOf(books))['revenue:sms'] as number) + 1,
    })
    expect(await statementOf({ storage: bench.storage }, workspaceId, month)).toEqual(statement)

    // A repetition finds the entry that it had before.
    expect(await credits().adjust(workspaceId, adjustment)).toMatchObject({ repeated: true })
  })

  it('continues an opening, page by page, and begins the sums by day again from it', async () => {
    const workspaceId = await bench.workspace(1_000)
    for (let i = 0; i < 110; i++) await steps.refused(workspaceId, ASHA)
    const month = bench.clock.now().toISOString().slice(0, 7)
    pass(LEDGER_DAYS + 2)
    await history(workspaceId)
    await fold()
    const first = await openingOf(workspaceId)
    expect(first).toMatchObject({ seq: 221, entries: 220, kept: 1 })
    expect(await verified()).toMatchObject({ differences: [], folded_entries: 220 })
    const { closing } = await statementOf({ storage: bench.storage }, workspaceId, month)

    pass(LEDGER_DAYS + 2)
    await bench.queued(workspaceId)
    await fold()
    const second = await openingOf(workspaceId)
    expect(second?.seq).toBeGreaterThan(225)
    expect(second).toMatchObject({ id: first?.id, kept: 2 })
    expect(await verified()).toMatchObject({ differences: [], openings: 1 })

    await plant('delete from credit_days; delete from credit_causes; delete from credit_marks')
    await createCreditSums(bench.storage).write(going)
    const now = bench.clock.now().toISOString().slice(0, 7)
    const again = await statementOf({ storage: bench.storage }, workspaceId, now)
    const { balance, held } = await bench.account(workspaceId)
    expect(again.closing).toBe(balance - held)
    expect(closing).toBe(1_000 * SMS_PRICE)
  })

  it('folds a ledger without grants completely', async () => {
    const workspaceId = await bench.workspace(0)
    await credits().setTerms(workspaceId, { credit_limit: units(10 * SMS_PRICE) })
    await steps.done(workspaceId, ASHA)
    pass(LEDGER_DAYS + 2)
    await fold()
    expect(await bench.ledger(workspaceId)).toEqual([])
    expect(await verified()).toMatchObject({ differences: [], entries: 0, folded_entries: 1 })
    await createCreditSums(bench.storage).write(going)
    await plant(`update credit_accounts set balance = balance + 1`)
    expect((await verified()).differences).toContainEqual(
      expect.objectContaining({ check: 'balance' }),
    )
    await plant(`update credit_accounts set balance = balance - 1`)
    await steps.done(workspaceId, ASHA)
    expect((await verified()).differences).toEqual([])
  })

  it('keeps the entries of a message that exists, and a hold whose call has not ended', async () => {
    const workspaceId = await bench.workspace(100)
    const queued = await bench.queued(workspaceId, {
      scheduled_at: new Date(bench.clock.now().getTime() + 3_000 * DAY_MS),
    })
    const end = await call(workspaceId)
    await steps.done(workspaceId, ASHA)
    // Messages may still end, so that their entries would be replaced.
    pass(LEDGER_DAYS + 130)
    await fold()
    expect(await openingOf(workspaceId)).toBeNull()
    pass(10)
    await fold()
    const left = await bench.ledger(workspaceId)
    expect(left.map(({ kind }) => kind)).toEqual(['grant', 'send', 'hold'])
    expect(left[1]?.ref_id).toBe(queued.id)
    expect((await verified()).differences).toMatchObject([{ check: 'stale_hold' }])
    await end()
    expect((await verified()).differences).toEqual([])
    // The settlement is folded; its hold stays as an entry.
    pass(LEDGER_DAYS + 80)
    await fold()
    expect((await bench.ledger(workspaceId)).map(({ kind }) => kind)).toEqual([
      'grant',
      'send',
      'hold',
    ])
    expect((await verified()).differences).toEqual([])
  })

  it('accepts the end of a hold that was folded', async () => {
    const workspaceId = await bench.workspace(1_000)
    for (let i = 0; i < 99; i++) await steps.refused(workspaceId, ASHA)
    // The hold is entry 200, the last one of a step.
    const end = await call(workspaceId)
    await end()
    pass(LEDGER_DAYS + 2)
    let writes = 0
    const stopping: Storage = {
      ...bench.storage,
      write: (work) => {
        writes += 1
        return bench.storage.write(work)
      },
    }
    await createCreditSums(bench.storage).write(going)
    const retention = createHistoryRetention({
      ...{ storage: stopping, runtime: bench.clock, days: HISTORY_DAYS },
      ledger: { days: LEDGER_DAYS, key: () => secret()(LEDGER_SECRET) },
    })
    const isFolded = async () => (await openingOf(workspaceId)) !== null
    for (let tries = 0; tries < 100 && !(await isFolded()); tries++) {
      // A look at the log of events, a look for workspaces, and one step.
      const until = writes + 3
      await retention.apply(() => writes >= until)
    }
    expect(await openingOf(workspaceId)).toMatchObject({ seq: 200, held: 3 * SMS_PRICE })
    expect((await bench.ledger(workspaceId)).map(({ kind }) => kind)).toEqual(['grant', 'settle'])
    expect((await verified()).differences).toEqual([])
    await retention.apply(going)
    expect((await bench.ledger(workspaceId)).map(({ kind }) => kind)).toEqual(['grant'])
    expect((await verified()).differences).toEqual([])
  })

  it('lets grants expire as they would have', async () => {
    const expired = async (folds: boolean) => {
      const workspaceId = await bench.workspace(0)
      const expires_at = new Date(bench.clock.now().getTime() + 900 * DAY_MS)
      const amount = units(10 * SMS_PRICE)
      await credits().grant(workspaceId, { amount, actor: 'operator', expires_at })
      await bulk(workspaceId, 6)
      await steps.done(workspaceId, ASHA)
      pass(LEDGER_DAYS + 2)
      // The messages of two refunds stay until the lot has counted them, and their entries with them.
      if (folds) await fold()
      if (folds) await fold()
      await steps.done(workspaceId, ASHA)
      expect(await bench.ledger(workspaceId)).toHaveLength(folds ? 2 : 6)
      expect((await verified()).differences).toEqual([])
      const lots = await credits().lots(workspaceId)
      expect(lots).toMatchObject([{ remaining: 4 * SMS_PRICE }])
      pass(900)
      await expireLots({ storage: bench.storage, runtime: bench.clock }, bench.clock.now(), 100)
      expect((await verified()).differences).toEqual([])
      return (await bench.account(workspaceId)).balance
    }
    expect(await expired(true)).toBe(await expired(false))
  })

  it('leaves nothing wrong after a crash between any two steps', async () => {
    const workspaceId = await bench.workspace(1_000)
    for (let i = 0; i < 110; i++) await steps.refused(workspaceId, ASHA)
    const sum = (await bench.account(workspaceId)).balance
    pass(LEDGER_DAYS + 2)
    let crashes = 0
    for (let at = 1; ; at++) {
      let writes = 0
      const crashing: Storage = {
        ...bench.storage,
        // The transaction fails after its work, so it is rolled back.
        write: (work) =>
          bench.storage.write(async (stores) => {
            const result = await work(stores)
            writes += 1
            if (writes === at) throw new Error('crashed')
            return result
          }),
      }
      const ended = await fold(crashing)
        .then(() => true)
        .catch(() => false)
      expect((await verified()).differences).toEqual([])
      if (ended) break
      crashes += 1
    }
    expect(crashes).toBeGreaterThan(2)
    expect(await openingOf(workspaceId)).toMatchObject({ seq: 221, entries: 220 })
    expect((await bench.account(workspaceId)).balance).toBe(sum)
  })

  it('runs beside sends, refunds and a second fold', async () => {
    const workspaceId = await bench.workspace(1_000)
    for (let i = 0; i < 60; i++) await steps.refused(workspaceId, ASHA)
    pass(LEDGER_DAYS + 2)
    const sends = async () => {
      for (let i = 0; i < 30; i++) await bench.queued(workspaceId)
      for (const one of await bench.claimMessages({ limit: 30 })) {
        const outcome = { type: 'rejected', error_code: 'no', error_message: 'no' } as const
        await bench.settle(one, { task: 'send', attempt: 1, outcome })
      }
    }
    await Promise.all([fold(), sends(), fold(), sends()])
    await fold()
    expect(await openingOf(workspaceId)).toMatchObject({ seq: 121, entries: 120 })
    expect(await verified()).toMatchObject({ differences: [], folded_entries: 120 })
    expect((await bench.account(workspaceId)).balance).toBe(1_000 * SMS_PRICE)
  })

  it('is verifiable: each change of it, of what it replaces and of what is left is found', async () => {
    const workspaceId = await bench.workspace(100)
    await history(workspaceId)
    pass(LEDGER_DAYS + 2)
    await steps.done(workspaceId, ASHA)
    await fold()
    expect((await verified()).differences).toEqual([])
    const { run, close } = await connect()
    const tables = [
      'ledger_openings',
      'ledger_entries',
      'credit_accounts',
      'removed_history',
      'secrets',
    ]
    for (const table of tables)
      await run(`create temp table kept_${table} as select * from ${table}`)
    const restoration = tables.map(
      (table) => `delete from ${table}; insert into ${table} select * from kept_${table}`,
    )
    for (const [what, change, check] of CHANGES) {
      await run(tampering(change))
      for (const fast of [false, true]) {
        const { differences } = await verifyLedger(engine.url(), { now: bench.clock.now, fast })
        const checks = differences.map((each) => each.check)
        expect([what, checks]).toEqual([what, expect.arrayContaining([check])])
      }
      await run(tampering(restoration.join(';')))
    }
    expect((await verified()).differences).toEqual([])
    await close()
  })

  it('is one transaction in the list, before the older ones that are kept', async () => {
    const billing = createBilling({
      ...{ storage: bench.storage, runtime: bench.clock, packages: [], payments: null },
    })
    const workspaceId = await bench.workspace(100)
    await history(workspaceId)
    pass(LEDGER_DAYS + 2)
    await fold()
    const opening = await openingOf(workspaceId)
    for (const newer of [0, 2]) {
      for (let i = 0; i < newer; i++) await bench.queued(workspaceId)
      const rows = (await bench.ledger(workspaceId)).toReversed()
      const ids = rows.map(({ id }) => id)
      const expected = [...ids.slice(0, newer), opening?.id, ...ids.slice(newer)]
      for (let limit = 1; limit <= expected.length + 1; limit++) {
        const [walked, skipped]: [string[], string[]] = [[], []]
        for (let after: string | null | undefined; after !== null; ) {
          const page = await billing.transactions(workspaceId, {
            ...{ limit, offset: 0, after: after ?? undefined },
          })
          expect(page.total).toBe(expected.length)
          walked.push(...page.transactions.map(({ id }) => id))
          after = page.next_after
        }
        expect(walked).toEqual(expected)
        for (let offset = 0; offset < expected.length; offset += limit) {
          const { transactions } = await billing.transactions(workspaceId, { limit, offset })
          skipped.push(...transactions.map(({ id }) => id))
        }
        expect(skipped).toEqual(expected)
      }
      const all = { limit: 50, offset: 0 }
      const { transactions } = await billing.transactions(workspaceId, all)
      for (const [i, { credits, balance_after }] of transactions.slice(0, newer).entries()) {
        expect(balance_after).toBe((transactions[i + 1]?.balance_after ?? 0) + credits)
      }
      for (let limit = 1; limit <= expected.length + 1; limit++) {
        const exported: ExportedTransaction[] = []
        for (let after: string | undefined; ; ) {
          const part: ExportedTransaction[] = []
          for await (const page of billing.exportTransactions(workspaceId, { limit, after })) {
            part.push(...page)
          }
          exported.push(...part)
          if (part.length < limit) break
          after = String(part.at(-1)?.number)
        }
        expect(exported.map(({ number: _, ...one }) => one)).toEqual(transactions)
        const sum = exported.reduce((sum, { credits }) => sum + credits, 0)
        const { balance, held } = await bench.account(workspaceId)
        expect(sum).toBe(balance - held)
        expect(exported[newer]?.number).toBe((opening?.seq ?? 0) + 0.5)
      }
      const funding = await billing.transactions(workspaceId, { ...all, is_funding: true })
      expect(funding.transactions.map(({ type }) => type)).toEqual(['adjustment', 'grant'])
    }
  })

  it('is signed again after the key of the secrets was lost', async () => {
    const sealers = ['a', 'b'].map((letter) => {
      const keys = readSecretsKeys([letter.repeat(64)])
      const plain = createSealer(keys, bench.clock, null)
      return { keys, sealer: createSealer(keys, bench.clock), plain }
    })
    const [lost, next] = sealers as [(typeof sealers)[0], (typeof sealers)[0]]
    const workspaceId = await bench.workspace(100)
    await history(workspaceId)
    pass(LEDGER_DAYS + 2)
    await fold(bench.storage, lost.sealer)
    const verifiedBy = async (keys: typeof lost.keys) => {
      const openKey = secretOpener(LEDGER_SECRET, keys)
      const { ok, signatures_checked } = await verifyLedger(engine.url(), {
        ...{ now: bench.clock.now, openKey },
      })
      return { ok, signatures_checked }
    }
    expect(await verified()).toMatchObject({ ok: true, signatures_checked: false })
    expect(await verifiedBy(lost.keys)).toEqual({ ok: true, signatures_checked: true })
    expect(await verifiedBy(next.keys)).toEqual({ ok: true, signatures_checked: false })
    const atRest = createSecretsAtRest({
      ...{ storage: bench.storage, runtime: bench.clock, ...next },
    })
    expect(await atRest.discard()).toMatchObject({ secrets: 1 })
    expect(await verifiedBy(next.keys)).toEqual({ ok: true, signatures_checked: true })
    await history(workspaceId)
    pass(LEDGER_DAYS + 2)
    await fold(bench.storage, next.sealer)
    expect(errors).toEqual([])
    expect(await openingOf(workspaceId)).toMatchObject({ kept: 3 })
    expect(await verifiedBy(next.keys)).toEqual({ ok: true, signatures_checked: true })
  })

  it('leaves files of all entries, which prove the openings', async () => {
    const workspaceId = await bench.workspace(100)
    await history(workspaceId)
    const exported = async () => {
      const lines: string[] = []
      await readLedger(engine.url(), {}, async (entries) => {
        lines.push(...entries.map(ledgerJsonLine))
      })
      return lines
    }
    const compare = (...files: string[][]) =>
      verifyLedgerFiles(
        engine.url(),
        files.map((lines, i) => ({ name: `${i}`, lines: asLines(lines) })),
        { openKey: (value) => value },
      )
    const first = await exported()
    expect(await compare(first)).toMatchObject({ ok: true, entries: first.length, openings: 0 })
    pass(LEDGER_DAYS + 2)
    await history(workspaceId)
    await fold()
    const second = await exported()
    expect(second.length).toBeLessThan(2 * first.length)
    pass(LEDGER_DAYS + 2)
    await fold()
    const third = await exported()
    expect(third.map((line) => JSON.parse(line).kind)).toContain('opening')
    const complete = await compare(first, second)
    expect(complete).toMatchObject({ ok: true, openings: 1, signatures_checked: true })
    expect(complete.entries).toBe(2 * first.length - 1)
    // A later file alone begins with an opening, whose hash its entries prove.
    expect(await compare(second)).toMatchObject({ ok: true, openings: 1 })
    expect(await compare(third)).toMatchObject({ ok: true, entries: 1, openings: 1 })

    const checksOf = async (...files: string[][]) =>
      (await compare(...files)).differences.map(({ check }) => check)
    const changed = (lines: string[], from: string, to: string) =>
      lines.map((line, i) => (i === 1 ? line.replace(from, to) : line))
    expect(await checksOf(changed(first, '"amount":-1', '"amount":-2'), second)).toContain(
      'balance_after',
    )
    expect(await checksOf(changed(first, 'revenue:sms', 'revenue:sma'), second)).toEqual(['hash'])
    expect(await checksOf(first)).toEqual(['missing'])
    expect(await checksOf(first.slice(0, -1), second)).toEqual(['missing'])
    expect(await checksOf([first[0] as string, ...first.slice(2)])).toEqual(['sequence'])
    await expect(compare(['{}'])).rejects.toThrow('0, line 1: not an entry of a ledger')
    await plant(`update ledger_openings set signature = ''`)
    expect(await checksOf(first, second)).toEqual(['signature'])
  })

  it('builds nothing on an opening whose signature is not valid', async () => {
    const workspaceId = await bench.workspace(100)
    await history(workspaceId)
    pass(LEDGER_DAYS + 2)
    await fold()
    await history(workspaceId)
    await plant('update ledger_openings set charged = charged + 1')
    const before = await bench.ledger(workspaceId)
    pass(LEDGER_DAYS + 2)
    await fold()
    expect(await bench.ledger(workspaceId)).toEqual(before)
    expect(errors).toEqual([{ workspace_id: workspaceId }])
  })

  it('is the only way to remove an entry', async () => {
    const workspaceId = await bench.workspace(100)
    await history(workspaceId)
    const young = `delete from ledger_entries where workspace_id = '${workspaceId}' and kind = 'send'`
    await expect(plant(young)).rejects.toThrow('append-only')
    pass(LEDGER_DAYS + 2)
    await fold()
    await expect(plant(`delete from ledger_entries where kind = 'grant'`)).rejects.toThrow(
      'append-only',
    )
    await expect(plant('update ledger_entries set amount = amount + 1')).rejects.toThrow(
      'append-only',
    )
  })
})
