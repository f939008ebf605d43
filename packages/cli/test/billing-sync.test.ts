import { createCore, createStripePayments } from '@svc/core'
import { readCreditPackages } from '@svc/core/contract'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createLocalStripe } from '../../core/test/stripe/local-stripe.ts'
import { newFolder, svc, svcJson } from './svc.ts'

const folder = newFolder()
const database_url = `file:${folder.path}/data/svc.db`
const now = () => new Date()
const stripe = createLocalStripe({ now })
let env: NodeJS.ProcessEnv = {}
const here = () => ({ cwd: folder.path, env })

const credit_packages = readCreditPackages(
  '[{"id":"starter","name":"Starter","credits":1000,"price":{"amount":1000,"currency":"USD"}}]',
)

let mine: string
beforeAll(async () => {
  env = {
    STRIPE_SECRET_KEY: stripe.secret_key,
    STRIPE_WEBHOOK_SECRET: stripe.webhook_secret,
    STRIPE_API_URL: await stripe.listen(),
  }
  const argv = ['workspaces', 'create', '--name', 'A', '--email', 'a@b.example']
  const more = ['--password-stdin', '--json']
  const { stdout } = await svc([...argv, ...more], { ...here(), stdin: 'long enough\n' })
  mine = (JSON.parse(stdout) as { workspace: { id: string } }).workspace.id
})
afterAll(async () => {
  await stripe.close()
  folder.remove()
})

/** Starts a purchase whose notifications are lost. */
async function begin(): Promise<{ id: string; session_id: string }> {
  const { secret_key, webhook_secret, transport } = stripe
  const webhook_secrets = [webhook_secret]
  const payments = await createStripePayments({ secret_key, webhook_secrets, now, transport })
  const core = await createCore({ database_url, credit_packages, payments, threads: 0 })
  try {
    const { data } = await core.billing.checkout(mine, { package_id: 'starter' })
    return { id: data.purchase_id, session_id: data.session_id }
  } finally {
    await core.close()
  }
}

const sync = (...argv: string[]) => svc(['billing', 'sync', ...argv], here())

describe('svc billing sync', () => {
  test('corrects and reports purchases whose notification was lost', async () => {
    const { id, session_id } = await begin()
    stripe.pay(session_id)
    const first = await sync()
    expect(first).toEqual({
      code: 0,
      stdout: `${id}\t${mine}\tpending\tpaid\t+1000\t\n`,
      stderr: 'purchases\t1\n1 checked, 1 changed.\n',
    })
    const again = await sync()
    expect(again).toEqual({
      code: 0,
      stdout: '',
      stderr: 'purchases\t1\n1 checked, 0 changed.\n',
    })
    stripe.refund(stripe.sessions.get(session_id)?.payment_intent ?? '', { amount: 250 })
    expect(await svcJson(['billing', 'sync', '--workspace', mine], here())).toEqual({
      since: expect.stringMatching(/^20.*Z$/),
      looked: 1,
      changed: [
        {
          workspace_id: mine,
          purchase_id: id,
          was: 'paid',
          status: 'paid',
          credits: -250,
          review_reason: null,
        },
      ],
      failed: [],
    })
  })

  test('refunds at Stripe', async () => {
    const { id, session_id } = await begin()
    stripe.pay(session_id)
    await sync()
    const { stdout, code } = await svc(['billing', 'refund', id, '--yes'], here())
    expect({ code, stdout }).toEqual({
      code: 0,
      stdout: '10.00 USD for 1000 credits is refunded: a@b.example has 750 credits available.\n',
    })
    expect(stripe.kept(session_id)).toBe(0)
  })

  test('grants nothing for a payment of another amount, and shows it', async () => {
    const { id, session_id } = await begin()
    const session = stripe.sessions.get(session_id)
    if (session) session.amount_total = 900
    stripe.pay(session_id)
    const { stdout } = await sync()
    expect(stdout).toBe(`${id}\t${mine}\tpending\tpending\t0\tamount_mismatch\n`)
    const listed = await svc(['billing', 'purchases', '--review'], here())
    const { payment_intent } = session ?? {}
    expect(listed.stdout).toMatch(
      new RegExp(`^20\\S+\t${id}\t.*\t${payment_intent}\tamount_mismatch\n$`),
    )
    const back = await svc(['billing', 'refund', id, '--yes'], here())
    expect(back).toMatchObject({
      code: 0,
      stdout: `The payment for ${id} (requested: 10.00 USD for 1000 credits; amount_mismatch) is refunded: a@b.example has 750 credits available.\n`,
    })
    expect(stripe.kept(session_id)).toBe(0)
    const after = await svc(['billing', 'purchases', '--review'], here())
    expect(after).toMatchObject({ stdout: '', stderr: 'No purchases.\n' })
  })

  test('exits with 1 when some purchases could not be checked, and corrects the others', async () => {
    const { id, session_id } = await begin()
    stripe.pay(session_id)
    stripe.sessions.delete(session_id)
    const paid = await begin()
    stripe.pay(paid.session_id)
    const { code, stdout, stderr } = await sync()
    expect(code).toBe(1)
    expect(stdout).toBe(`${paid.id}\t${mine}\tpending\tpaid\t+1000\t\n`)
    expect(stderr).toContain(`${id}: the payment provider knows nothing of it\n`)
    expect(stderr).toContain('svc: 1 purchase could not be checked: run the command again later\n')
    const machine = await sync('--json')
    expect(machine.code).toBe(1)
    expect(JSON.parse(machine.stdout)).toMatchObject({ failed: [{ purchase_id: id }] })
    expect(JSON.parse(machine.stderr)).toMatchObject({ error: 'incomplete' })
  })

  test('checks no older purchase', async () => {
    const { stderr } = await sync('--since', new Date(Date.now() + 60_000).toISOString())
    expect(stderr).toContain('0 checked, 0 changed.\n')
  })

  test.each([['soon'], ['2026-02-30'], ['']])('refuses --since %j', async (since) => {
    const { code, stderr } = await sync('--since', since)
    expect({ code, stderr }).toEqual({
      code: 2,
      stderr: `svc: --since must be ISO 8601, or a duration before now such as 2h or 30d, got "${since}"\n`,
    })
  })

  test('names the missing settings without Stripe', async () => {
    const { code, stderr } = await svc(['billing', 'sync'], { cwd: folder.path })
    expect(code).toBe(2)
    expect(stderr).toMatch(/^svc: Stripe is not configured: set STRIPE_SECRET_KEY and .*\n$/)
  })

  test('shows no key of an error of Stripe', async () => {
    const wrong = { ...env, STRIPE_SECRET_KEY: 'sk_test_hunter2' }
    const { code, stdout, stderr } = await svc(['billing', 'sync'], { ...here(), env: wrong })
    expect(code).toBe(1)
    expect(stderr).toContain('Invalid API Key provided')
    expect(`${stdout}${stderr}`).not.toContain('hunter2')
  })
})
