import { createCore, createSandboxPayments, type SandboxPayments } from '@svc/core'
import { readCreditPackages } from '@svc/core/contract'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { newFolder, svc, svcJson } from './svc.ts'

const folder = newFolder()
const here = { cwd: folder.path, env: {} }
const database_url = `file:${folder.path}/data/svc.db`

const credit_packages = readCreditPackages(
  '[{"id":"starter","name":"Starter","credits":1000,"price":{"amount":1000,"currency":"USD"}}]',
)

interface Bought {
  id: string
  session_id: string
}

const payments = createSandboxPayments({
  secret: 'secret',
  public_url: () => 'http://127.0.0.1:3000',
  now: () => new Date(),
})

/** Buys the package for a workspace, and pays for it by default. */
async function buy(workspaceId: string, { decision }: { decision?: 'pay' } = {}): Promise<Bought> {
  const core = await createCore({ database_url, credit_packages, payments, threads: 0 })
  try {
    const { billing } = core
    const { data } = await billing.checkout(workspaceId, { package_id: 'starter' })
    if (decision) await billing.notify(await decided(core.billing, data.session_id, decision))
    return { id: data.purchase_id, session_id: data.session_id }
  } finally {
    await core.close()
  }
}

async function decided(
  billing: Awaited<ReturnType<typeof createCore>>['billing'],
  sessionId: string,
  decision: Parameters<SandboxPayments['decide']>[1],
) {
  const purchase = await billing.bySession(sessionId)
  if (!purchase) throw new Error('the purchase is missing')
  return payments.decide({ ...purchase, session_id: sessionId }, decision)
}

async function workspace(email: string): Promise<string> {
  const argv = ['workspaces', 'create', '--name', 'A', '--email', email, '--password-stdin']
  const { stdout } = await svc([...argv, '--json'], { ...here, stdin: 'long enough\n' })
  return (JSON.parse(stdout) as { workspace: { id: string } }).workspace.id
}

let mine: string
let paid: Bought
let open: Bought
beforeAll(async () => {
  mine = await workspace('ops@example.com')
  paid = await buy(mine, { decision: 'pay' })
  open = await buy(mine)
})
afterAll(() => folder.remove())

describe('svc billing purchases', () => {
  const ids = async (...argv: string[]) => {
    const listed = ['billing', 'purchases', ...argv]
    const { purchases } = await svcJson<{ purchases: { id: string }[] }>(listed, here)
    return purchases.map(({ id }) => id)
  }

  test('lists purchases, newest first, with their ids at the provider', async () => {
    expect(await ids()).toEqual([open.id, paid.id])
    expect(await ids('--limit', '1', '--page', '2')).toEqual([paid.id])
    const argv = ['billing', 'purchases', '--status', 'paid']
    expect(await svcJson(argv, here)).toEqual({
      purchases: [
        {
          id: paid.id,
          workspace_id: mine,
          package_id: 'starter',
          status: 'paid',
          credits: 1000,
          amount: 1000,
          currency: 'USD',
          provider: 'sandbox',
          session_id: paid.session_id,
          payment_id: null,
          review_reason: null,
          version: expect.any(Number),
          created_at: expect.any(String),
          updated_at: expect.any(String),
          expires_at: expect.any(String),
          paid_at: expect.any(String),
        },
      ],
    })
    const { stdout } = await svc(argv, here)
    expect(stdout).toMatch(
      new RegExp(`^20\\S+\t${paid.id}\t${mine}\tpaid\t1000\t10.00 USD\t${paid.session_id}\t\n$`),
    )
  })

  test('filters by workspace and by review', async () => {
    const other = await workspace('other@example.com')
    expect(await ids('--workspace', other)).toEqual([])
    expect(await ids('--workspace', 'ops@example.com')).toEqual([open.id, paid.id])
    expect(await ids('--review')).toEqual([])
    const { code, stderr } = await svc(['billing', 'purchases', '--review'], here)
    expect({ code, stderr }).toEqual({ code: 0, stderr: 'No purchases.\n' })
  })

  test.each([
    ['an unknown status', ['--status', 'gone'], 2],
    ['an unknown workspace', ['--workspace', 'nobody@example.com'], 1],
    ['a page size out of bounds', ['--limit', '101'], 1],
  ])('refuses %s', async (_, argv, code) => {
    const ended = await svc(['billing', 'purchases', ...argv], here)
    expect(ended).toMatchObject({ code, stdout: '', stderr: expect.stringMatching(/^svc: .+\n$/) })
  })
})

describe('svc billing refund', () => {
  const refund = (id: string, ...more: string[]) =>
    svc(['billing', 'refund', id, '--workspace', 'ops@example.com', ...more], here)

  test('does nothing without a confirmation', async () => {
    const { code, stderr } = await refund(paid.id)
    expect({ code, stderr }).toEqual({
      code: 2,
      stderr: 'svc: stdin is not a terminal: add --yes\n',
    })
    expect(await svcJson(['billing', 'purchases', '--status', 'paid'], here)).toMatchObject({
      purchases: [{ id: paid.id }],
    })
  })

  test('refunds the payment and takes the credits, once', async () => {
    const first = await refund(paid.id, '--yes')
    expect(first).toMatchObject({
      code: 0,
      stdout: '10.00 USD for 1000 credits is refunded: ops@example.com has 0 credits available.\n',
    })
    const again = await refund(paid.id, '--yes', '--json')
    expect(JSON.parse(again.stdout)).toMatchObject({
      purchase: { id: paid.id, status: 'refunded', credits: 1000 },
      credits_balance: 0,
    })
  })

  test.each([
    ['an unpaid purchase', () => open.id, 'Nothing was paid for this purchase'],
    ['an unknown purchase', () => 'nonsense', 'Purchase not found'],
  ])('refuses %s', async (_, id, text) => {
    const { code, stderr } = await refund(id(), '--yes')
    expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringContaining(text) })
  })

  test('refuses a purchase of another workspace', async () => {
    const argv = ['billing', 'refund', paid.id, '--workspace', 'other@example.com', '--yes']
    expect(await svc(argv, here)).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('Purchase not found'),
    })
  })
})
