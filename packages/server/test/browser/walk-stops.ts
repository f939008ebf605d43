import { deepStrictEqual, ok, strictEqual } from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Svc } from '@svc/client'
import type { Browser, Locator, Page } from 'playwright-core'
import { readConfig, startServer } from '../../src/index.ts'
import { type Place, pictures, signIn, watchPolicy } from './console-page.ts'
import { expectAccessible, expectToFit } from './page-checks.ts'

const LOGIN = { email: 'stops@example.com', password: 'long enough' }
/** It is never called: while it is not paused, all sending is. */
const GATEWAY = {
  ...{ type: 'http', name: 'acme', channels: ['sms'], answer: { id: '/id' } },
  send: { url: 'http://127.0.0.1:9/send', body: { to: '{{to}}', text: '{{text}}' } },
}
const LONG = { text: 'A reminder of your appointment. '.repeat(8) }

/**
 * What members see while their sending is stopped: a frozen workspace, a pause of all sending, a canceled bulk, and too many
 * pages of one address. Then the places of price, results and focus while a person works.
 */
export async function walkStops(browser: Browser): Promise<void> {
  const SVC_PROVIDERS = JSON.stringify([GATEWAY])
  await withServer({ SVC_RATE_LIMIT_CONSOLE: '5000/60', SVC_PROVIDERS }, async ({ core, url }) => {
    const { id } = await core.workspaces.create({ ...LOGIN, company_name: 'Stops' })
    const { key } = await core.apiKeys.create(id, { name: 'stops' })
    const place = { url, key, login: LOGIN }
    for (const width of [1280, 390]) {
      const page = await browser.newPage({ viewport: { width, height: 900 } })
      const faults = await watchPolicy(page, url)
      await signIn(page, place)
      await core.credits.setTerms(id, { status: 'frozen', reason: 'unpaid' })
      const frozen = 'The workspace is frozen: sends are refused.'
      for (const path of ['', '/compose', '/bulks/new']) await expectNote(page, url, path, frozen)
      await core.credits.setTerms(id, { status: 'active', reason: 'paid' })
      await core.providers.pause('acme', { reason: 'A gateway moves' })
      const channel = 'SMS is paused by its provider or the operator.'
      for (const path of ['/compose', '/bulks/new']) await expectNote(page, url, path, channel)
      await core.providers.resume('acme', {})
      await core.dispatch.stop({ reason: 'A gateway moves' })
      const paused = 'The operator has paused all sending'
      for (const path of ['', '/compose', '/bulks/new']) await expectNote(page, url, path, paused)
      await cancelBulk(page, place)
      await core.dispatch.resume(null)
      await keepInView(page, place)
      deepStrictEqual(faults, [])
      await page.close()
    }
    await nameTheFault(await browser.newPage({ viewport: { width: 390, height: 900 } }), place)
  })
  await withServer({ SVC_RATE_LIMIT_CONSOLE: '4/3' }, async ({ url }) => {
    const page = await browser.newPage({ viewport: { width: 390, height: 900 } })
    await tooManyPages(page, url)
    await page.close()
  })
  await withServer({ SVC_RATE_LIMIT_CONSOLE: '5/10' }, async ({ url }) => {
    const page = await browser.newPage({ viewport: { width: 390, height: 900 } })
    await tooManyChecks(page, url)
    await page.close()
  })
}

async function expectNote(page: Page, url: string, path: string, text: string): Promise<void> {
  await page.goto(`${url}/console${path}`)
  await page.getByText(text).first().waitFor()
  await page.locator('body:not(:has([aria-busy=true]))').waitFor()
  await expectToFit(page)
  await pictures(
    page,
    `${text.includes('frozen') ? 'Frozen' : 'Paused'}${path.replaceAll('/', '-')}`,
  )
  await expectAccessible(page)
}

/** A paused bulk waits; canceled, it is no failure, and nothing of it can be sent again. */
async function cancelBulk(page: Page, { url, key }: Place): Promise<void> {
  const recipients = ['+15005550006', '+15005550008', '+15005550009']
  const body = { channel: 'sms' as const, content: { text: 'Hello' }, recipients }
  const { bulk_id } = await new Svc({ baseUrl: url, apiKey: key }).bulks.send(body)
  await page.goto(`${url}/console/bulks/${bulk_id}`)
  const drawer = page.getByRole('dialog')
  await drawer.getByText('It is sent when the pause ends').waitFor()
  await drawer.getByRole('button', { name: 'Cancel queued messages' }).click()
  await page.getByRole('button', { name: 'Cancel messages' }).click()
  const toast = page.locator('.toasts p', { hasText: '3 messages canceled' })
  await toast.waitFor()
  await pictures(page, 'Canceled-bulk')
  ok(!overlap(await boxOf(toast), await boxOf(drawer.locator('h2'))), 'the toast covers the title')
  await drawer.getByRole('link', { name: '3 messages' }).waitFor()
  strictEqual(await drawer.getByText('Send failed ones again').count(), 0)
  await expectAccessible(page)
  await page.goto(`${url}/console/messages?bulk_id=${bulk_id}&status=canceled`)
  await page.locator('tbody .badge', { hasText: 'canceled' }).nth(2).waitFor()
  strictEqual(await page.locator('tbody .badge.bad').count(), 0)
  await page.goto(`${url}/console`)
  await page.locator('.cards', { hasText: 'canceled' }).waitFor()
  const failed = page.locator('.card', { has: page.getByRole('heading', { name: 'Failed' }) })
  strictEqual(await failed.locator('.figure').textContent(), '0')
}

/** The page in the navigation, the price of a bulk while its text is written, and the focus after a drawer. */
async function keepInView(page: Page, { url }: Place): Promise<void> {
  const isWide = page.viewportSize()?.width === 1280
  if (isWide) {
    await page.goto(`${url}/console/settings`)
    await page.getByRole('heading', { level: 1, name: 'Settings' }).waitFor()
    const current = await boxOf(page.locator('.side nav [aria-current]'))
    ok(current.y >= 0 && current.y + current.height <= 900, 'the entry of the page is out of view')
    await page.goto(`${url}/console/bulks/new`)
    const numbers = Array.from({ length: 20 }, (_, i) => `+1415555${1000 + i}`)
    await page.getByLabel('Recipients', { exact: true }).fill(numbers.join('\n'))
    const text = page.getByLabel('Text', { exact: true })
    await text.fill(LONG.text)
    await text.scrollIntoViewIfNeeded()
    await page.evaluate('scrollTo(0, document.documentElement.scrollHeight)')
    const send = page.getByRole('button', { name: 'Send to 20 recipients' })
    await page
      .locator('.card', { hasText: 'Estimate' })
      .getByText('Price', { exact: true })
      .waitFor()
    const { y, height } = await boxOf(send)
    ok(y >= 0 && y + height <= 900, 'the price and Send are out of view')
    await pictures(page, 'New-bulk-end')
  }
  await page.goto(`${url}/console/messages?status=canceled`)
  await page.locator('tbody tr').first().waitFor()
  await page.locator('tbody td.wide').first().click()
  await page.getByRole('dialog').waitFor()
  await page.keyboard.press('Escape')
  await page.locator('tbody tr:first-child a:focus').waitFor()
}

/** A form for people names no field of the API. Refused requests are reported by the browser, so nothing watches this page. */
async function nameTheFault(page: Page, place: Place): Promise<void> {
  await signIn(page, place)
  await page.goto(`${place.url}/console/compose`)
  await page.getByLabel('Recipient').fill('0712 345 678')
  await page.getByLabel('Text', { exact: true }).fill('Hello')
  await page.getByRole('button', { name: 'Send', exact: true }).click()
  await page.getByText('have + and the country code').first().waitFor()
  await page.getByLabel('Recipient').fill('+15005550006')
  await page.getByLabel('Text', { exact: true }).fill('')
  await page.getByRole('button', { name: 'Send', exact: true }).click()
  await page.getByText('Fill in this field.').waitFor()
  strictEqual(await page.getByText(/E\.164|Missing required|content\.text/).count(), 0)
  await page.close()
}

/** Too many pages of one address: a page says so, and shows the console when there is room again. */
async function tooManyPages(page: Page, url: string): Promise<void> {
  let status = 200
  for (let i = 0; i < 10 && status === 200; i++) {
    status = (await page.goto(`${url}/console/sign-in`))?.status() ?? 0
  }
  strictEqual(status, 429)
  await page.getByRole('heading', { name: 'Too many requests' }).waitFor()
  await expectToFit(page)
  await pictures(page, 'Too-many-pages')
  await page.getByLabel('E-mail address').waitFor()
}

/** Too many checks of the session: the console says so, and checks it again by itself. */
async function tooManyChecks(page: Page, url: string): Promise<void> {
  const email = page.getByLabel('E-mail address')
  const fault = page.getByRole('alert').getByText('Rate limit exceeded')
  for (let i = 0; i < 20 && !(await fault.isVisible()); i++) {
    await page.goto(`${url}/console/sign-in`)
    await email.or(fault).first().waitFor()
  }
  await fault.waitFor()
  await expectToFit(page)
  await email.waitFor()
}

type Box = NonNullable<Awaited<ReturnType<Locator['boundingBox']>>>

async function boxOf(of: Locator): Promise<Box> {
  const box = await of.boundingBox()
  ok(box)
  return box
}

function overlap(a: Box, b: Box): boolean {
  const isBeside = a.x + a.width <= b.x || b.x + b.width <= a.x
  return !isBeside && a.y < b.y + b.height && b.y < a.y + a.height
}

async function withServer(
  env: Record<string, string>,
  use: (server: Awaited<ReturnType<typeof startServer>>) => Promise<void>,
): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'svc-stops-'))
  const limits = { SVC_RATE_LIMIT_GENERAL: '5000/60', SVC_RATE_LIMIT_ANONYMOUS: '5000/60' }
  const own = { PORT: '0', SVC_DATA_DIR: folder, SVC_LOG_LEVEL: 'silent' }
  const more = { SVC_SIGNUP_CREDITS: '100', ...limits, ...env }
  const server = await startServer({ config: readConfig({ ...own, ...more }) })
  try {
    await use(server)
  } finally {
    await server.close()
    await rm(folder, { recursive: true, force: true })
  }
}
