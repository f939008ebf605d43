import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setImmediate as turn } from 'node:timers/promises'
import { verifyLedger } from '@svc/core/operate'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createDatabase, type TestDatabase } from '../../../core/test/postgres-database.ts'
import type { Account } from '../accounts.ts'
import { openWorld, type World } from '../world.ts'

/** The e-mails of a batch, each to two recipients with a content of its own. */
const SIZE = 10
const PRICE = 0.2

const emailTo = (n: number) => ({
  from: 'Acme <shop@acme.example>',
  to: `asha${n}@example.com`,
  cc: `juma${n}@example.com`,
  subject: `Order ${n}`,
  html: `<p>Order ${n} is ready</p>`,
})
const BATCH = Array.from({ length: SIZE }, (_, n) => emailTo(n))
const LAST = emailTo(SIZE - 1)

/** The number of turns of the event loop after which the other change of a race begins: up to the end of a batch. */
const DELAYS = [0, 1, 2, 4, 8, 16, 32, 64, 128, 256]

interface ResendAnswer {
  id?: string
  name?: string
  message?: string
  data?: { id: string }[]
  errors?: { index: number; message: string }[]
}

describe.each(['SQLite', 'PostgreSQL'])('a batch of Resend with %s', (engine) => {
  const folder = mkdtempSync(join(tmpdir(), 'svc-batch-'))
  let database: Pick<TestDatabase, 'url' | 'drop'>
  let world: World
  beforeAll(async () => {
    const remove = async () => rmSync(folder, { recursive: true })
    const file = { url: `file:${join(folder, 'svc.db')}`, drop: remove }
    database = engine === 'PostgreSQL' ? await createDatabase() : file
    world = await openWorld({ database_url: database.url })
  })
  afterAll(async () => {
    await world.close()
    await database.drop()
  })

  async function sender(request: Record<string, unknown> = {}, credits = 1_000) {
    const owner = await world.signup({ credits })
    const { key } = await world.key(owner, request)
    async function post(path: string, json: object, headers: Record<string, string> = {}) {
      const answer = await world.app.inject({
        method: 'POST',
        url: `/compat/resend/${path}`,
        payload: json,
        headers: { authorization: `Bearer ${key}`, ...headers },
      })
      return { status: answer.statusCode, ...(answer.json() as ResendAnswer) }
    }
    return {
      owner,
      batch: (json: object[] = BATCH, headers?: Record<string, string>) =>
        post('emails/batch', json, headers),
      email: (json: object = emailTo(0)) => post('emails', json),
    }
  }

  const written = async (owner: Account) => (await world.written(owner)).messages

  /** The debits of a workspace, newest first, in credits. */
  async function debits({ id }: Account): Promise<number[]> {
    const entries = await world.core.credits.entries(id, { limit: 1_000, offset: 0 })
    return entries.flatMap(({ kind, amount }) => (kind === 'send' ? [-amount / 1_000_000] : []))
  }

  /** Runs a change beside a batch, at several times; each batch must be stored completely or not at all. */
  async function race(
    change: (owner: Account) => Promise<unknown>,
    undo: (owner: Account) => Promise<unknown>,
  ): Promise<void> {
    const { owner, batch } = await sender()
    for (const delay of DELAYS) {
      const before = await written(owner)
      const sending = batch()
      for (let n = 0; n < delay; n++) await turn()
      const [{ status }] = await Promise.all([sending, change(owner)])
      await undo(owner)
      expect([delay, (await written(owner)) - before]).toEqual([delay, status === 200 ? SIZE : 0])
    }
    expect((await batch()).status).toBe(200)
    expect(new Set(await debits(owner))).toEqual(new Set([SIZE * PRICE]))
  }

  it('is one commit with one debit, beside a freeze', async () => {
    const setStatus = (status: 'frozen' | 'active') => (owner: Account) =>
      world.core.credits.setTerms(owner.id, { status, ...(status === 'frozen' && { reason: 'a' }) })
    await race(setStatus('frozen'), setStatus('active'))
  })

  it('is one commit with one debit, beside a suppression of its last copy', async () => {
    const address = { channel: 'email', address: LAST.cc } as const
    await race(
      ({ id }) => world.core.suppressions.add(id, address),
      ({ id }) => world.core.suppressions.remove(id, address),
    )
  })

  it('is one commit with one debit, beside other sends that spend the credits', async () => {
    // Enough for one batch and a half.
    const credits = SIZE * PRICE * 1.5
    const { owner, batch, email } = await sender({}, credits)
    const answers = await Promise.all([
      ...[1, 2, 3].map(() => batch()),
      ...Array.from({ length: SIZE }, () => email()),
    ])
    const ids = answers.flatMap(({ data = [], ...one }) =>
      one.id === undefined ? data.map(({ id }) => id) : [one.id],
    )
    expect(await written(owner)).toBe(ids.length)
    const batches = answers.slice(0, 3).map(({ data = [] }) => data.length)
    expect(batches.every((length) => length === 0 || length === SIZE)).toBe(true)
    const spent = (await debits(owner)).reduce((sum, one) => sum + one, 0)
    expect(spent).toBeCloseTo(ids.length * PRICE, 6)
    expect(await world.balance(owner)).toBeCloseTo(credits - spent, 6)
  })

  it('is one commit with one debit, also from several templates and without one', async () => {
    const { owner, batch } = await sender()
    const { templates } = world.core
    for (const name of ['ready', 'late']) {
      const content = { subject: `${name} {{n}}`, html: '<p>{{n}}</p>' }
      const variants = [{ channel: 'email', locale: 'en', content }]
      await templates.create(owner.id, { name, variants } as never)
      await templates.publish(owner.id, name)
    }
    const mails = BATCH.map(({ subject, html, ...mail }, n) =>
      n % 3 === 2
        ? { ...mail, subject, html }
        : { ...mail, template: { id: ['ready', 'late'][n % 3], variables: { n } } },
    )
    const lacking = mails.map((mail, n) => (n === 7 ? { ...mail, template: { id: 'late' } } : mail))
    expect(await batch(lacking)).toMatchObject({ status: 422, message: 'No value for {{n}}' })
    expect([await written(owner), await debits(owner)]).toEqual([0, []])
    const { status, data = [] } = await batch(mails)
    expect(status).toBe(200)
    expect(await debits(owner)).toEqual([SIZE * PRICE])
    const sent = await Promise.all(data.map(({ id }) => world.core.messages.get(owner.id, id)))
    expect(sent.map(({ template, content }) => [template?.name, content])).toMatchObject(
      BATCH.map(({ subject }, n) => {
        const name = ['ready', 'late', undefined][n % 3]
        return [name, { subject: name ? `${name} ${n}` : subject }]
      }),
    )
    expect(new Set(sent.map(({ bulk_id }) => bulk_id)).size).toBe(1)
  })

  it('counts in the daily limit of its key as a whole', async () => {
    const { owner, batch } = await sender({ daily_credit_limit: SIZE * PRICE - 0.1 })
    expect(await batch()).toMatchObject({ status: 429, name: 'daily_quota_exceeded' })
    expect(await written(owner)).toBe(0)
    expect((await batch(BATCH.slice(1))).status).toBe(200)
  })

  it('is stored once for concurrent requests with one idempotency key', async () => {
    const { owner, batch } = await sender()
    const answers = await Promise.all(
      [1, 2, 3].map(() => batch(BATCH, { 'idempotency-key': 'one' })),
    )
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200])
    expect(new Set(answers.map(({ data }) => JSON.stringify(data))).size).toBe(1)
    expect(await debits(owner)).toEqual([SIZE * PRICE])
    expect(await written(owner)).toBe(SIZE)
  })

  it('names the e-mail with a suppressed recipient; permissive sends the others', async () => {
    const { owner, batch } = await sender()
    await world.core.suppressions.add(owner.id, { channel: 'email', address: LAST.cc })
    const message = expect.stringContaining('The recipient is suppressed')
    expect(await batch()).toMatchObject({ status: 422, name: 'validation_error', message })
    expect(await written(owner)).toBe(0)
    const headers = { 'x-batch-validation': 'permissive', 'idempotency-key': 'two' }
    const mails = [{ ...emailTo(0), to: 'asha' }, ...BATCH.slice(1)]
    const sent = await batch(mails, headers)
    expect(sent.errors).toEqual([
      { index: 0, message: expect.stringContaining('Invalid `to` field') },
      { index: SIZE - 1, message },
    ])
    expect(sent.data).toHaveLength(SIZE - 2)
    expect(await batch(mails, headers)).toEqual(sent)
    expect(await debits(owner)).toEqual([(SIZE - 2) * PRICE].map((one) => expect.closeTo(one, 6)))
    const none = await batch([LAST], { 'x-batch-validation': 'permissive' })
    expect(none).toMatchObject({ status: 200, data: [], errors: [{ index: 0, message }] })
  })

  it('leaves books without a difference', async () => {
    await world.settle()
    expect(await verifyLedger(database.url, { now: world.now })).toMatchObject({ ok: true })
  })
})
