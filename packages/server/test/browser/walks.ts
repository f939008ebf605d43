import { deepStrictEqual, strictEqual } from 'node:assert/strict'
import { Svc } from '@svc/client'
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

/** Sends a message from the inbox that fails as expected, and returns with the keyboard; then reads a hostile mail. */
export async function walkInbox(page: Page, place: Place): Promise<void> {
  const faults = watch(page, place.url)
  await page.goto(`${place.url}/dev`)
  await page.locator('#live[data-state=live]').waitFor()
  await page.click('#compose')
  await page.keyboard.type('+15005550001')
  await page.click('dialog .primary')
  await page.locator('.steps [data-status=failed][aria-current]').waitFor()
  await expectToFit(page)
  await page.keyboard.press('Escape')
  await page.locator('.line:focus').waitFor()
  await page.keyboard.press('End')
  await page.keyboard.press('Enter')
  await page.locator('.detail h3').first().waitFor()
  deepStrictEqual(faults, [])
  await readHostileMail(page, place)
}

async function readHostileMail(page: Page, { url, key }: Place): Promise<void> {
  const reached: string[] = []
  page.on('requestfinished', (request) => {
    if (!request.url().startsWith(url)) reached.push(request.url())
  })
  const html = `<title>taken</title><h1>Hello</h1><script>parent.document.title = 'taken'</script>
    <meta http-equiv="refresh" content="0;url=http://evil.example"><img src="http://evil.example/x.png">
    <link rel="stylesheet" href="http://evil.example/x.css"><iframe src="http://evil.example"></iframe>`
  const { message_id } = await new Svc({ baseUrl: url, apiKey: key }).messages.send({
    to: 'asha@example.com',
    channel: 'email',
    content: { subject: 'Hostile', html },
  })
  await page.evaluate(`location.hash = location.hash.replace(/[^/]*$/, '${message_id}')`)
  await page.frameLocator('iframe.mail').locator('h1', { hasText: 'Hello' }).waitFor()
  strictEqual(await page.title(), 'svc dev inbox')
  deepStrictEqual(reached, [])
}
