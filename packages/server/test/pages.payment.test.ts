import { describe, expect, it } from 'vitest'
import { expectStatus } from './call.ts'
import { openWorld, useWorld } from './world.ts'

const world = useWorld()

const FORM = { 'content-type': 'application/x-www-form-urlencoded' }

/** An account with an open checkout. */
async function buyer(request: object = {}) {
  const account = await world().signup()
  const json = { package_id: 'starter', ...request }
  const { token } = account
  const made = await world().call('POST', '/api/v1/billing/checkout', { token, json })
  const { session_id, checkout_url } = expectStatus(201, made).body.data
  const path = new URL(checkout_url).pathname
  return {
    account,
    session_id,
    path,
    open: (headers = {}) => world().app.inject({ method: 'GET', url: path, headers }),
    press: (decision: string, headers = {}) =>
      world().app.inject({
        method: 'POST',
        url: path,
        headers: { ...FORM, ...headers },
        payload: `decision=${decision}`,
      }),
    balance: () => world().balance(account),
  }
}

/** The rows of the page's summary. */
function rowsOf(html: string): Record<string, string> {
  const rows = html.matchAll(/<dt>([^<]*)<\/dt><dd>([^<]*)<\/dd>/g)
  return Object.fromEntries([...rows].map(([, name = '', value = '']) => [name, value]))
}

describe('the payment page', () => {
  it('escapes the name of a workspace', async () => {
    const { open, account } = await buyer()
    const json = { name: '<img src=x onerror=alert(1)>' }
    await world().call('PUT', '/api/v1/account', { token: account.token, json })
    const { body } = await open()
    expect(body).toContain('&lt;img src=x onerror=alert(1)&gt;')
    expect(body).not.toContain('<img')
  })

  it('shows price and credits, with three buttons and no script', async () => {
    const { open } = await buyer()
    const { statusCode, headers, body } = await open()
    expect(statusCode).toBe(200)
    expect(headers['content-type']).toBe('text/html; charset=utf-8')
    expect(body).toContain('<h1>Pay 10.00 USD for 1,000 credits</h1>')
    expect([...body.matchAll(/name="decision" value="(\w+)"/g)].map(([, value]) => value)).toEqual([
      'pay',
      'decline',
      'cancel',
    ])
    expect(body).not.toMatch(/<script|src=|\son\w+=/i)
    expect(body).toContain('<p class="badge">SANDBOX</p>')
    expect(rowsOf(body)).toEqual({
      Workspace: expect.stringMatching(/^Company \d+$/),
      Package: 'Starter',
      Credits: '1,000 credits',
      'Balance now': '0 credits',
      'Balance after': '1,000 credits',
      Price: '10.00 USD',
    })
    const large = await (await buyer({ package_id: 'large' })).open()
    expect(large.body).toContain('<h1>Pay 9,000 JPY for 10,500.5 credits</h1>')
  })

  it('Pay: adds the credits and redirects to the shop, which its policy allows', async () => {
    const { open, press, balance, session_id } = await buyer({
      success_url: 'https://shop.example/thanks?session={CHECKOUT_SESSION_ID}',
      cancel_url: 'https://other.example:8443/',
    })
    const policy = (await open()).headers['content-security-policy']
    expect(policy).toContain("form-action 'self' https://shop.example https://other.example:8443;")
    const { statusCode, headers } = await press('pay')
    expect(statusCode).toBe(303)
    expect(headers.location).toBe(`https://shop.example/thanks?session=${session_id}`)
    expect(await balance()).toBe(1000)
    expect((await press('pay')).headers.location).toBe(headers.location)
    expect(await balance()).toBe(1000)
    const { body } = await open()
    expect(body).toContain('1,000 credits for 10.00 USD')
    expect(body).toContain(
      `<a class="main" href="https://shop.example/thanks?session=${session_id}">Back to shop.example</a>`,
    )
  })

  it('Pay without a success_url: redirects to the page, which shows the result', async () => {
    const { open, press, session_id } = await buyer()
    expect((await press('pay')).headers.location).toBe(session_id)
    const { body } = await open()
    expect(body).toContain('<h1>Paid</h1>')
    expect(rowsOf(body)).toEqual({ 'Balance now': '1,000 credits' })
  })

  it('shows that a payment was reversed', async () => {
    const { open, press, session_id } = await buyer()
    await press('pay')
    const { billing } = world().core
    const purchase = await billing.bySession(session_id)
    await billing.refund(purchase?.workspace_id ?? '', purchase?.id ?? '')
    expect((await open()).body).toContain('<h1>This payment was reversed</h1>')
  })

  it('Decline: takes no payment, now or later', async () => {
    const { open, press, balance, session_id } = await buyer({ cancel_url: 'https://a.example/no' })
    expect((await press('decline')).headers.location).toBe('https://a.example/no')
    expect((await press('pay')).headers.location).toBe('https://a.example/no')
    const { body } = await open()
    expect(body).toContain('<h1>Payment declined</h1>')
    expect(body).toContain('href="https://a.example/no">Back to a.example</a>')
    expect(await balance()).toBe(0)
    expect(await world().core.billing.bySession(session_id)).toMatchObject({ status: 'failed' })
  })

  it('Cancel: takes no payment, and the checkout stays open', async () => {
    const { press, balance } = await buyer({ cancel_url: 'https://a.example/back' })
    expect((await press('cancel')).headers.location).toBe('https://a.example/back')
    await press('pay')
    expect(await balance()).toBe(1000)
    const other = await buyer()
    const canceled = await other.press('cancel')
    expect(canceled.body).toContain('<h1>Canceled</h1>')
    expect(canceled.body).toContain(`href="${other.session_id}">Return to the payment</a>`)
  })

  it('ends with its session', async () => {
    const { open, press, balance } = await buyer()
    await world().advance(60 * 60_000)
    expect((await open()).body).toContain('<h1>This checkout has ended</h1>')
    await press('pay')
    expect(await balance()).toBe(0)
  })

  it('refuses an unknown decision and an unknown session', async () => {
    const { press } = await buyer()
    const odd = await press('steal')
    expect([odd.statusCode, odd.body]).toEqual([400, expect.stringContaining('decision must be')])
    const none = await world().app.inject({ method: 'GET', url: '/pay/cs_none' })
    expect([none.statusCode, none.body]).toEqual([404, expect.stringContaining('no such checkout')])
  })

  it.each([
    { host: 'svc.example.com' },
    { origin: 'https://evil.example' },
    { origin: 'null' },
    { 'x-forwarded-for': '203.0.113.9' },
  ])('returns 404 for a browser with %j', async (headers) => {
    const { open, press, balance } = await buyer()
    for (const { statusCode, body } of [await open(headers), await press('pay', headers)]) {
      expect([statusCode, JSON.parse(body).message]).toEqual([404, 'Route not found'])
    }
    expect(await balance()).toBe(0)
  })

  it('returns 404 with real payments, and without payments', async () => {
    const real = await openWorld({ payments: null })
    const { statusCode } = await real.app.inject({ method: 'GET', url: '/pay/cs_1' })
    expect(statusCode).toBe(404)
    await real.close()
  })
})
