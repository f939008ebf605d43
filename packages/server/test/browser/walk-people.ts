import { deepStrictEqual, ok, strictEqual } from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { Svc } from '@svc/client'
import type { Browser, BrowserContext, Page } from 'playwright-core'
import { type Place, pictures, signIn, watchPolicy } from './console-page.ts'
import { expectAccessible, expectToFit } from './page-checks.ts'

/** A recipient that replies "Thank you!". */
const TALKATIVE = '+15005550008'

function sendTo(recipient: string, text: string, { url, key }: Pick<Place, 'url' | 'key'>) {
  const svc = new Svc({ baseUrl: url, apiKey: key })
  return svc.messages.send({ channel: 'sms', to: recipient, content: { text } })
}

/** A reply appears in the open conversation without a reload; an answer is sent with the keyboard, and its reply appears too. */
export async function walkConversation(page: Page, place: Place): Promise<void> {
  await page.goto(`${place.url}/console/received/sms/${encodeURIComponent(TALKATIVE)}`)
  const thread = page.getByRole('log')
  await thread.waitFor()
  const replies = thread.getByText('Thank you!')
  const before = await replies.count()
  await sendTo(TALKATIVE, 'Are you there?', place)
  await replies.nth(before).waitFor()
  await page.getByLabel('Reply').fill('Good.')
  await page.getByText('1 segment, 1 credit').waitFor()
  await page.keyboard.press('Control+Enter')
  await thread.getByText('Good.').last().waitFor()
  await replies.nth(before + 1).waitFor()
  await expectToFit(page)
  await expectAccessible(page)
  await page.goto(`${place.url}/console/received`)
  const list = page.getByRole('navigation', { name: 'Conversations' })
  await list.getByRole('link', { name: TALKATIVE }).first().click()
  await thread.getByText('Are you there?').last().waitFor()
}

/**
 * Imports the file of a German spreadsheet with a faulty row: the person sees what its columns become, names the country of its
 * numbers, and gets the row back, with a cell that no spreadsheet runs.
 */
export async function walkImport(page: Page, { url }: Place): Promise<void> {
  await page.goto(`${url}/console/contacts/import`)
  const text = 'Name;Handy;Schuhgröße\r\nJuma;0700 000041;42\r\n=1+1;07;43\r\n'
  const file = { name: 'people.csv', mimeType: 'text/csv', buffer: Buffer.from(text, 'latin1') }
  await page.getByLabel('CSV file').setInputFiles(file)
  await page.getByText('2 (WINDOWS-1252, semicolon)').waitFor()
  await page.getByText('Line 2: "0700 000041" has no country code').waitFor()
  strictEqual(await page.getByRole('button', { name: /^Import \d/ }).count(), 0)
  await page.getByLabel('Country of numbers').fill('tz')
  await page.locator('td', { hasText: /^phone$/ }).waitFor()
  await page.locator('td', { hasText: 'attribute Schuhgröße' }).waitFor()
  await page.getByLabel('Preview').getByText('+255700000041').waitFor()
  await page.getByText('Line 3: ').waitFor()
  await expectToFit(page)
  await expectAccessible(page)
  await page.getByRole('button', { name: 'Import 1 row' }).click()
  await page.getByText('1 of 1').waitFor()
  const [saved] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('button', { name: 'Rejected rows as CSV' }).click(),
  ])
  const [head, row] = (await readFile(await saved.path(), 'utf8')).split('\r\n')
  strictEqual(head, 'Name,Handy,Schuhgröße,import_error')
  ok(row?.startsWith("'=1+1,07,43,"), row)
  await page.keyboard.press('Escape')
  await page.getByRole('link', { name: 'Juma' }).first().click()
  const attributes = await page.getByLabel('Attributes').inputValue()
  deepStrictEqual(JSON.parse(attributes), { Schuhgröße: '42' })
}

/** Chooses a file for a bulk, as a spreadsheet saves it, and sees how it was read. */
async function walkBulkFile(page: Page, { url }: Place): Promise<void> {
  await page.goto(`${url}/console/bulks/new`)
  const text = '\ufeffVorname\tMobile\nJürg\t0700 000042\n'
  const file = { name: 'people.txt', mimeType: 'text/plain', buffer: Buffer.from(text, 'utf16le') }
  await page.getByLabel('Or a file').setInputFiles(file)
  await page.getByText('UTF-16LE, tab').waitFor()
  await page.getByText('1 number not read. Line 2: "0700 000042" has no country code').waitFor()
  await page.getByLabel('Country of numbers').fill('TZ')
  await page.getByText('Mobile → recipient').waitFor()
  await page.locator('td', { hasText: '+255700000042' }).waitFor()
  await page.locator('td', { hasText: 'Vorname: Jürg' }).waitFor()
  await expectToFit(page)
  await expectAccessible(page)
  await page.getByRole('button', { name: 'Remove' }).click()
  await page.getByRole('textbox', { name: 'Recipients' }).waitFor()
}

/** Sends a bulk to the contacts that a search finds, with their names in the text; a wrong line is left out and named. */
export async function walkBulk(page: Page, place: Place): Promise<void> {
  const { url } = place
  await walkBulkFile(page, place)
  await page.goto(`${url}/console/contacts?search=Juma`)
  await page.getByRole('link', { name: 'Send to these' }).click()
  await page.getByRole('cell', { name: '+255700000041' }).waitFor()
  const recipients = page.getByRole('textbox', { name: 'Recipients' })
  await recipients.fill(`${await recipients.inputValue()}\n12 34,,Juma`)
  await page.goBack()
  await page.getByRole('link', { name: 'Send to these' }).waitFor()
  await page.goForward()
  await recipients.waitFor()
  ok((await recipients.inputValue()).endsWith('12 34,,Juma'))
  await page.getByRole('textbox', { name: 'Text' }).fill('Dear {{name}}')
  await page.getByRole('textbox', { name: 'Name', exact: true }).fill('Spring')
  await page.getByText('1 recipient left out').waitFor()
  await page.getByText('line 4: invalid recipient').waitFor()
  await expectToFit(page)
  await expectAccessible(page)
  await page.getByRole('button', { name: 'Send to 1 recipient' }).click()
  await page.getByRole('button', { name: 'Send', exact: true }).click()
  const drawer = page.getByRole('dialog')
  await drawer.getByText('Recipient 2: 12 34').waitFor()
  await page.evaluate('sessionStorage.clear()')
  await page.reload()
  await drawer.getByText('Recipient 2: 12 34').waitFor()
  await expectToFit(page)
  await expectAccessible(page)
  const saving = page.waitForEvent('download')
  await drawer.getByRole('button', { name: 'Download as CSV' }).click()
  const file = await readFile(await (await saving).path(), 'utf8')
  deepStrictEqual(file.split('\r\n')[1]?.split(',').slice(0, 3), [
    '2',
    '12 34',
    'invalid_recipient',
  ])
  await drawer.getByRole('heading', { name: 'Spring' }).waitFor()
  await drawer.locator('.bubble', { hasText: 'Dear {{name}}' }).waitFor()
  await pictures(page, 'Bulk')
  await drawer.getByRole('link', { name: 'Messages of this bulk' }).click()
  await page.getByRole('cell', { name: 'Dear Juma' }).waitFor()
  await page.goBack()
  await drawer.getByRole('link', { name: 'Use as a new bulk' }).click()
  const name = page.getByRole('textbox', { name: 'Name', exact: true })
  await name.waitFor()
  strictEqual(await name.inputValue(), 'Spring')
  strictEqual(await page.getByRole('textbox', { name: 'Text' }).inputValue(), 'Dear {{name}}')
  strictEqual(await recipients.inputValue(), '')
}

/** Buys credits with the sandbox of payments: the person comes back and sees the new balance and its entry in the ledger. */
export async function walkPurchase(page: Page, { url }: Place): Promise<void> {
  await page.goto(`${url}/console/credits`)
  const figure = page.locator('.card', { hasText: 'Balance' }).locator('.figure').first()
  await figure.waitFor()
  const balance = async () => Number(((await figure.textContent()) ?? '').replace(/[^\d.]/g, ''))
  const before = await balance()
  await page.getByRole('button', { name: 'Buy credits' }).click()
  await page.getByRole('button', { name: '10.00 USD' }).click()
  await page.getByRole('heading', { name: 'Pay 10.00 USD for 1,000 credits' }).waitFor()
  await page.getByRole('button', { name: 'Pay 10.00 USD' }).click()
  await page.getByText('Thank you: 1,000 credits were added.').waitFor()
  strictEqual(await balance(), before + 1_000)
  await expectToFit(page)
  await expectAccessible(page)
  await page.getByRole('combobox', { name: 'Changes' }).selectOption('funding')
  await page.getByRole('cell', { name: '+1,000 credits' }).first().waitFor()
  ok(page.url().includes('only=funding'))
}

/** Two workspaces in two contexts of the browser: no page shows data of the other, also not live. */
export async function walkTwoWorkspaces(
  browser: Browser,
  first: Place,
  paths: readonly string[],
): Promise<void> {
  const { url } = first
  const login = { email: 'second@example.com', password: 'long enough' }
  const open = new Svc({ baseUrl: url })
  await open.workspaces.signup({ ...login, company_name: 'Second' })
  const { token } = await open.workspaces.login(login)
  const { key } = await new Svc({ baseUrl: url, token }).apiKeys.create({ name: 'second-key' })
  const second = { url, login, key }
  const pages: { page: Page; faults: string[]; context: BrowserContext }[] = []
  for (const place of [first, second]) {
    const context = await browser.newContext()
    const page = await context.newPage()
    pages.push({ page, faults: await watchPolicy(page, url), context })
    await signIn(page, place)
  }
  for (const path of paths) {
    const { page } = pages[1] as { page: Page }
    await page.goto(`${url}/console${path}`)
    await page.getByRole('heading', { level: 1 }).waitFor()
    await page.locator('body:not(:has([aria-busy=true]))').waitFor()
    const text = (await page.locator('body').textContent()) ?? ''
    for (const foreign of [first.login.email, 'asha@example.com', 'Are you there?', 'Thank you!']) {
      ok(!text.includes(foreign), `${path} of another workspace shows ${foreign}`)
    }
  }
  for (const { page } of pages) {
    await page.goto(`${url}/console/received/sms/${encodeURIComponent(TALKATIVE)}`)
    await page.getByRole('log').waitFor()
  }
  await sendTo(TALKATIVE, 'From the first', first)
  await sendTo(TALKATIVE, 'From the second', second)
  const own = ['From the first', 'From the second']
  for (const [i, { page }] of pages.entries()) {
    const thread = page.getByRole('log')
    await thread.getByText(own[i] ?? '').waitFor()
    strictEqual(await thread.getByText(own[1 - i] ?? '').count(), 0)
  }
  // Both workspaces wrote to the number; each gets only the reply to its own message.
  const replies = pages[1]?.page.getByRole('log').getByText('Thank you!')
  await replies?.first().waitFor()
  strictEqual(await replies?.count(), 1)
  for (const { faults, context } of pages) {
    deepStrictEqual(faults, [])
    await context.close()
  }
}
