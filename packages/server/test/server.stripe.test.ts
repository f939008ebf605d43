import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Svc } from '@svc/client'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { createLocalStripe } from '../../core/test/stripe/local-stripe.ts'
import { type RunningServer, readConfig, startServer } from '../src/index.ts'

const stripe = createLocalStripe({ now: () => new Date() })
let stripeUrl: string
beforeAll(async () => {
  stripeUrl = await stripe.listen()
})
afterAll(() => stripe.close())

let folder: string
let server: RunningServer | null = null
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'svc-stripe-'))
})
afterEach(async () => {
  await server?.close()
  server = null
  rmSync(folder, { recursive: true, force: true })
})

/** Starts a server, and a buyer with a checkout. */
async function start(env: NodeJS.ProcessEnv, { dev }: { dev: boolean }) {
  const config = readConfig({
    PORT: '0',
    SVC_DATA_DIR: folder,
    SVC_LOG_LEVEL: 'silent',
    SVC_CREDIT_PACKAGES:
      '[{"id":"starter","name":"Starter","credits":1000,"price":{"amount":1000,"currency":"USD"}}]',
    ...env,
  })
  server = await startServer({ config, dev })
  const { url: base_url } = server
  const owner = { email: 'owner@example.com', password: 'long enough', company_name: 'A' }
  await new Svc({ baseUrl: base_url }).workspaces.signup(owner)
  const { token } = await new Svc({ baseUrl: base_url }).workspaces.login(owner)
  const { billing, workspaces } = new Svc({ baseUrl: base_url, token })
  return {
    base_url,
    checkout: () => billing.checkout({ package_id: 'starter' }),
    balance: async () => (await workspaces.account()).credits_balance,
  }
}

const keys = () => ({
  STRIPE_SECRET_KEY: stripe.secret_key,
  STRIPE_WEBHOOK_SECRET: `whsec_older,${stripe.webhook_secret}`,
  STRIPE_API_URL: stripeUrl,
})

describe.each([true, false])('with Stripe set (dev: %s)', (dev) => {
  it('is paid there, and returns to a page that shows the result', async () => {
    const { base_url, checkout, balance } = await start(keys(), { dev })
    const { session_id, checkout_url } = await checkout()
    expect(checkout_url).toBe(`https://checkout.stripe.example/c/pay/${session_id}`)
    const success_url = `${base_url}/pay/{CHECKOUT_SESSION_ID}`
    expect(stripe.sessions.get(session_id)).toMatchObject({ success_url })
    const landing = async () => (await fetch(`${base_url}/pay/${session_id}`)).text()
    expect(await landing()).toContain('<h1>Your payment is being confirmed</h1>')

    stripe.pay(session_id)
    const notify = async () => {
      for (const event of stripe.takeEvents()) {
        const { body, signature = '' } = stripe.sign(event)
        const headers = { 'content-type': 'application/json', 'stripe-signature': signature }
        const url = `${base_url}/api/v1/billing/webhook`
        const { status } = await fetch(url, { method: 'POST', headers, body: Buffer.from(body) })
        expect(status).toBe(200)
      }
    }
    await notify()
    expect(await balance()).toBe(1_000)
    expect(await landing()).toContain('Thank you. 1,000 credits for 10.00 USD.')
    stripe.refund(stripe.sessions.get(session_id)?.payment_intent ?? '')
    await notify()
    expect(await landing()).toContain('<h1>This payment was reversed</h1>')
    expect((await fetch(`${base_url}/pay/cs_none`)).status).toBe(404)
    // This page has no choice: the payer decides at Stripe.
    const pay = { method: 'POST', body: new URLSearchParams({ decision: 'pay' }) }
    expect((await fetch(`${base_url}/pay/${session_id}`, pay)).status).toBe(404)
  })
})

it('without Stripe, simulates payments under svc dev, and refuses purchases otherwise', async () => {
  const tried = await start({}, { dev: true })
  expect((await tried.checkout()).checkout_url).toMatch(`${tried.base_url}/pay/cs_sandbox_`)
  await server?.close()
  rmSync(folder, { recursive: true })
  const real = await start({}, { dev: false })
  await expect(real.checkout()).rejects.toMatchObject({
    code: 'insufficient_credits',
    message: 'Credit purchase failed',
  })
  expect((await fetch(`${real.base_url}/pay/cs_1`)).status).toBe(404)
})
