import { deepStrictEqual, ok, strictEqual } from 'node:assert/strict'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { Svc } from '@svc/client'
import type { Browser, Page } from 'playwright-core'
import { type Place, signIn, watchPolicy } from './console-page.ts'
import { expectAccessible, expectToFit } from './page-checks.ts'
import {
  walkBulk,
  walkConversation,
  walkImport,
  walkPurchase,
  walkTwoWorkspaces,
} from './walk-people.ts'

/** Every page of the console, with the text that shows that it is loaded. A new page adds its line here. */
export const PAGES = [
  { path: '', heading: 'Home' },
  { path: '/messages', heading: 'Messages' },
  { path: '/compose', heading: 'New message' },
  { path: '/bulks', heading: 'Bulks' },
  { path: '/bulks/new', heading: 'New bulk' },
  { path: '/webhooks', heading: 'Webhooks' },
  { path: '/keys', heading: 'API keys' },
  { path: '/domains', heading: 'Sending domains' },
  { path: '/received', heading: 'Received' },
  { path: '/received/sms/%2B15005550008', heading: 'Received' },
  { path: '/verifications', heading: 'One-time codes' },
  { path: '/contacts', heading: 'Contacts' },
  { path: '/contacts/new', heading: 'Contacts' },
  { path: '/contacts/import', heading: 'Contacts' },
  { path: '/suppressions', heading: 'Suppressions' },
  { path: '/credits', heading: 'Credits' },
  { path: '/team', heading: 'Team' },
  { path: '/audit', heading: 'Audit log' },
  { path: '/settings', heading: 'Settings' },
  { path: '/settings?tab=you', heading: 'Settings' },
  { path: '/tools', heading: 'Quick start' },
  { path: '/tools/mails', heading: 'Mails' },
  { path: '/tools/phone', heading: 'Phone' },
  { path: '/tools/requests', heading: 'Requests' },
] as const

/** Where pictures are written; null: none. */
const PICTURES = process.env.SVC_SCREENSHOTS ?? null

const HOSTILE = '<img src=x onerror=alert(1)>"\'</script><script>alert(2)</script>'

/** Opens every page at two widths. Without `isShort` it also uses the console with the keyboard only. */
export async function walkConsole(
  browser: Browser,
  place: Place,
  { isShort = false } = {},
): Promise<void> {
  const { url, key } = place
  const svc = new Svc({ baseUrl: url, apiKey: key })
  const email = { channel: 'email', to: 'asha@example.com' } as const
  await svc.messages.send({ ...email, content: { subject: HOSTILE, text: HOSTILE } })
  for (const width of [1280, 390]) {
    const page = await browser.newPage({ viewport: { width, height: 900 } })
    const faults = await watchPolicy(page, url)
    await signIn(page, place)
    for (const { path, heading } of PAGES) {
      await page.goto(`${url}/console${path}`)
      await page.getByRole('heading', { level: 1, name: heading }).waitFor()
      await page.locator('body:not(:has([aria-busy=true]))').waitFor()
      await expectToFit(page)
      await pictures(page, path.replace(/\W+/g, '-') || heading)
      await expectAccessible(page)
    }
    if (!isShort) {
      await openMessage(page, place)
      await openVerification(page, place)
      await walkConversation(page, place)
      await walkImport(page, place)
      await walkBulk(page, place)
      await walkPurchase(page, place)
      await composeMessage(page, place)
    }
    deepStrictEqual(faults, [])
    await page.close()
  }
  if (isShort) return
  await walkTwoWorkspaces(
    browser,
    place,
    // The tools of `svc dev` show the mails and the requests of all workspaces.
    PAGES.map(({ path }) => path).filter((path) => !path.startsWith('/tools')),
  )
}

/** A new message appears without a reload; Enter opens it, Esc closes it, and the focus is where it was. */
async function openMessage(page: Page, { url, key }: Place): Promise<void> {
  await page.goto(`${url}/console/messages`)
  await page.locator('tbody tr').first().waitFor()
  const before = await page.locator('tbody tr').first().getByRole('link').getAttribute('href')
  const { message_id } = await new Svc({ baseUrl: url, apiKey: key }).messages.send({
    channel: 'sms',
    to: '+15005550006',
    content: { text: 'Live' },
  })
  const link = page.locator(`tbody a[href$="${message_id}"]`)
  await link.waitFor()
  ok(before && !before.endsWith(message_id))
  await link.focus()
  await page.keyboard.press('Enter')
  const drawer = page.getByRole('dialog')
  await drawer.getByText(message_id, { exact: true }).waitFor()
  await expectToFit(page)
  await pictures(page, 'Message')
  await expectAccessible(page)
  await page.keyboard.press('Escape')
  await drawer.waitFor({ state: 'detached' })
  await page.locator(`tbody a[href$="${message_id}"]:focus`).waitFor()
  ok(page.url().endsWith('/console/messages'))
}

/** A new code appears without a reload; its drawer leads to the message, shows no code, and cancels it. */
async function openVerification(page: Page, { url, key }: Place): Promise<void> {
  await page.goto(`${url}/console/verifications`)
  const width = page.viewportSize()?.width
  const { verifications } = new Svc({ baseUrl: url, apiKey: key })
  const to = `+1415555${width}`
  const { verification_id } = await verifications.start({ to, channel: 'sms' })
  const link = page.locator(`tbody a[href$="${verification_id}"]`)
  await link.waitFor()
  await page.getByRole('heading', { name: 'Conversion by country' }).waitFor()
  await page.locator('body:not(:has([aria-busy=true]))').waitFor()
  await expectToFit(page)
  await pictures(page, 'Codes')
  await expectAccessible(page)
  await link.focus()
  await page.keyboard.press('Enter')
  const drawer = page.getByRole('dialog')
  await drawer.getByText(verification_id, { exact: true }).waitFor()
  strictEqual(await drawer.locator('a[href*="/messages/"]').count(), 1)
  const texts = await drawer.locator('dd, td').allTextContents()
  ok(!texts.some((text) => /\b\d{6}\b/.test(text)), 'a code is shown')
  await expectToFit(page)
  await pictures(page, 'Code')
  await expectAccessible(page)
  await drawer.getByRole('button', { name: 'Cancel verification' }).click()
  await page.getByRole('button', { name: 'Cancel the verification' }).click()
  await drawer.getByText('canceled', { exact: true }).waitFor()
  await page.keyboard.press('Escape')
  await drawer.waitFor({ state: 'detached' })
  await page.getByLabel('Status').selectOption('approved')
  await page.getByText('No verification matches').waitFor()
}

/**
 * Writes a message with the keyboard, sees its price, and sends it with a double click: one message is sent, and its timeline
 * ends with `delivered`.
 */
async function composeMessage(page: Page, { url, key }: Place): Promise<void> {
  const text = `Composed at ${page.viewportSize()?.width} pixels`
  await page.goto(`${url}/console/compose`)
  await page.getByLabel('Recipient').waitFor()
  // The recipient has the focus.
  await page.keyboard.type('+15005550006')
  await page.keyboard.press('Tab')
  await page.keyboard.type(text)
  await page.locator('.card', { hasText: 'Estimate' }).getByText('1, GSM-7').waitFor()
  await expectToFit(page)
  await page.getByRole('button', { name: 'Send', exact: true }).waitFor()
  // A wrong field gets the focus: on a phone it is above the shown part of the page.
  await page.getByLabel('Metadata').fill('{')
  await page.keyboard.press('Tab')
  await page.getByRole('button', { name: 'Send', exact: true }).click()
  await page.locator('[aria-invalid]:focus').waitFor()
  await page.getByLabel('Metadata').fill('')
  const click = `document.querySelector('main [type=submit]').click()`
  await page.evaluate(`${click}; ${click}`)
  const drawer = page.getByRole('dialog')
  await drawer.locator('.timeline').getByText('delivered', { exact: true }).waitFor()
  await drawer.getByText(text).waitFor()
  await expectAccessible(page)
  await page.keyboard.press('Escape')
  await drawer.waitFor({ state: 'detached' })
  await page.locator('tbody tr', { hasText: text }).waitFor()
  const { messages } = await new Svc({ baseUrl: url, apiKey: key }).messages.list({ limit: 20 })
  strictEqual(messages.filter(({ content }) => content.text === text).length, 1)
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
