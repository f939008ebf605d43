import { deepStrictEqual, notStrictEqual, ok, strictEqual } from 'node:assert/strict'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { Svc, type WebhookHealth } from '@svc/client'
import type { Browser, Page } from 'playwright-core'
import { readConfig, startServer } from '../../src/index.ts'
import { type Place, pictures, signIn, watchPolicy } from './console-page.ts'
import { expectAccessible, expectToFit } from './page-checks.ts'

const LOGIN = { email: 'hooks@example.com', password: 'long enough' }
const SUCCESSES = 4
const FAILURES = 2

/**
 * The health of a webhook whose receiver answers four times with 200 and then with 500 and a hostile page: the share of
 * successes, the charts and their table, the last failed answers, at both widths, in dark colours and in Arabic.
 */
export async function walkWebhook(browser: Browser): Promise<void> {
  const state = { status: 200 }
  const receiver = createServer((request, response) => {
    request.resume()
    response.statusCode = state.status
    response.end(state.status === 200 ? 'ok' : '<img src=x onerror=alert(1)>')
  }).listen(0, '127.0.0.1')
  await once(receiver, 'listening')
  const folder = await mkdtemp(join(tmpdir(), 'svc-webhook-'))
  const env = {
    ...{ PORT: '0', SVC_DATA_DIR: folder, SVC_LOG_LEVEL: 'silent' },
    ...{ SVC_WEBHOOK_ALLOW_HTTP: 'true', SVC_WEBHOOK_ALLOW_NETS: '127.0.0.0/8' },
    ...{ SVC_RATE_LIMIT_GENERAL: '5000/60', SVC_RATE_LIMIT_CONSOLE: '5000/60' },
  }
  const server = await startServer({ config: readConfig(env) })
  try {
    const { core, url } = server
    const { id } = await core.workspaces.create({ ...LOGIN, company_name: 'Hooks' })
    const { key } = await core.apiKeys.create(id, { name: 'hooks' })
    const client = new Svc({ baseUrl: url, apiKey: key })
    const { port } = receiver.address() as AddressInfo
    const { webhook } = await client.webhooks.create({ url: `http://127.0.0.1:${port}/hook` })
    const place = { url, key, login: LOGIN }
    for (const [status, count] of [
      [200, SUCCESSES],
      [500, FAILURES],
    ] as const) {
      state.status = status
      for (let i = 0; i < count; i++) await client.webhooks.test(webhook.id)
      const { attempts } = await healthOf(client, webhook.id)
      await until(client, webhook.id, attempts, status === 200 ? SUCCESSES : SUCCESSES + FAILURES)
    }
    for (const width of [1280, 390]) await showHealth(browser, place, webhook.id, width)
    await showArabic(browser, place, webhook.id)
  } finally {
    await server.close()
    receiver.close()
    await rm(folder, { recursive: true, force: true })
  }
}

async function healthOf(client: Svc, id: string): Promise<WebhookHealth> {
  return (await client.webhooks.health(id)).health
}

async function until(client: Svc, id: string, before: number, attempts: number): Promise<void> {
  for (let found = before; found < attempts; found = (await healthOf(client, id)).attempts) {
    await pause(50)
  }
}

async function showHealth(
  browser: Browser,
  place: Place,
  id: string,
  width: number,
): Promise<void> {
  // West of UTC, a day of UTC begins on the day before.
  const timezoneId = 'America/Los_Angeles'
  const page = await browser.newPage({ viewport: { width, height: 900 }, timezoneId })
  const faults = await watchPolicy(page, place.url)
  await signIn(page, place)
  await page.goto(`${place.url}/console/webhooks/${id}`)
  await page.getByText('66.7% (4 of 6)').waitFor()
  const attempts = page.getByRole('img', { name: 'Attempts: 4 succeeded, 2 failed' })
  const times = page.getByRole('img', { name: /^Time to the answer: half within/ })
  await attempts.locator('polyline').first().waitFor()
  // All answers are of one hour: a value without a neighbour is a point.
  await times.locator('circle').first().waitFor()
  await useChart(page)
  await page.getByText('As a table').click()
  await page.getByRole('table', { name: 'Health' }).locator('tbody tr').first().waitFor()
  const failures = page.getByRole('table', { name: 'Last failed answers' })
  strictEqual(await failures.locator('tbody tr').count(), FAILURES)
  // The answer of the receiver is text.
  await failures.getByText('<img src=x onerror=alert(1)>').first().waitFor()
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme })
    await expectToFit(page)
    await expectAccessible(page)
  }
  await pictures(page, 'Webhook-health')
  await page.getByLabel('Period').selectOption('30d')
  await page.waitForURL(/period=30d/)
  await page.getByText('66.7% (4 of 6)').waitFor()
  const format = new Intl.DateTimeFormat('en-US', { dateStyle: 'medium', timeZone: 'UTC' })
  const today = format.format(new Date())
  await page.locator('.chart p', { hasText: today }).first().waitFor()
  await page.getByText('As a table').click()
  await page.getByRole('table', { name: 'Health' }).locator('th, td', { hasText: today }).waitFor()
  await failures.locator('tbody a').first().click()
  await page.getByRole('dialog').getByText('Attempt 1').waitFor()
  ok(page.url().includes('period=30d'), 'the period is lost in the drawer')
  await turnOff(page, place)
  deepStrictEqual(faults, [])
  await page.close()
}

/** The legend has the values at the pointer, else the newest; its buttons hide and show lines. */
async function useChart(page: Page): Promise<void> {
  const chart = page.locator('.chart').first()
  const legend = chart.locator('p')
  const newest = await legend.textContent()
  await chart.getByRole('img').hover({ position: { x: 1, y: 9 } })
  await legend.getByRole('button', { name: 'Succeeded: 0' }).waitFor()
  notStrictEqual(await legend.textContent(), newest)
  await legend.hover()
  strictEqual(await legend.textContent(), newest)
  const failed = legend.getByRole('button', { name: 'Failed: 2', pressed: true })
  await failed.focus()
  await page.keyboard.press('Enter')
  await legend.getByRole('button', { pressed: false }).waitFor()
  strictEqual(await chart.locator('polyline').count(), 1)
  await page.keyboard.press('Enter')
  await failed.waitFor()
  strictEqual(await chart.locator('polyline').count(), 2)
}

/** The owner turns the mails off and on again. */
async function turnOff(page: Page, { url }: Place): Promise<void> {
  for (const _ of ['off', 'on']) {
    await page.goto(`${url}/console/settings`)
    const mails = page.getByLabel(/When a webhook begins to fail/)
    const address = page.getByLabel('Postal address')
    await address.fill('Main Street 1')
    await mails.click()
    await page.locator('form', { has: mails }).getByRole('button', { name: 'Save' }).click()
    await page.locator('.toasts p', { hasText: 'Saved' }).waitFor()
    // What was typed into another card is still there.
    strictEqual(await address.inputValue(), 'Main Street 1')
  }
  await expectToFit(page)
}

async function showArabic(browser: Browser, place: Place, id: string): Promise<void> {
  const page = await browser.newPage({ viewport: { width: 390, height: 900 } })
  const faults = await watchPolicy(page, place.url)
  await signIn(page, place)
  await page.addInitScript("localStorage['svc.language'] = 'ar'")
  await page.goto(`${place.url}/console/webhooks/${id}`)
  await page.getByRole('heading', { name: 'الحالة الصحية' }).waitFor()
  strictEqual(await page.evaluate('getComputedStyle(document.body).direction'), 'rtl')
  await page.getByRole('table', { name: 'آخر الردود الفاشلة' }).waitFor()
  await expectToFit(page)
  await expectAccessible(page)
  await pictures(page, 'Webhook-health-arabic')
  deepStrictEqual(faults, [])
  await page.close()
}
