import { deepStrictEqual, ok, strictEqual } from 'node:assert/strict'
import { Svc } from '@svc/client'
import type { Browser, Page } from 'playwright-core'
import { type Place, pictures, signIn, watchPolicy } from './console-page.ts'
import { expectAccessible, expectToFit } from './page-checks.ts'
import { walkBroadcast, walkQuietHours } from './walk-broadcast.ts'
import { walkKeys } from './walk-keys.ts'
import {
  walkBulk,
  walkConversation,
  walkImport,
  walkPurchase,
  walkTwoWorkspaces,
} from './walk-people.ts'
import { walkPerson } from './walk-person.ts'

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
  { path: '/templates', heading: 'Templates' },
  { path: '/templates?new=1', heading: 'New template' },
  { path: '/broadcasts', heading: 'Broadcasts' },
  { path: '/broadcasts/new', heading: 'New broadcast' },
  { path: '/contacts', heading: 'Contacts' },
  { path: '/contacts/new', heading: 'Contacts' },
  { path: '/contacts/import', heading: 'Contacts' },
  { path: '/suppressions', heading: 'Suppressions' },
  { path: '/credits', heading: 'Credits' },
  { path: '/credits/why', heading: 'Where credits went' },
  { path: '/credits/statement?month=2026-05', heading: 'Statement of May 2026' },
  { path: '/team', heading: 'Team' },
  { path: '/audit', heading: 'Audit log' },
  { path: '/settings', heading: 'Settings' },
  { path: '/settings?tab=you', heading: 'Settings' },
  { path: '/tools', heading: 'Quick start' },
  { path: '/tools/mails', heading: 'Mails' },
  { path: '/tools/phone', heading: 'Phone' },
  { path: '/tools/requests', heading: 'Requests' },
] as const

const HOSTILE = '<img src=x onerror=alert(1)>"\'</script><script>alert(2)</script>'

/**
 * Opens every page at two widths. Without `isShort` it also uses the console with the keyboard only. Templates, quiet hours and broadcasts
 * are used in both forms, with `isShort` at 390 pixels alone.
 */
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
    await readRightToLeft(page, place)
    if (!isShort) {
      await openMessage(page, place)
      await openVerification(page, place)
      await walkPerson(page, place)
      await walkKeys(page, place)
      await walkConversation(page, place)
      await walkImport(page, place)
      await walkBulk(page, place)
      await walkPurchase(page, place)
      await composeMessage(page, place)
    }
    if (!isShort || width === 390) {
      await editTemplate(browser, page, place)
      await walkQuietHours(page, place)
      await walkBroadcast(page, place)
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

/** A text in Arabic is laid out from right to left where it is shown and typed; the page stays as it is. */
async function readRightToLeft(page: Page, { url, key }: Place): Promise<void> {
  const text = 'رمز التحقق: 1234 (لا تشاركه)'
  const svc = new Svc({ baseUrl: url, apiKey: key })
  const { message_id } = await svc.messages.send({
    channel: 'sms',
    to: '+15005550006',
    content: { text },
  })
  const directionOf = (selector: string) =>
    page.evaluate<string>(
      `getComputedStyle([...document.querySelectorAll('${selector}')].at(-1)).direction`,
    )
  await page.goto(`${url}/console/messages/${message_id}`)
  await page.locator('.bubble').waitFor()
  strictEqual(await directionOf('.bubble'), 'rtl')
  strictEqual(await directionOf('h1'), 'ltr')
  await expectToFit(page)
  await pictures(page, 'Right-to-left')
  await page.goto(`${url}/console/tools/phone/+15005550006`)
  await page.locator('.bubble p', { hasText: text }).first().waitFor()
  strictEqual(await directionOf('.bubble p'), 'rtl')
  await pictures(page, 'Phone-right-to-left')
  await page.goto(`${url}/console/compose`)
  await page.locator('textarea').first().fill(text)
  const typed = await page.evaluate(
    "getComputedStyle(document.querySelector('textarea')).direction",
  )
  strictEqual(typed, 'rtl')
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
 * Writes a template in two channels, sees its preview and its missing variables, publishes it, and rolls back. Changes that are
 * not saved are there again after another page. The mail runs no script, and has its styles.
 */
async function editTemplate(
  browser: Browser,
  page: Page,
  { url, login, key }: Place,
): Promise<void> {
  const { templates, messages } = new Svc({ baseUrl: url, apiKey: key })
  const name = `order-${page.viewportSize()?.width}`
  await page.goto(`${url}/console/templates?new=1`)
  await page.getByLabel('Name', { exact: true }).waitFor()
  // The name has the focus.
  await page.keyboard.type(name)
  await page
    .getByLabel('Text', { exact: true })
    .fill('Hi {{name}}, your order {{order}} is ready ✓')
  const preview = page.getByRole('region', { name: 'Preview' })
  await preview.getByText('1, UCS-2').waitFor()
  await preview.getByText('Default price').waitFor()
  await preview.locator('.badge', { hasText: 'order' }).waitFor()
  await page.getByRole('button', { name: 'Declare name, order' }).click()
  const variable = page.getByRole('region', { name: 'Variable order' })
  await variable.getByLabel('Example').fill('A1')
  await page.getByRole('region', { name: 'Variable name' }).getByLabel('Fallback').fill('there')
  await preview.getByText('Hi there, your order A1 is ready ✓').waitFor()
  await page.getByRole('link', { name: 'All templates' }).click()
  await page.goBack()
  await page.getByText('Not saved').waitFor()
  strictEqual(await page.getByLabel('Name', { exact: true }).first().inputValue(), name)
  const leave = `dispatchEvent(new Event('beforeunload', { cancelable: true }))`
  strictEqual(await page.evaluate(leave), false)
  await page.getByRole('button', { name: 'Save', exact: true }).click()
  await page.getByRole('heading', { level: 1, name }).waitFor()
  strictEqual(await page.evaluate(leave), true)

  await page.getByRole('button', { name: 'Add a language or channel' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('Channel').selectOption('email')
  await dialog.getByRole('button', { name: 'Add', exact: true }).click()
  await page.getByLabel('Subject').fill('Order {{order}}')
  await page
    .getByLabel('HTML')
    .fill(
      '<link rel="stylesheet" href="https://example.com/a.css">' +
        '<style>@media (prefers-color-scheme: dark) { body { background: #000 } }</style>' +
        '<h1 style="color: rgb(100, 110, 120)">Hi {{name}}</h1><script>alert(4)</script>',
    )
  const mail = preview.frameLocator('iframe')
  await mail.getByRole('heading', { name: 'Hi there' }).waitFor()
  const styled = (selector: string, name: string) =>
    page.evaluate<string>(
      `getComputedStyle(document.querySelector('iframe').contentDocument.querySelector('${selector}'))['${name}']`,
    )
  strictEqual(await styled('h1', 'color'), 'rgb(100, 110, 120)')
  // An emulated scheme would hold in frames too.
  await page.emulateMedia({ colorScheme: null })
  strictEqual(await styled('body', 'backgroundColor'), 'rgba(0, 0, 0, 0)')
  strictEqual(await preview.locator('iframe').getAttribute('sandbox'), 'allow-same-origin')
  await preview.getByRole('tab', { name: 'Desktop' }).click()
  await page.keyboard.press('ArrowRight')
  await preview.getByText('In programs with dark colours').waitFor()
  strictEqual(await styled('body', 'backgroundColor'), 'rgb(0, 0, 0)')
  await expectToFit(page)
  await pictures(page, 'Template-mail')
  await expectAccessible(page)
  await preview.getByRole('tab', { name: 'Plain text' }).click()
  await preview.locator('pre', { hasText: 'Hi there' }).waitFor()
  await preview.getByRole('button', { name: 'Send a test to myself' }).click()
  await dialog.getByLabel('Your e-mail address').fill('delivered@sandbox.svc')
  await dialog.getByRole('button', { name: 'Send', exact: true }).click()
  await preview.getByRole('link', { name: 'Show the sent test' }).waitFor()
  const { messages: sent } = await messages.list({ limit: 5, channel: 'email' })
  ok(sent.some(({ content }) => content.subject === 'Order A1'))

  await page.getByRole('button', { name: 'Publish…' }).click()
  await dialog.locator('ins', { hasText: 'Subject: Order {{order}}' }).waitFor()
  await pictures(page, 'Template-publish')
  await expectAccessible(page)
  await dialog.getByRole('button', { name: 'Publish', exact: true }).click()
  await page.getByText('version 1', { exact: true }).waitFor()
  await page.getByRole('tab', { name: 'SMS' }).click()
  await typeDuringSave(page, '{{name}}: {{order}}')
  await templates.update(name, { description: 'Of a colleague' })
  await page.getByRole('button', { name: 'Publish…' }).click()
  await dialog.getByRole('button', { name: 'Overwrite' }).click()
  await dialog.locator('del', { hasText: 'is ready' }).waitFor()
  await dialog.getByRole('button', { name: 'Publish', exact: true }).click()
  await page.getByText('version 2', { exact: true }).waitFor()
  const first = page.locator('tr', { hasText: 'Version 1' })
  await first.getByRole('button', { name: 'Compare with the draft' }).click()
  await dialog.locator('ins', { hasText: 'is ready' }).waitFor()
  await dialog.getByRole('button', { name: 'Publish version 1 again' }).click()
  await page.getByText('version 3', { exact: true }).waitFor()
  await page.locator('body:not(:has([aria-busy=true]))').waitFor()
  await expectToFit(page)
  await pictures(page, 'Template')
  await expectAccessible(page)
  const { template } = await templates.get(name)
  strictEqual(template.version, 3)
  ok(JSON.stringify(template.variants).includes('is ready'))
  await page.goto(`${url}/console/templates`)
  await page.locator('tbody tr', { hasText: name }).waitFor()
  await pictures(page, 'Templates')
  await page.getByRole('link', { name }).click()
  await page.getByRole('button', { name: 'Delete' }).click()
  await dialog.getByRole('button', { name: 'Delete' }).click()
  await page.getByRole('heading', { level: 1, name: 'Templates' }).waitFor()
  await templates.get(name).then(
    () => ok(false, 'the template is still there'),
    ({ code }) => strictEqual(code, 'not_found'),
  )

  // A page of its own: a browser reports each refused request, and the other page is watched for reports.
  const other = await browser.newPage({ viewport: page.viewportSize() })
  await signIn(other, { url, login, key })
  await other.goto(`${url}/console/templates?new=1`)
  await other.getByLabel('Text', { exact: true }).fill('Hi {{name}}, your order {{order')
  await other.getByText('"{{" must begin a placeholder').waitFor()
  await other.getByLabel('Text', { exact: true }).fill('Hi')
  await other.locator('[aria-invalid]').waitFor({ state: 'detached' })
  await other.getByLabel('Name', { exact: true }).fill('Größe')
  await other.getByRole('button', { name: 'Save', exact: true }).click()
  await other.getByText('The name of a template must be').waitFor()
  await other.locator('[aria-invalid]:focus').waitFor()
  await other.close()
}

/** Saves a template and types a text before the answer: the text stays, and is not saved. */
async function typeDuringSave(page: Page, text: string): Promise<void> {
  const place = '**/api/v1/templates/*'
  const field = page.getByLabel('Text', { exact: true })
  let goOn = () => {}
  const arrived = new Promise<void>((resolve) => {
    void page.route(place, async (route) => {
      if (route.request().method() === 'PUT') {
        resolve()
        await new Promise<void>((release) => {
          goOn = release
        })
      }
      await route.continue()
    })
  })
  await field.fill('Saved first')
  await page.getByRole('button', { name: 'Save', exact: true }).click()
  await arrived
  await field.fill(text)
  const answered = page.waitForResponse((answer) => answer.request().method() === 'PUT')
  goOn()
  await answered
  await page.locator('main:not(:has([aria-busy=true]))').waitFor()
  strictEqual(await field.inputValue(), text)
  await page.getByText('Not saved').waitFor()
  await page.unroute(place)
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
