import type { PaymentProvider } from '@svc/core'
import { signNotification } from '@svc/core/operate'
import { beforeAll, describe, expect, it } from 'vitest'
import type { Account } from './accounts.ts'
import type { Answer } from './every-answer.ts'
import { notification } from './notification.ts'
import { refusal } from './refusal.ts'
import { openWorld, PAYMENT_SECRET, useWorld, type World } from './world.ts'

const world = useWorld()

const HOUR_MS = 60 * 60_000
const DECLINED = refusal('insufficient_credits', 'Credit purchase failed')
const UNSIGNED = refusal(
  'validation_error',
  'The payment notification has no valid signature',
  'Stripe-Signature',
)

let owner: Account
beforeAll(async () => {
  owner = await world().signup()
})

const checkout = (
  account: Account,
  json: object = { package_id: 'starter' },
  headers: Record<string, string> = {},
  at: World = world(),
) => at.call('POST', '/api/v1/billing/checkout', { token: account.token, json, headers })

const transactions = (account: Account, query = '') =>
  world().call('GET', `/api/v1/billing/transactions${query}`, { token: account.token })

const notify = (options: { raw?: string; headers?: Record<string, string> }, at: World = world()) =>
  at.call('POST', '/api/v1/billing/webhook', options)

/** Submits the form of the payment page. */
async function decide(session_id: string, decision: string) {
  const { app } = world()
  const headers = { 'content-type': 'application/x-www-form-urlencoded' }
  const payload = `decision=${decision}`
  return app.inject({ method: 'POST', url: `/pay/${session_id}`, headers, payload })
}

describe('GET /billing/packages, 200', () => {
  it("lists the operator's packages, without a credential", async () => {
    const { status, body } = await world().call('GET', '/api/v1/billing/packages')
    expect(status).toBe(200)
    expect(body.data).toStrictEqual({
      packages: [
        {
          id: 'starter',
          name: 'Starter',
          description: '',
          credits: 1000,
          bonus_credits: 0,
          price: { amount: 1000, currency: 'USD' },
        },
        {
          id: 'large',
          name: 'Large',
          description: 'For campaigns',
          credits: 10_000,
          bonus_credits: 500.5,
          price: { amount: 9000, currency: 'JPY' },
        },
      ],
    })
  })
})

describe('POST /billing/checkout, 201', () => {
  it('returns the URL of the payment page, and its expiry', async () => {
    const { status, body } = await checkout(owner)
    expect(status).toBe(201)
    const { purchase_id, session_id } = body.data
    expect(body.data).toStrictEqual({
      purchase_id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      session_id: `cs_sandbox_${purchase_id.replaceAll('-', '')}`,
      checkout_url: `http://127.0.0.1:3000/pay/${session_id}`,
      expires_at: new Date(world().now().getTime() + HOUR_MS).toISOString(),
    })
    expect(await world().balance(owner)).toBe(0)
  })

  it('returns the same answer for the same Idempotency-Key and body, with its fields in any order', async () => {
    const key = { 'idempotency-key': 'k1' }
    const url = 'https://shop.example/#/paid'
    const first = await checkout(owner, { package_id: 'large', success_url: url }, key)
    await world().advance(60_000)
    const again = await checkout(owner, { success_url: url, package_id: 'large' }, key)
    expect([first.status, again.status]).toStrictEqual([201, 201])
    expect(again.text).toBe(first.text)
    expect(first.headers['idempotent-replayed']).toBeUndefined()
    expect(again.headers['idempotent-replayed']).toBe('true')
    const other = await checkout(owner, { package_id: 'large' }, { 'idempotency-key': 'k2' })
    expect(other.body.data.purchase_id).not.toBe(first.body.data.purchase_id)
  })
})

describe('POST /billing/checkout, 400', () => {
  it.each([
    [{}, 'package_id', 'Missing required field: package_id'],
    [{ package_id: '' }, 'package_id', 'Missing required field: package_id'],
    [{ package_id: 7 }, 'package_id', 'package_id must be a string'],
    [{ package_id: 'none' }, 'package_id', 'Unknown credit package'],
    [
      { package_id: 'starter', success_url: 'javascript:alert(1)' },
      'success_url',
      'URL must be http or https, without user name or password',
    ],
    [
      { package_id: 'starter', cancel_url: '/back' },
      'cancel_url',
      'URL must be http or https, without user name or password',
    ],
  ])('refuses %j', async (json, path, message) => {
    const { status, body } = await checkout(owner, json)
    expect(status).toBe(400)
    expect(body).toStrictEqual(refusal('validation_error', message, path))
  })

  it('refuses another body with the same Idempotency-Key', async () => {
    const key = { 'idempotency-key': 'reused' }
    await checkout(owner, { package_id: 'starter' }, key)
    const { status, body } = await checkout(owner, { package_id: 'large' }, key)
    expect(status).toBe(400)
    expect(body).toStrictEqual(
      refusal(
        'validation_error',
        'This Idempotency-Key was used with another request body',
        'Idempotency-Key',
      ),
    )
  })
})

describe('POST /billing/checkout, 401', () => {
  it('requires a session', async () => {
    const { status, body } = await world().call('POST', '/api/v1/billing/checkout', { json: {} })
    expect(status).toBe(401)
    expect(body).toStrictEqual(refusal('unauthorized', 'Missing Authorization header'))
  })
})

describe('POST /billing/checkout, 402', () => {
  it('refuses every purchase without a payment provider, with any package', async () => {
    const poor = await openWorld({ payments: null })
    const account = await poor.signup()
    for (const package_id of ['starter', 'none']) {
      const { status, body } = await checkout(account, { package_id }, {}, poor)
      expect(status).toBe(402)
      expect(body).toStrictEqual(DECLINED)
    }
    await poor.close()
  })

  it('refuses when the provider refuses, and allows a retry with the same key', async () => {
    let answer: 'refuse' | 'fail' | 'take' = 'refuse'
    const orders: string[] = []
    const payments: PaymentProvider = {
      name: 'moody',
      async open({ purchase_id }) {
        orders.push(purchase_id)
        if (answer === 'fail') throw new Error('no route to host')
        if (answer === 'refuse') return null
        return { session_id: `s ${purchase_id}`, checkout_url: 'https://pay.example/' }
      },
      read: async () => null,
      look: async () => null,
      refund: async () => {},
    }
    const moody = await openWorld({ payments })
    const account = await moody.signup()
    const attempt = () => checkout(account, undefined, { 'idempotency-key': 'k' }, moody)
    expect(await attempt()).toMatchObject({ status: 402, body: DECLINED })
    answer = 'fail'
    expect(await attempt()).toMatchObject({ status: 402, body: DECLINED })
    answer = 'take'
    const taken = await attempt()
    expect(taken.status).toBe(201)
    // A refusal is forgotten; a checkout that may have been opened is continued.
    expect(orders[1]).not.toBe(orders[0])
    expect(orders[2]).toBe(orders[1])
    expect(taken.body.data.purchase_id).toBe(orders[1])
    await moody.close()
  })
})

describe('POST /billing/webhook, 200', () => {
  it('adds the credits after the payment, bonus included, and only once', async () => {
    const account = await world().signup()
    const { body } = await checkout(account, { package_id: 'large' })
    const { session_id, purchase_id } = body.data
    await decide(session_id, 'pay')
    expect(await world().balance(account)).toBe(10_500.5)
    const at = world().now()
    const answers = await Promise.all(
      Array.from({ length: 5 }, () => notify(notification(at, session_id))),
    )
    for (const { status, body } of answers) {
      expect([status, body]).toStrictEqual([200, { success: true, data: { received: true } }])
    }
    expect(await world().balance(account)).toBe(10_500.5)
    const { data } = (await transactions(account)).body
    expect(data).toStrictEqual({
      transactions: [
        {
          id: expect.any(String),
          type: 'purchase',
          credits: 10_500.5,
          balance_after: 10_500.5,
          description: 'Purchase of package large',
          channel: null,
          reference: { type: 'purchase', id: purchase_id },
          created_at: at.toISOString(),
        },
      ],
      pagination: { total: 1, page: 1, pages: 1, limit: 50 },
      next_after: null,
    })
  })

  it('trusts the provider, not the notification', async () => {
    const account = await world().signup()
    const { session_id } = (await checkout(account)).body.data
    // It reports a complete session, which is still open at the provider.
    expect((await notify(notification(world().now(), session_id))).status).toBe(200)
    expect(await world().balance(account)).toBe(0)
  })

  it.each(['{}', '{"data":{"object":{"id":7}}}', 'no JSON', '', '[null]'])(
    'acknowledges %j, which names none of our sessions',
    async (raw) => {
      const signature = signNotification(PAYMENT_SECRET, raw, world().now())
      const { status } = await notify({ raw, headers: { 'stripe-signature': signature } })
      expect(status).toBe(200)
    },
  )

  it('ignores a bad credential, and accepts any content type', async () => {
    const { raw, headers } = notification(world().now())
    const options = { raw, headers: { ...headers, 'content-type': 'text/plain' }, token: 'junk' }
    expect((await world().call('POST', '/api/v1/billing/webhook', options)).status).toBe(200)
  })

  it('removes the credits of a refund, below zero, and adds none for an ended session', async () => {
    const account = await world().signup()
    const { session_id, purchase_id } = (await checkout(account)).body.data
    await decide(session_id, 'pay')
    const { key } = await world().key(account)
    await world().send(key)
    const { billing } = world().core
    expect(await billing.refund(account.id, purchase_id)).toMatchObject({ status: 'refunded' })
    expect(await billing.refund(account.id, purchase_id)).toMatchObject({ status: 'refunded' })
    expect(await world().balance(account)).toBe(-1)
    const { data } = (await transactions(account)).body
    expect(data.transactions[0]).toMatchObject({
      type: 'purchase_adjust',
      credits: -1000,
      balance_after: -1,
      description: 'Payment taken back for package starter',
    })
    expect((await world().send(key)).status).toBe(402)

    const late = (await checkout(account)).body.data
    await world().advance(HOUR_MS)
    await notify(notification(world().now(), late.session_id))
    await decide(late.session_id, 'pay')
    expect(await billing.bySession(late.session_id)).toMatchObject({ status: 'expired' })
    expect(await world().balance(account)).toBe(-1)
  })

  it('refunds no purchase of another workspace, and none without a payment', async () => {
    const [mine, theirs] = [await world().signup(), await world().signup()]
    const { purchase_id } = (await checkout(mine)).body.data
    const { billing } = world().core
    const foreign = { code: 'not_found', message: 'Purchase not found' }
    await expect(billing.refund(theirs.id, purchase_id)).rejects.toMatchObject(foreign)
    await expect(billing.refund(mine.id, purchase_id)).rejects.toMatchObject({
      code: 'validation_error',
      message: 'Nothing was paid for this purchase',
    })
  })
})

describe('POST /billing/webhook, 400', () => {
  it.each([
    ['without a signature', () => ({ raw: '{}' })],
    ['with another body', () => ({ raw: '{}', headers: notification(world().now()).headers })],
    ['with an old signature', () => notification(new Date(world().now().getTime() - 301_000))],
    [
      'with the signature of another secret',
      () => {
        const signature = signNotification('another', '{}', world().now())
        return { raw: '{}', headers: { 'stripe-signature': signature } }
      },
    ],
    ['without a body', () => ({ headers: { 'stripe-signature': 't=1,v1=a' } })],
  ])('refuses one %s', async (_, options) => {
    const { status, body } = await notify(options())
    expect(status).toBe(400)
    expect(body).toStrictEqual(UNSIGNED)
  })

  it('refuses all without a payment provider', async () => {
    const poor = await openWorld({ payments: null })
    const { status, body } = await notify(notification(poor.now()), poor)
    expect([status, body]).toStrictEqual([400, UNSIGNED])
    await poor.close()
  })

  it('refuses a body over 256 KB', async () => {
    const raw = 'x'.repeat(256 * 1024 + 1)
    const { status, body } = await notify({ raw, headers: {} })
    expect(status).toBe(400)
    expect(body).toStrictEqual(refusal('validation_error', 'Request body is too large', ''))
  })
})

describe('GET /billing/transactions', () => {
  it('200: every change of the balance, newest first, in pages, with an exact total', async () => {
    const account = await world().signup({ credits: 10 })
    const { key } = await world().key(account)
    const ids: string[] = []
    for (let i = 0; i < 4; i++) ids.unshift((await world().send(key)).body.data.message_id)
    const first = (await transactions(account, '?limit=2')).body.data
    expect(first.pagination).toStrictEqual({ total: 5, page: 1, pages: 3, limit: 2 })
    expect(first.transactions[0]).toStrictEqual({
      id: expect.any(String),
      type: 'send',
      credits: -1,
      balance_after: 6,
      description: null,
      channel: 'sms',
      reference: { type: 'message', id: ids[0] },
      created_at: world().now().toISOString(),
    })
    const last = (await transactions(account, '?limit=2&page=3')).body.data
    expect(last.transactions).toHaveLength(1)
    expect(last.transactions[0]).toMatchObject({ type: 'grant', credits: 10, balance_after: 10 })
    const beyond = (await transactions(account, '?limit=2&page=4')).body.data
    expect(beyond).toStrictEqual({
      transactions: [],
      pagination: { total: 5, page: 4, pages: 3, limit: 2 },
      next_after: null,
    })
  })

  it('200: shows no entry of another workspace', async () => {
    const other = await world().signup()
    expect((await transactions(other)).body.data).toStrictEqual({
      transactions: [],
      pagination: { total: 0, page: 1, pages: 0, limit: 50 },
      next_after: null,
    })
  })

  it.each([
    ['?limit=0', 'limit', 'Limit must be between 1 and 100'],
    ['?limit=101', 'limit', 'Limit must be between 1 and 100'],
    ['?page=0', 'page', 'Page must be a positive integer'],
  ])('400: refuses %s', async (query, path, message) => {
    const { status, body } = await transactions(owner, query)
    expect(status).toBe(400)
    expect(body).toStrictEqual(refusal('validation_error', message, path))
  })
})

describe('429', () => {
  const knock = (at: World) => at.call('GET', '/api/v1/billing/packages')
  const left = ({ headers }: Answer) => headers['x-ratelimit-remaining']

  it('is never returned to a notification, and notifications count in no limit', async () => {
    const tight = await openWorld({ rates: { anonymous: { max: 1, window_s: 60 } } })
    for (let i = 0; i < 3; i++) {
      const answer = await notify(notification(tight.now()), tight)
      expect([answer.status, left(answer)]).toStrictEqual([200, '1'])
    }
    expect((await knock(tight)).status).toBe(200)
    expect((await knock(tight)).status).toBe(429)
    expect((await notify(notification(tight.now()), tight)).status).toBe(200)
    await tight.close()
  })

  it('is returned to other requests of a client after badly signed notifications', async () => {
    const tight = await openWorld({ rates: { anonymous: { max: 2, window_s: 60 } } })
    const forge = () => notify({ raw: '{}', headers: { 'stripe-signature': 't=1,v1=a' } }, tight)
    const answers = [await forge(), await forge(), await forge()]
    expect(answers.map((answer) => [answer.status, answer.body])).toStrictEqual(
      Array(3).fill([400, UNSIGNED]),
    )
    expect(answers.map(left)).toStrictEqual(['1', '0', '0'])
    expect((await knock(tight)).status).toBe(429)
    expect((await notify(notification(tight.now()), tight)).status).toBe(200)
    await tight.close()
  })
})
