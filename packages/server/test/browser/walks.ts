import { deepStrictEqual, strictEqual } from 'node:assert/strict'
import type { Page } from 'playwright-core'
import { expectAccessible, expectToFit, watch } from './page-checks.ts'

interface Place {
  url: string
  /** An API key of the shown workspace. */
  key: string
}

/**
 * Opens the reference, finds an endpoint with the keyboard, reads its samples in another language, and sends the example
 * of the send endpoint with the key of the demo.
 */
export async function walkDocs(page: Page, { url, key }: Place): Promise<void> {
  const faults = watch(page, url)
  await page.goto(`${url}/docs`)
  await page.locator('html[data-script]').waitFor({ state: 'attached' })
  await page.waitForFunction(`document.querySelector('#key').value === '${key}'`)
  await expectAccessible(page)
  const send = page.locator('[id="messages.send"]')
  await send.locator('pre', { hasText: `X-API-Key: ${key}` }).waitFor()
  await page.getByText('Python', { exact: true }).click()
  await send.locator('pre:visible', { hasText: `"X-API-Key": "${key}"` }).waitFor()
  const menu = page.locator('#menu')
  if (!(await menu.getAttribute('open'))) await page.evaluate(`menu.open = true`)
  await page.keyboard.press('/')
  await page.keyboard.type('bulk retry')
  strictEqual(await page.locator('nav li:visible').count(), 1)
  await page.keyboard.press('Enter')
  await page.locator('[id="bulks.retry"]:target').waitFor()
  await send.getByText('Send this request').click()
  await send.getByRole('button', { name: 'Send', exact: true }).click()
  await send.locator('output', { hasText: '201 in' }).waitFor()
  await send.locator('output', { hasText: '"queued"' }).waitFor()
  await send.getByRole('link', { name: 'SmsContent' }).first().click()
  await page.locator('details[open]:target', { hasText: 'text' }).waitFor()
  await expectToFit(page)
  deepStrictEqual(faults, [])
}
