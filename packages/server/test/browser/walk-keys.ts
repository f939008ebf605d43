import { strictEqual } from 'node:assert/strict'
import { Svc } from '@svc/client'
import type { Page } from 'playwright-core'
import { type Place, pictures } from './console-page.ts'
import { expectAccessible, expectToFit } from './page-checks.ts'

/** Uses the console by its keys: the palette, the list of keys, rows and records; and no key while one types. */
export async function walkKeys(page: Page, { url, key }: Place): Promise<void> {
  const svc = new Svc({ baseUrl: url, apiKey: key })
  const name = `Zawadi ${page.viewportSize()?.width}`
  const { contact } = await svc.contacts.create({
    name,
    email: `${name.replace(' ', '')}@x.example`,
  })
  for (const text of ['Second', 'First']) {
    await svc.messages.send({ channel: 'sms', to: '+15005550006', content: { text } })
  }
  await page.goto(`${url}/console/messages`)
  await page.locator('tbody tr').nth(1).waitFor()
  await page.locator('body:not(:has([aria-busy=true]))').waitFor()

  const focused = () => page.evaluate<string>("document.activeElement.getAttribute('href')")
  const hrefs = await page.evaluate<string[]>(
    "[...document.querySelectorAll('tbody tr > :first-child a')].map((link) => link.getAttribute('href'))",
  )
  await page.keyboard.press('j')
  strictEqual(await focused(), hrefs[0])
  await page.keyboard.press('j')
  strictEqual(await focused(), hrefs[1])
  await page.keyboard.press('k')
  strictEqual(await focused(), hrefs[0])
  await page.keyboard.press('Enter')
  const dialog = page.getByRole('dialog')
  await dialog.getByText('First').first().waitFor()
  await page.keyboard.press('ArrowRight')
  await dialog.getByText('Second').first().waitFor()
  await page.keyboard.press('ArrowLeft')
  await dialog.getByText('First').first().waitFor()
  await page.keyboard.press('Escape')
  await dialog.waitFor({ state: 'detached' })

  await page.keyboard.press('/')
  await page.keyboard.type('j?k')
  strictEqual(await page.getByRole('combobox').first().inputValue(), 'j?k')
  // The palette opens from a field too, and before the next key.
  await page.goto(`${url}/console/compose`)
  await page.locator('input:focus').waitFor()
  await page.keyboard.press('Control+k')
  await page.keyboard.type('webh')
  await dialog.getByRole('combobox').waitFor()
  strictEqual(await dialog.getByRole('combobox').inputValue(), 'webh')
  await page.keyboard.press('Escape')
  await dialog.waitFor({ state: 'detached' })
  await page.goto(`${url}/console/messages`)
  await page.locator('body:not(:has([aria-busy=true]))').waitFor()

  await page.keyboard.press('?')
  await dialog.getByText('Next and previous row of a list').waitFor()
  await expectToFit(page)
  await pictures(page, 'Shortcuts')
  await expectAccessible(page)
  await page.keyboard.press('Escape')
  await dialog.waitFor({ state: 'detached' })

  await page.keyboard.press('Control+k')
  const input = dialog.getByRole('combobox')
  await input.waitFor()
  await expectToFit(page)
  await pictures(page, 'Palette')
  await expectAccessible(page)
  await page.keyboard.type('new mes')
  await dialog.getByRole('option', { name: 'New message', selected: true }).waitFor()
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { level: 1, name: 'New message' }).waitFor()
  strictEqual(await dialog.count(), 0)

  await page.goto(`${url}/console/credits`)
  await page.getByRole('heading', { level: 1, name: 'Credits' }).waitFor()
  await page.keyboard.press('Control+k')
  await input.fill(name.toLowerCase())
  await dialog.getByRole('option', { name }).first().waitFor()
  await dialog.getByRole('option', { name }).last().waitFor()
  await pictures(page, 'Palette-people')
  await dialog.getByRole('option', { name: 'Contact' }).click()
  await page.getByRole('heading', { level: 1, name }).waitFor()
  strictEqual(new URL(page.url()).pathname, `/console/people/${contact.id}`)
}
