import { deepStrictEqual, match, ok, strictEqual } from 'node:assert/strict'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Svc } from '@svc/client'
import type { Browser, Page } from 'playwright-core'
import { readConfig, startServer } from '../../src/index.ts'
import { type Place, pictures, signIn, watchPolicy } from './console-page.ts'
import { expectAccessible, expectToFit } from './page-checks.ts'

const LOGIN = { email: 'lists@example.com', password: 'long enough' }

/**
 * What a person does with many messages: previews a bulk and tests it, pauses and resumes one, saves a filter, and exports what
 * it shows.
 */
export async function walkLists(browser: Browser): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'svc-lists-'))
  const env = {
    ...{ PORT: '0', SVC_DATA_DIR: folder, SVC_LOG_LEVEL: 'warn', SVC_SIGNUP_CREDITS: '100' },
    SVC_RATE_LIMIT_CONSOLE: '5000/60',
    SVC_RATE_LIMIT_GENERAL: '5000/60',
    SVC_RATE_LIMIT_BULK: '500/60',
  }
  const server = await startServer({ config: readConfig(env) })
  try {
    const { core, url } = server
    const { id } = await core.workspaces.create({ ...LOGIN, company_name: 'Lists' })
    const { key } = await core.apiKeys.create(id, { name: 'lists' })
    const place = { url, key, login: LOGIN }
    for (const width of [1280, 390]) {
      const page = await browser.newPage({ viewport: { width, height: 900 } })
      const faults = await watchPolicy(page, url)
      await signIn(page, place)
      await previewBulk(page, place)
      await pauseBulk(page, place)
      await saveFilter(page, place)
      await exportMessages(page, place)
      deepStrictEqual(faults, [])
      await page.close()
    }
  } finally {
    await server.close()
    await rm(folder, { recursive: true, force: true })
  }
}

/** The person sees the text of each recipient before the bulk is sent, and gets one as a message of its own. */
async function previewBulk(page: Page, { url, key }: Place): Promise<void> {
  await page.goto(`${url}/console/bulks/new`)
  const rows = ['phone,name', '+15005550006,Asha', '+15005550008,Juma']
  await page.getByLabel('Recipients', { exact: true }).fill(rows.join('\n'))
  await page.getByLabel('Text', { exact: true }).fill('Hi {{name}}')
  const preview = page.locator('.card', { has: page.getByRole('heading', { name: 'Preview' }) })
  await preview.getByText('Hi Asha').waitFor()
  await preview.getByLabel('What this recipient gets').selectOption('1')
  await preview.getByText('Hi Juma').waitFor()
  await expectToFit(page)
  await expectAccessible(page)
  await pictures(page, 'Bulk-preview')
  await preview.getByRole('button', { name: 'Test to myself' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByText('It is charged as a normal message: about').waitFor()
  const priced = page.waitForRequest(
    (request) =>
      request.url().endsWith('/messages/estimate') && request.postDataJSON().to === '+15005550009',
  )
  await dialog.getByLabel('My address').fill('+1 500 555 0009')
  await priced
  await expectAccessible(page)
  const sending = page.waitForRequest((request) => request.url().endsWith('/messages/send'))
  await dialog.getByRole('button', { name: 'Send the test' }).click()
  // A repeat after a lost answer sends nothing twice.
  match((await sending).headers()['idempotency-key'] ?? '', /^console-/)
  await page.getByText('The test is sent.').waitFor()
  const svc = new Svc({ baseUrl: url, apiKey: key })
  const { messages } = await svc.messages.list({ recipient: '+15005550009', limit: 1 })
  deepStrictEqual(messages[0]?.content, { text: 'Hi Juma' })
}

/** A paused bulk is visible on Home, in the list and in its drawer, and waits until it is resumed. */
async function pauseBulk(page: Page, { url, key }: Place): Promise<void> {
  const svc = new Svc({ baseUrl: url, apiKey: key })
  const { bulk_id } = await svc.bulks.send({
    channel: 'sms',
    content: { text: 'Hello {{name|you}}' },
    recipients: [{ to: '+15005550006', variables: { name: 'Asha' } }, '+15005550008'],
    metadata: { campaign: 'Spring' },
    scheduled_at: new Date(Date.now() + 3_600_000).toISOString(),
  })
  await page.goto(`${url}/console/bulks/${bulk_id}`)
  const drawer = page.getByRole('dialog')
  await drawer.getByRole('button', { name: 'Pause' }).click()
  await drawer.getByText('Its queued messages wait until it is resumed').waitFor()
  await drawer.locator('.badge', { hasText: 'paused' }).waitFor()
  await drawer.getByLabel('Find a recipient').fill('+15005550006')
  await drawer.getByText('Hello Asha').waitFor()
  await expectToFit(page)
  await expectAccessible(page)
  await pictures(page, 'Paused-bulk')
  await page.goto(`${url}/console/bulks`)
  await page.locator('tbody tr', { hasText: 'Spring' }).getByText('paused').first().waitFor()
  await page.goto(`${url}/console/messages`)
  await page.getByRole('button', { name: 'More filters' }).click()
  const filters = page.getByRole('dialog')
  await filters.getByLabel('Bulk').selectOption({ label: 'Spring' })
  await pictures(page, 'More-filters')
  await expectAccessible(page)
  await filters.getByRole('button', { name: 'Show messages' }).click()
  const chip = page.getByRole('button', { name: 'One bulk only: Spring' })
  await chip.waitFor()
  await page.locator('tbody tr').nth(1).waitFor()
  await expectToFit(page)
  await expectAccessible(page)
  await pictures(page, 'One-bulk')
  await page.locator('tbody tr').first().locator('a').first().click()
  await drawer.getByText('paused. It is sent when the pause ends').waitFor()
  await expectToFit(page)
  await expectAccessible(page)
  await pictures(page, 'Message-of-a-paused-bulk')
  await drawer.getByRole('link', { name: 'Spring' }).click()
  await drawer.getByRole('button', { name: 'Resume' }).waitFor()
  await page.goto(`${url}/console/messages?bulk_id=${bulk_id}`)
  await chip.click()
  await chip.waitFor({ state: 'detached' })
  await page.goto(`${url}/console`)
  const finding = page.getByRole('link', { name: 'The bulk Spring is paused: 2 messages wait' })
  await finding.waitFor()
  await expectAccessible(page)
  await finding.click()
  await drawer.getByRole('button', { name: 'Resume' }).click()
  await drawer.getByRole('button', { name: 'Pause' }).waitFor()
  const { bulk } = await svc.bulks.get(bulk_id)
  deepStrictEqual([bulk.paused_at, bulk.counts.queued], [null, 2])
  await svc.bulks.cancel(bulk_id)
}

/** A saved filter is in the account: chosen from a menu, renamed and deleted. Its address stays a plain link. */
async function saveFilter(page: Page, { url }: Place): Promise<void> {
  await page.goto(`${url}/console/messages?status=canceled&channel=sms`)
  await page.getByRole('button', { name: 'Save filter' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('Name').fill('Stopped SMS')
  await expectAccessible(page)
  await dialog.getByRole('button', { name: 'Save' }).click()
  await dialog.waitFor({ state: 'detached' })
  await page.goto(`${url}/console/messages`)
  const menu = page.getByRole('combobox', { name: 'Saved filters' })
  await menu.selectOption({ label: 'Stopped SMS' })
  await page.waitForURL(/status=canceled/)
  ok(new URL(page.url()).search.includes('channel=sms'))
  await page.locator('tbody tr').first().waitFor()
  await expectToFit(page)
  await expectAccessible(page)
  await pictures(page, 'Saved-filter')
  await page.getByRole('button', { name: 'Change saved filters' }).click()
  await dialog.getByRole('button', { name: 'Rename' }).click()
  await dialog.getByLabel('Name').fill('Canceled SMS')
  await dialog.getByRole('button', { name: 'Save' }).click()
  await dialog.getByText('Canceled SMS').waitFor()
  await expectAccessible(page)
  await dialog.getByRole('button', { name: 'Delete' }).click()
  const question = page.getByRole('dialog').filter({ hasText: 'Delete the filter Canceled SMS?' })
  await question.last().getByRole('button', { name: 'Delete' }).click()
  await menu.waitFor({ state: 'detached' })
}

/** The export has what the filters show. */
async function exportMessages(page: Page, { url }: Place): Promise<void> {
  await page.goto(`${url}/console/messages?status=canceled`)
  await page.locator('tbody tr').first().waitFor()
  const [saved] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('button', { name: 'Export' }).click(),
  ])
  strictEqual(saved.suggestedFilename(), 'messages.csv')
  const [head, ...rows] = (await readFile(await saved.path(), 'utf8')).trimEnd().split('\r\n')
  ok(head?.startsWith('id,created_at,channel,status,recipient,'))
  ok(rows.length > 0 && rows.every((row) => row.includes(',failed,') && row.includes(',canceled,')))
  await page.getByText('rows exported').waitFor()
  await page.goto(`${url}/console/credits`)
  const [ledger] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('button', { name: 'Export' }).click(),
  ])
  const text = await readFile(await ledger.path(), 'utf8')
  ok(text.startsWith('number,id,created_at,type,credits,'))
}
