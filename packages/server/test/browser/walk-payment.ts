import { deepStrictEqual, strictEqual } from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Svc } from '@svc/client'
import type { Page } from 'playwright-core'
import { expectAccessible, expectToFit, watch } from './page-checks.ts'

/** Buys on the payment page: declines, cancels and pays, and is redirected to the shop, which is another origin. */
export async function walkPayment(
  page: Page,
  { url, token }: { url: string; token: string },
): Promise<void> {
  const { billing, workspaces } = new Svc({ baseUrl: url, token })
  const balance = async () => (await workspaces.account()).credits_balance
  const heading = (text: string) => page.getByRole('heading', { name: text }).waitFor()
  const shop = await openShop()
  const faults = watch(page, url, shop.url)
  const before = await balance()
  const begin = async (pages: { success_url?: string; cancel_url?: string } = {}) => {
    const { checkout_url } = await billing.checkout({ package_id: 'starter', ...pages })
    await page.goto(checkout_url)
    await heading('Pay 10.00 USD for 1,000 credits')
    await page.getByText('SANDBOX', { exact: true }).waitFor()
    await expectToFit(page)
  }
  try {
    await begin()
    await expectAccessible(page)
    await page.getByRole('button', { name: 'Decline the payment' }).click()
    await heading('Payment declined')
    await expectToFit(page)
    await begin()
    await page.getByRole('button', { name: 'Cancel' }).click()
    await heading('Canceled')
    await page.getByRole('link', { name: 'Return to the payment' }).click()
    await heading('Pay 10.00 USD for 1,000 credits')
    strictEqual(await balance(), before)

    await begin()
    // With the keyboard only: the first element is the Pay button.
    await page.keyboard.press('Tab')
    await page.keyboard.press('Enter')
    await heading('Paid')
    await expectToFit(page)
    await page.reload()
    await heading('Paid')
    strictEqual(await balance(), before + 1_000)

    await begin({ success_url: `${shop.url}/thanks`, cancel_url: `${shop.url}/back` })
    await page.getByRole('button', { name: 'Pay 10.00 USD' }).click()
    await heading('/thanks')
    await begin({ cancel_url: `${shop.url}/back` })
    await page.getByRole('button', { name: 'Cancel' }).click()
    await heading('/back')
    strictEqual(await balance(), before + 2_000)
    deepStrictEqual(faults, [])
  } finally {
    await shop.close()
  }
}

/** The shop, which payers come from and return to: its pages show their path. */
async function openShop(): Promise<{ url: string; close(): Promise<unknown> }> {
  const server = createServer(({ url }, response) => {
    response.setHeader('content-type', 'text/html; charset=utf-8')
    response.end(`<link rel="icon" href="data:,"><h1>${url}</h1>`)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close() {
      server.closeAllConnections()
      return new Promise((resolve) => server.close(resolve))
    },
  }
}
