import { describe, expect, it } from 'vitest'
import type { Account } from './accounts.ts'
import type { Answer } from './every-answer.ts'
import { refusal } from './refusal.ts'
import { useWorld } from './world.ts'

const world = useWorld()

const atOnce = (count: number, request: (i: number) => Promise<Answer>): Promise<Answer[]> =>
  Promise.all(Array.from({ length: count }, (_, i) => request(i)))

/** The number of answers with each status. */
function countsOf(answers: readonly Answer[]): Record<number, number> {
  const counts: Record<number, number> = {}
  for (const { status } of answers) counts[status] = (counts[status] ?? 0) + 1
  return counts
}

/** Throws unless the ledger has no gap and each entry continues the one before. */
async function checkLedger({ id }: Account): Promise<void> {
  const entries = await world().core.credits.entries(id, { limit: 1_000, offset: 0 })
  let balance = 0
  for (const [i, entry] of entries.reverse().entries()) {
    balance += entry.amount
    expect([entry.seq, entry.balance_after]).toStrictEqual([i + 1, balance])
    expect(balance).toBeGreaterThanOrEqual(0)
  }
}

describe('concurrent sends', () => {
  it('with credit for one of 200: one is sent, the others get insufficient_credits', async () => {
    const account = await world().signup({ credits: 1 })
    const { key } = await world().key(account)
    const answers = await atOnce(200, () => world().send(key))
    expect(countsOf(answers)).toStrictEqual({ 201: 1, 402: 199 })
    const refused = answers.find(({ status }) => status === 402)
    expect(refused?.body).toStrictEqual(
      refusal('insufficient_credits', 'Not enough credits. You need 1 credits but have 0.'),
    )
    expect(await world().balance(account)).toBe(0)
    // The grant and the debit.
    expect(await world().written(account)).toStrictEqual({ messages: 1, entries: 2 })
    await checkLedger(account)
  })

  it('spend all credits exactly, through several keys, while credits are added', async () => {
    const account = await world().signup({ credits: 20 })
    const keys = await Promise.all([1, 2, 3].map(() => world().key(account)))
    const sending = atOnce(90, (i) => world().send(keys[i % 3]?.key ?? ''))
    await Promise.all(Array.from({ length: 10 }, () => world().grant(account, 1)))
    const { 201: sent = 0, 402: refused = 0 } = countsOf(await sending)
    expect(sent + refused).toBe(90)
    expect(sent).toBeGreaterThanOrEqual(20)
    expect(await world().balance(account)).toBe(30 - sent)
    expect((await world().written(account)).messages).toBe(sent)
    await checkLedger(account)
  })

  it('of two workspaces do not affect each other', async () => {
    const rich = await world().signup({ credits: 50 })
    const poor = await world().signup({ credits: 1 })
    const keys = [await world().key(rich), await world().key(poor)]
    const answers = await atOnce(100, (i) => world().send(keys[i % 2]?.key ?? ''))
    expect(countsOf(answers.filter((_, i) => i % 2 === 0))).toStrictEqual({ 201: 50 })
    expect(countsOf(answers.filter((_, i) => i % 2 === 1))).toStrictEqual({ 201: 1, 402: 49 })
  })
})

describe('one Idempotency-Key in concurrent requests', () => {
  it('sends one message, and gives all requests the same answer', async () => {
    const account = await world().signup({ credits: 1 })
    const { key } = await world().key(account)
    const answers = await atOnce(50, () => world().send(key, {}, { 'idempotency-key': 'one' }))
    expect(countsOf(answers)).toStrictEqual({ 201: 50 })
    expect(new Set(answers.map(({ text }) => text)).size).toBe(1)
    const replayed = answers.filter(({ headers }) => headers['idempotent-replayed'] === 'true')
    expect(replayed).toHaveLength(49)
    expect(await world().balance(account)).toBe(0)
    expect(await world().written(account)).toStrictEqual({ messages: 1, entries: 2 })
  })

  it('belongs to the first of two bodies; the other is refused', async () => {
    const account = await world().signup({ credits: 50 })
    const { key } = await world().key(account)
    const answers = await atOnce(50, (i) =>
      world().send(key, { content: { text: `body ${i % 2}` } }, { 'idempotency-key': 'two' }),
    )
    expect(countsOf(answers)).toStrictEqual({ 201: 25, 400: 25 })
    expect((await world().written(account)).messages).toBe(1)
  })

  it('is free again after a refused request', async () => {
    const account = await world().signup()
    const { key } = await world().key(account)
    const send = () => world().send(key, {}, { 'idempotency-key': 'free' })
    expect(countsOf(await atOnce(20, send))).toStrictEqual({ 402: 20 })
    await world().grant(account, 5)
    expect(countsOf(await atOnce(20, send))).toStrictEqual({ 201: 20 })
    expect(await world().balance(account)).toBe(4)
  })
})

it('a key that is being deactivated fails in all requests after the answer', async () => {
  const account = await world().signup({ credits: 1_000 })
  const { id, key } = await world().key(account)
  const before = atOnce(50, () => world().send(key))
  const deactivating = world().call('DELETE', `/api/v1/api-keys/${id}`, { token: account.token })
  const during = atOnce(50, () => world().send(key))
  expect((await deactivating).status).toBe(200)
  const after = await atOnce(50, () => world().send(key))
  expect(countsOf(after)).toStrictEqual({ 401: 50 })
  expect(after[0]?.body).toStrictEqual(refusal('unauthorized', 'API key has been deactivated'))
  const { 201: sent = 0, 401: refused = 0 } = countsOf([...(await before), ...(await during)])
  expect(sent + refused).toBe(100)
  expect((await world().written(account)).messages).toBe(sent)
  expect(await world().balance(account)).toBe(1_000 - sent)
})

it('of concurrent signups with one e-mail address, one succeeds', async () => {
  const list = () => world().core.workspaces.list({ limit: 1_000, offset: 0 })
  const before = (await list()).length
  const answers = await atOnce(10, (i) =>
    world().call('POST', '/api/v1/auth/signup', {
      json: {
        email: i % 2 ? 'wanted@example.com' : 'WANTED@example.com',
        password: 'long enough',
        company_name: `Company ${i}`,
      },
    }),
  )
  expect(countsOf(answers)).toStrictEqual({ 201: 1, 400: 9 })
  const refused = answers.find(({ status }) => status === 400)
  expect(refused?.body.message).toBe('Email already exists')
  expect((await list()).length).toBe(before + 1)
})

it('of concurrent deletions of one webhook, one succeeds', async () => {
  const { token } = await world().signup()
  const { id } = await world().webhook({ token })
  const remove = () => world().call('DELETE', `/api/v1/webhooks/${id}`, { token })
  expect(countsOf(await atOnce(20, remove))).toStrictEqual({ 200: 1, 404: 19 })
})
