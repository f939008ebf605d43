import { deepStrictEqual, ok, strictEqual } from 'node:assert/strict'
import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Svc } from '@svc/client'
import { units } from '@svc/core/contract'
import type { Browser, Page } from 'playwright-core'
import { readConfig, startServer } from '../../src/index.ts'
import { SETTINGS, shownSetting } from '../../src/settings/settings.ts'
import { expectAccessible, expectToFit, watch } from './page-checks.ts'
import { openInLanguages } from './walk-languages.ts'

const NAME = 'ops@example.com'
const PASSWORD = 'a long password'

/** Where pictures are written; null: none. */
const PICTURES = process.env.SVC_SCREENSHOTS ?? null

const PAGES = [
  ['', 'Overview'],
  ['/workspaces', 'Workspaces'],
  ['/providers', 'Providers'],
  ['/queues', 'Queues'],
  ['/purchases', 'Purchases'],
  ['/books', 'Ledger and backups'],
  ['/audit', "Operators' audit log"],
  ['/settings', 'Service settings'],
] as const

/**
 * Signs in as an operator of a service whose gateway hangs: finds the provider, pauses it, grants credits, and sees both in the
 * audit log. Then opens every page for operators at two widths, and without `isShort` in all languages.
 */
export async function walkOperator(browser: Browser, { isShort = false } = {}): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'svc-operator-'))
  const gateway = createServer(() => {})
  await new Promise<void>((resolve) => gateway.listen(0, '127.0.0.1', resolve))
  const env = {
    PORT: '0',
    SVC_DATA_DIR: folder,
    SVC_LOG_LEVEL: 'silent',
    SVC_RATE_LIMIT_GENERAL: '5000/60',
    SVC_RATE_LIMIT_CONSOLE: '5000/60',
    SVC_RATE_LIMIT_ANONYMOUS: '5000/60',
    SVC_PROVIDERS: JSON.stringify([gatewayOf(gateway)]),
  }
  const settings = SETTINGS.map((setting) => shownSetting(setting, { env }))
  const server = await startServer({ config: readConfig(env), settings })
  try {
    const { core, url } = server
    await core.operators.add({ name: NAME, password: PASSWORD })
    const owner = { email: 'owner@example.com', password: PASSWORD, company_name: 'Acme <b>' }
    const { id } = await core.workspaces.create(owner)
    await core.credits.grant(id, { amount: units(100_000_000), actor: 'test' })
    const { key } = await core.apiKeys.create(id, { name: 'browser' })
    const svc = new Svc({ baseUrl: url, apiKey: key })
    for (let i = 0; i < 5; i++) {
      const content = { text: 'Hello' }
      await svc.messages.send({ channel: 'sms', to: `+1415555010${i}`, content })
    }
    const recipients = ['+14155550110', '+14155550111']
    await svc.bulks.send({ channel: 'sms', content: { text: 'Hello' }, recipients })
    const page = await browser.newPage({ viewport: { width: 1280, height: 900 } })
    const faults = watch(page, url)
    await page.goto(`${url}/console/operator`)
    await page.getByLabel('Name').waitFor()
    await pictures(page, 'Operator sign-in')
    await page.keyboard.type(NAME)
    await page.keyboard.press('Tab')
    await page.keyboard.type(PASSWORD)
    await page.keyboard.press('Enter')
    await page.getByText('provider gateway does not answer').waitFor({ timeout: 60_000 })
    await pause(page)
    await grant(page, id)
    await page.getByRole('link', { name: 'Audit log' }).click()
    await page.getByText('credits: 12.5, reason: Trial').waitFor()
    await page.getByText('Their status page says so').waitFor()
    await filterAudit(page, id)
    await everyPage(page, url)
    await page.setViewportSize({ width: 390, height: 900 })
    await everyPage(page, url)
    await showBulks(page, `${url}/console/operator/workspaces/${id}`)
    deepStrictEqual(faults, [])
    const storageState = await page.context().storageState()
    await page.close()
    if (isShort) return
    const paths = PAGES.map(([path]) => `/operator${path}`)
    await openInLanguages(browser, { url, storageState, paths })
  } finally {
    await server.close()
    gateway.closeAllConnections()
    gateway.close()
    await rm(folder, { recursive: true, force: true })
  }
}

async function pause(page: Page): Promise<void> {
  await page.getByRole('link', { name: 'Providers', exact: true }).click()
  await page.getByText('does not answer').waitFor()
  const button = page.getByRole('button', { name: 'Pause', exact: true })
  const box = await button.boundingBox()
  ok(box && box.x + box.width <= (page.viewportSize()?.width ?? 0), 'Pause is cut off')
  await button.click()
  await page.getByLabel('Reason').waitFor()
  await page.keyboard.type('Their status page says so')
  await page.keyboard.press('Enter')
  await page.getByRole('button', { name: 'Resume' }).first().waitFor()
}

async function grant(page: Page, id: string): Promise<void> {
  await page.getByRole('link', { name: 'Workspaces' }).click()
  await page.locator(`tbody a[href$="${id}"]`).click()
  await page.getByRole('button', { name: 'Grant credits' }).click()
  await page.getByLabel('Credits', { exact: true }).fill('12.5')
  await page.getByLabel('Reason').fill('Trial')
  await pictures(page, 'Operator grant')
  await page.keyboard.press('Enter')
  await page.getByRole('dialog').getByText('credits.granted').first().waitFor()
  // Escape closes the form first, if the answer to it has not come yet.
  await page.getByLabel('Reason').waitFor({ state: 'detached' })
  await pictures(page, 'Operator workspace')
  await page.keyboard.press('Escape')
  await page.getByRole('dialog').waitFor({ state: 'detached' })
}

/** Who gave credits to which workspace: by action, by workspace and by day. */
async function filterAudit(page: Page, id: string): Promise<void> {
  const entries = page.locator('.acts li')
  await page.getByLabel('Action').selectOption('credits.granted')
  await entries.filter({ hasText: 'provider.paused' }).first().waitFor({ state: 'detached' })
  await entries.first().getByRole('link', { name: 'Acme <b>' }).waitFor()
  await page.getByLabel('Until').fill('2020-01-01')
  await page.getByText('No entries in this selection').waitFor()
  await page.goto(page.url().replace(/[?].*/, `?workspace_id=${id}`))
  await entries.filter({ hasText: 'api_key.created' }).first().waitFor()
  strictEqual(await entries.filter({ hasText: 'provider.paused' }).count(), 0)
}

/** The bulks of a customer on a phone. */
async function showBulks(page: Page, address: string): Promise<void> {
  await page.goto(address)
  const drawer = page.getByRole('dialog')
  await drawer.getByRole('heading', { name: 'Newest bulks' }).waitFor()
  await drawer.getByRole('table', { name: 'Newest bulks' }).locator('tbody tr').first().waitFor()
  await expectToFit(page)
  await pictures(page, 'Operator bulks')
  await expectAccessible(page)
}

async function everyPage(page: Page, url: string): Promise<void> {
  for (const [path, heading] of PAGES) {
    await page.goto(`${url}/console/operator${path}`)
    await page.getByRole('heading', { level: 1, name: heading }).waitFor()
    while ((await page.locator('.skeleton').count()) > 0) await page.waitForTimeout(50)
    await expectToFit(page)
    await pictures(page, `Operator ${heading}`)
    await expectAccessible(page)
  }
}

/** A gateway with an HTTP API that takes requests and never answers. */
function gatewayOf(server: Server) {
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return {
    type: 'http',
    name: 'gateway',
    channels: ['sms'],
    deadline_s: 18,
    send: { url, body: { to: '{{to}}', text: '{{text}}' } },
    answer: { id: '/id' },
  }
}

async function pictures(page: Page, name: string): Promise<void> {
  if (PICTURES === null) return
  await mkdir(PICTURES, { recursive: true })
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme })
    const file = `${name}-${page.viewportSize()?.width}-${colorScheme}.png`
    await page.screenshot({ path: join(PICTURES, file) })
  }
}
