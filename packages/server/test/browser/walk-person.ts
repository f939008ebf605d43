import { ok, strictEqual } from 'node:assert/strict'
import { Svc } from '@svc/client'
import type { Page } from 'playwright-core'
import { type Place, pictures } from './console-page.ts'
import { expectAccessible, expectToFit } from './page-checks.ts'

/** Finds a contact by its name in Messages and in Compose, with the keyboard, and opens everything about it. */
export async function walkPerson(page: Page, { url, key }: Place): Promise<void> {
  const svc = new Svc({ baseUrl: url, apiKey: key })
  const width = page.viewportSize()?.width
  const phone = `+1415555${width}`
  const name = `Wanjiru ${width} O'Neil`
  const { contact } = await svc.contacts.create({
    ...{ name, phone, email: `wanjiru.${width}@example.com`, tags: ['guest', 'nairobi'] },
    attributes: { city: 'Nairobi', plan: { seats: 3 }, Phone: 'red' },
    subscriptions: { email: 'unsubscribed' },
  })
  await svc.messages.send({ channel: 'sms', to: phone, content: { text: 'Your order is ready' } })
  await svc.verifications.start({ to: phone, channel: 'sms' })

  await page.goto(`${url}/console/messages`)
  await page.getByRole('combobox', { name: /^Name, recipient/ }).fill(`wanj ${width}`)
  await page.getByRole('option', { name }).waitFor()
  await expectAccessible(page)
  await pictures(page, 'Messages-suggestions')
  await page.keyboard.press('ArrowDown')
  const chosen = page.locator('.choices [aria-selected=true]')
  const active = await page.evaluate("document.activeElement.getAttribute('aria-activedescendant')")
  strictEqual(await chosen.getAttribute('id'), active)
  await page.keyboard.press('Enter')
  await page.locator('tbody tr', { hasText: 'Your order is ready' }).waitFor()
  ok(page.url().includes(`contact_id=${contact.id}`))
  await page.locator('.filters button', { hasText: name }).waitFor()
  await expectToFit(page)
  await pictures(page, 'Messages-of-contact')
  await page.getByRole('link', { name: 'Everything about this contact' }).click()

  await page.getByRole('heading', { level: 1, name }).waitFor()
  for (const text of [phone, 'red']) await page.locator('dd', { hasText: text }).waitFor()
  const history = page.getByRole('table', { name: 'History' })
  await history.locator('tr', { hasText: 'One-time code' }).first().waitFor()
  await history.locator('tr', { hasText: 'Your order is ready' }).waitFor()
  const consent = page.getByRole('table', { name: 'Consent by channel' })
  await consent.locator('tr', { hasText: 'E-mail' }).getByText('none: opted out').waitFor()
  await page.locator('body:not(:has([aria-busy=true]))').waitFor()
  await expectToFit(page)
  await pictures(page, 'Person')
  await expectAccessible(page)
  await page.getByRole('tab', { name: 'Codes' }).click()
  await history.locator('tr', { hasText: 'Your order is ready' }).waitFor({ state: 'detached' })
  await history.locator('tr', { hasText: 'One-time code' }).first().waitFor()
  await page.getByRole('link', { name: 'Send message' }).click()

  const recipient = page.getByRole('combobox', { name: 'Recipient' })
  strictEqual(await recipient.inputValue(), phone)
  await recipient.fill(`o neil ${width}`)
  await page.getByRole('option', { name }).waitFor()
  await pictures(page, 'Compose-suggestions')
  await page.keyboard.press('Escape')
  await page.locator('.choices').waitFor({ state: 'detached' })
  await page.keyboard.press('ArrowDown')
  await page.keyboard.press('Enter')
  strictEqual(await recipient.inputValue(), phone)

  // A search that has not begun when the person leaves does not lead back.
  await page.goto(`${url}/console/messages`)
  await page.getByRole('combobox', { name: /^Name, recipient/ }).fill('nothing')
  await page.getByRole('heading', { level: 1, name: 'Messages' }).waitFor()
  await page.evaluate('document.querySelector(\'a[href$="/contacts"]\').click()')
  await page.getByRole('searchbox').fill(name)
  await page.waitForURL(/search=Wanjiru/)
  strictEqual(new URL(page.url()).pathname, '/console/contacts')

  await page.goto(`${url}/console/contacts`)
  await page.getByLabel('Tags').selectOption('nairobi')
  await page.waitForURL(/tag=nairobi/)
  await page.locator('tbody tr', { hasText: name }).waitFor()
  await expectToFit(page)
  await pictures(page, 'Contacts-of-a-tag')
  await expectAccessible(page)
}
