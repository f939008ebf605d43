import { expect, it } from 'vitest'
import { createBilling } from '../../src/billing/billing.ts'
import type { Notification, PaymentProvider, PaymentState } from '../../src/billing/payment.ts'
import { parseCredits, units } from '../../src/contract/fields/units.ts'
import { createCredits } from '../../src/credits/credits.ts'
import type { PurchaseRow } from '../../src/rows/rows.ts'
import { benchFor, EVERYTHING, type OpenStorage, only } from './bench.ts'

const PACKAGE = {
  id: 'starter',
  name: 'Starter',
  description: '',
  credits: parseCredits('1000'),
  bonus_credits: parseCredits('0.000001'),
  price: { amount: 3_000, currency: 'USD' },
}
const CREDITS = 1_000_000_001
const HINT: Notification = { body: new Uint8Array(), signature: undefined }

/** A provider whose one payment stands as the test says; every call takes a few turns of the event loop. */
function playedProvider(sessionId: () => string) {
  let stands: Partial<PaymentState> = {}
  let sessions = 0
  let looks = 0
  let held = Promise.resolve()
  const turns = async (count: number) => {
    for (let i = 0; i < count; i++) await new Promise((resolve) => setImmediate(resolve))
  }
  const provider: PaymentProvider = {
    name: 'played',
    async open({ purchase_id }) {
      sessions += 1
      await turns(sessions % 3)
      const session_id = `session of ${purchase_id}`
      return { session_id, checkout_url: `https://pay.example/${session_id}` }
    },
    read: async () => ({ session_id: sessionId() }),
    async look({ amount, currency }) {
      const seen = stands
      looks += 1
      await held
      await turns((seen.reversed ?? 0) % 7)
      return { status: 'open', amount, currency, reversed: 0, disputed: false, ...seen }
    },
    async refund() {
      stands = { ...stands, reversed: PACKAGE.price.amount }
    },
  }
  return {
    provider,
    /** The number of queries. */
    looks: () => looks,
    /** Holds the responses to later queries until they are released. */
    hold(): () => void {
      let letGo = () => {}
      held = new Promise((resolve) => {
        letGo = resolve
      })
      return letGo
    },
    /** Those who look from now on go on at once. */
    pass() {
      held = Promise.resolve()
    },
    /** How the payment stands from now on. */
    set(next: Partial<PaymentState>) {
      stands = next
    },
  }
}

/** Purchases: whatever is heard of them, in whatever order, the credits are what the payment is worth. */
export function purchasesContract(open: OpenStorage): void {
  const bench = benchFor(open)

  async function shop() {
    const workspaceId = await bench.workspace(0)
    let sessionId = ''
    const payment = playedProvider(() => sessionId)
    const billing = createBilling({
      storage: bench.storage,
      runtime: bench.clock,
      packages: [PACKAGE],
      payments: payment.provider,
    })
    const checkout = (idempotency_key?: string, more: object = {}) =>
      billing.checkout(workspaceId, { package_id: 'starter', ...more }, { idempotency_key })
    const { data } = await checkout()
    sessionId = data.session_id
    const purchase = async (): Promise<PurchaseRow> => {
      const row = await bench.storage.read.purchases.byId(workspaceId, data.purchase_id)
      if (!row) throw new Error('the purchase is missing')
      return row
    }
    const entries = async () =>
      (await bench.ledger(workspaceId)).map(({ kind, amount }) => [kind, amount])
    const notify = () => billing.notify(HINT)
    return { ...payment, billing, workspaceId, data, checkout, purchase, entries, notify }
  }

  it('changes a purchase only as it was read', async () => {
    const { purchase } = await shop()
    const read = await purchase()
    const updated_at = bench.clock.advance(1_000)
    const change = (status: 'paid' | 'failed') =>
      bench.storage.write(({ purchases }) => purchases.change(read, { status, updated_at }))
    // On PostgreSQL either may come first.
    const changed = await Promise.all([change('paid'), change('failed')])
    expect(changed.filter(Boolean)).toHaveLength(1)
    expect(await purchase()).toEqual({
      ...read,
      status: changed[0] ? 'paid' : 'failed',
      version: read.version + 1,
      updated_at,
    })
    const foreign = { ...(await purchase()), workspace_id: await bench.workspace(0) }
    expect(
      await bench.storage.write(({ purchases }) => purchases.change(foreign, { updated_at })),
    ).toBe(false)
  })

  it('finds a purchase by its session, and none by another', async () => {
    const { data, purchase } = await shop()
    const { purchases } = bench.storage.read
    expect(await purchases.bySession(data.session_id)).toEqual(await purchase())
    expect(await purchases.bySession('another')).toBeNull()
  })

  it('keeps the first answer of a key, for all that come at once', async () => {
    const workspaceId = await bench.workspace(0)
    const answer = { route: 'billing.checkout', key: 'k', request_hash: 'h', response: '{}' }
    const keep = (response: string) =>
      bench.storage.write(({ idempotencyRecords }) =>
        idempotencyRecords.keepFirst(workspaceId, { ...answer, response }, bench.clock.now()),
      )
    const kept = await Promise.all(Array.from({ length: 10 }, (_, i) => keep(`{"n":${i}}`)))
    expect(kept.filter(Boolean)).toHaveLength(1)
    const { byKey } = bench.storage.read.idempotencyRecords
    const response = `{"n":${kept.indexOf(true)}}`
    expect(await byKey(workspaceId, answer)).toEqual({ request_hash: 'h', response })
    await bench.storage.write(({ idempotencyRecords }) =>
      idempotencyRecords.forget(workspaceId, answer),
    )
    expect(await byKey(workspaceId, answer)).toBeNull()
  })

  it('grants once, however often and simultaneously it is reported', async () => {
    const { set, notify, purchase, entries, workspaceId } = await shop()
    await notify()
    expect(await entries()).toEqual([])
    set({ status: 'paid' })
    await Promise.all(Array.from({ length: 12 }, notify))
    await notify()
    expect(await entries()).toEqual([['purchase', CREDITS]])
    expect(await purchase()).toMatchObject({ status: 'paid', paid_at: bench.clock.now() })
    expect(await bench.account(workspaceId)).toMatchObject({ balance: CREDITS, seq: 1 })
  })

  it('takes back what went back, gives it again, and takes all of it in the end', async () => {
    const { set, notify, purchase, entries, workspaceId, billing, data } = await shop()
    const steps: [Partial<PaymentState>, string][] = [
      [{ status: 'paid', reversed: 1_000 }, 'paid'],
      [{ status: 'paid', reversed: 3_000, disputed: true }, 'disputed'],
      [{ status: 'paid' }, 'paid'],
    ]
    for (const [state, status] of steps) {
      set(state)
      await notify()
      await notify()
      expect(await purchase()).toMatchObject({ status })
    }
    // A third of it, rounded in the workspace's favour.
    const third = Math.floor(CREDITS / 3)
    expect(await entries()).toEqual([
      ['purchase', CREDITS - third],
      ['purchase_adjust', third - CREDITS],
      ['purchase_adjust', CREDITS],
    ])
    const spent = bench.make.send(workspaceId, { credits_used: units(CREDITS) })
    await bench.storage.hot.accept([spent])
    await billing.refund(workspaceId, data.purchase_id)
    await billing.refund(workspaceId, data.purchase_id)
    expect(await purchase()).toMatchObject({ status: 'refunded' })
    expect(await bench.account(workspaceId)).toMatchObject({ balance: -CREDITS })
  })

  it('books the purchase itself first, also where all of it had gone back when it was first heard of', async () => {
    const { set, notify, entries, purchase } = await shop()
    set({ status: 'paid', reversed: 3_000 })
    await notify()
    expect(await purchase()).toMatchObject({ status: 'refunded' })
    expect(await entries()).toEqual([])
    set({ status: 'paid' })
    await notify()
    set({ status: 'paid', reversed: 3_000 })
    await notify()
    expect(await entries()).toEqual([
      ['purchase', CREDITS],
      ['purchase_adjust', -CREDITS],
    ])
  })

  it('takes nothing that the operator gave under the id of the purchase', async () => {
    const { set, notify, data, entries, workspaceId } = await shop()
    const credits = createCredits({ storage: bench.storage, runtime: bench.clock })
    const fields = { id: data.purchase_id, amount: units(7), actor: 'operator' }
    set({ status: 'paid' })
    await notify()
    await credits.grant(workspaceId, fields)
    await credits.adjust(workspaceId, { ...fields, reason: 'an outage' })
    await notify()
    expect(await entries()).toEqual([
      ['purchase', CREDITS],
      ['grant', 7],
      ['adjustment', 7],
    ])
  })

  it('logs a payment that is for no purchase', async () => {
    const logged: object[] = []
    const log = { ...bench.clock.log, warn: (fields: object) => void logged.push(fields) }
    const billing = createBilling({
      storage: bench.storage,
      runtime: { ...bench.clock, log },
      packages: [PACKAGE],
      payments: playedProvider(() => 'session of no purchase').provider,
    })
    await billing.notify(HINT)
    expect(logged).toEqual([{ session_id: 'session of no purchase', purchase_id: null }])
  })

  it('ends where the payment stands, whatever overtakes what', async () => {
    const { set, notify, entries, workspaceId } = await shop()
    const notified: Promise<void>[] = []
    for (const reversed of [0, 6, 5, 300, 11, 2_999, 4, 3_000, 2, 1_500]) {
      set({ status: 'paid', reversed })
      notified.push(notify())
      await new Promise((resolve) => setImmediate(resolve))
    }
    await Promise.all(notified)
    const left = CREDITS - Math.floor(CREDITS / 2)
    expect(await bench.account(workspaceId)).toMatchObject({ balance: left })
    const sum = (await entries()).reduce((total, [, amount]) => total + Number(amount), 0)
    expect(sum).toBe(left)
  })

  it('writes no stale state after another report found nothing changed', async () => {
    const { set, hold, pass, looks, notify, entries } = await shop()
    set({ status: 'paid' })
    await notify()
    // A refund that fails afterwards, read by a slow report.
    set({ status: 'paid', reversed: 3_000 })
    const letGo = hold()
    const slow = notify()
    await expect.poll(looks).toBe(2)
    pass()
    set({ status: 'paid' })
    await notify()
    letGo()
    await slow
    expect(await entries()).toEqual([['purchase', CREDITS]])
  })

  it('gives nothing for a session that ended or failed, or for another amount or currency', async () => {
    const { set, notify, purchase, entries } = await shop()
    for (const status of ['failed', 'expired'] as const) {
      set({ status })
      await notify()
      expect(await purchase()).toMatchObject({ status, paid_at: null })
    }
    for (const other of [{ amount: 2_999 }, { currency: 'EUR' }]) {
      set({ status: 'paid', ...other })
      await notify()
    }
    expect(await entries()).toEqual([])
    expect(await purchase()).toMatchObject({
      status: 'expired',
      review_reason: 'currency_mismatch',
    })
    set({ status: 'paid' })
    await notify()
    expect(await entries()).toEqual([['purchase', CREDITS]])
    expect(await purchase()).toMatchObject({ status: 'paid', review_reason: null })
  })

  it('begins one purchase for all that come at once with one key', async () => {
    const { checkout } = await shop()
    const answers = await Promise.all(Array.from({ length: 8 }, () => checkout('the key')))
    expect(new Set(answers.map(({ data }) => JSON.stringify(data))).size).toBe(1)
    expect(answers.filter(({ replayed }) => !replayed)).toHaveLength(1)
    await expect(checkout('the key', { success_url: 'https://a.example/' })).rejects.toMatchObject({
      code: 'validation_error',
      message: 'This Idempotency-Key was used with another request body',
    })
    const other = await checkout('another key')
    expect(other.data.purchase_id).not.toBe(answers[0]?.data.purchase_id)
  })

  it('answers a repeated request the same, whatever became of the package and of the provider', async () => {
    const { provider, checkout, workspaceId } = await shop()
    const { data } = await checkout('the key')
    const url = 'https://a.example/'
    for (const [since, refused] of [
      [{ packages: [], payments: provider }, { code: 'validation_error' }],
      [{ packages: [PACKAGE], payments: null }, { code: 'insufficient_credits' }],
      [
        { packages: [{ ...PACKAGE, price: { amount: 1, currency: 'EUR' } }], payments: provider },
        null,
      ],
    ] as const) {
      const billing = createBilling({ storage: bench.storage, runtime: bench.clock, ...since })
      const again = (idempotency_key: string, more: object = {}) =>
        billing.checkout(workspaceId, { package_id: 'starter', ...more }, { idempotency_key })
      expect(await again('the key')).toEqual({ data, replayed: true })
      const reused = again('the key', { success_url: url })
      await expect(reused).rejects.toMatchObject({ details: [{ path: 'Idempotency-Key' }] })
      if (refused) await expect(again('another key')).rejects.toMatchObject(refused)
    }
  })

  it('lists every entry of the ledger by what it did to the credits available', async () => {
    const { billing, workspaceId } = await shop()
    const post = (amount: number, fields: object) =>
      bench.storage.write(({ credits }) =>
        credits.post(workspaceId, bench.make.grant(units(amount), fields)),
      )
    await post(10, {})
    await post(0, { kind: 'hold', held_delta: units(4) })
    await post(-3, { kind: 'settle', held_delta: units(-4) })
    const page = (limit: number, offset: number) =>
      billing.transactions(workspaceId, { limit, offset })
    const { transactions, total } = await page(10, 0)
    expect(total).toBe(3)
    expect(transactions.map(({ type, credits, balance_after }) => [type, credits, balance_after]))
      // Oldest last.
      .toEqual([
        ['settle', 1, 7],
        ['hold', -4, 6],
        ['grant', 10, 10],
      ])
    expect(await page(2, 0)).toEqual({
      transactions: transactions.slice(0, 2),
      total,
      next_after: '2',
    })
    expect(await page(2, 2)).toEqual({
      transactions: transactions.slice(2),
      total,
      next_after: null,
    })
    expect(await page(2, 4)).toEqual({ transactions: [], total, next_after: null })
    const newest = await bench.storage.read.credits.entriesFrom(workspaceId, { seq: 3, limit: 1 })
    expect(only(newest)).toEqual(
      (await bench.storage.read.credits.entries(workspaceId, EVERYTHING))[0],
    )
  })
}
