import { deepStrictEqual, notStrictEqual, strictEqual } from 'node:assert/strict'
import { Svc } from '@svc/client'
import type { Browser, Page } from 'playwright-core'
import { type Place, pictures, signIn, watchPolicy } from './console-page.ts'
import { expectAccessible, expectToFit } from './page-checks.ts'
import { PAGES } from './walk-console.ts'

/**
 * The texts of headings, fields and buttons that are not in brackets: in the pseudo-language they are not in the catalogue. The titles of
 * pages and dialogs may be names.
 */
const BARE = `[...document.querySelectorAll('h2, h3, th, dt, label, legend, nav a, button, summary, .empty, [placeholder]')]
  .filter((element) => !element.matches('[dir=auto]'))
  .flatMap((element) => [
    ...[...element.childNodes].filter((one) => one.nodeType === 3).map((one) => one.data),
    element.getAttribute('placeholder') ?? '',
    element.getAttribute('aria-label') ?? '',
  ])
  .filter((text) => /[A-Za-z]{2}/.test(text) && !text.includes('⟦'))`

/** Headings, fields and buttons whose text is data, or an example that is the same in each language. */
const DATA = [
  /^[a-z_-]+$/, // a name of the API or of a header
  /@|\.example|^\+\d|^https?:/,
  /^(SMS|WhatsApp|svc|API|JSON)$/,
]

/**
 * Opens every page and the first record of each list in the pseudo-language, in German and in Arabic: all texts are in the catalogue, all
 * pages fit both widths, and Arabic is laid out from right to left.
 */
export async function walkLanguages(browser: Browser, place: Place): Promise<void> {
  const first = await browser.newPage({ viewport: { width: 1280, height: 900 } })
  await signIn(first, place)
  const storageState = await first.context().storageState()
  await first.close()
  const svc = new Svc({ baseUrl: place.url, apiKey: place.key })
  const { contact } = await svc.contacts.create({ name: 'Zawadi', phone: '+14155550188' })
  await svc.messages.send({ channel: 'sms', to: '+14155550188', content: { text: 'Hello' } })
  const paths = [...PAGES.map(({ path }) => path), `/people/${contact.id}`]
  await openInLanguages(browser, { url: place.url, storageState, paths })
  await walkChoices(browser, place, storageState)
}

type State = Awaited<ReturnType<ReturnType<Page['context']>['storageState']>>

/** Opens pages as the person of a state in all languages, at both widths. */
export async function openInLanguages(
  browser: Browser,
  { url, storageState, paths }: { url: string; storageState: State; paths: readonly string[] },
): Promise<void> {
  for (const locale of ['en-XA', 'de-DE', 'ar-EG']) {
    for (const width of [1280, 390]) {
      const page = await browser.newPage({ locale, storageState, viewport: { width, height: 900 } })
      if (locale === 'en-XA') await page.addInitScript("localStorage['svc.language'] = 'en-XA'")
      await openAll(page, url, paths, locale)
      await page.close()
    }
  }
}

/** Chooses a language, colours and a zone, which hold from the first paint and until they are chosen anew. */
async function walkChoices(browser: Browser, { url }: Place, storageState: State): Promise<void> {
  const page = await browser.newPage({
    ...{ storageState, locale: 'en-US', timezoneId: 'America/New_York', colorScheme: 'light' },
  })
  const faults = await watchPolicy(page, url)
  const ink = () => page.evaluate("getComputedStyle(document.querySelector('h1')).color")
  const background = () => page.evaluate('getComputedStyle(document.body).backgroundColor')
  await page.goto(`${url}/console/settings?tab=you`)
  await page.getByRole('heading', { level: 1, name: 'Settings' }).waitFor()
  const [light, dark_ink] = [await background(), await ink()]
  await page.getByLabel('Language').selectOption('de')
  await page.getByRole('heading', { level: 1, name: 'Einstellungen' }).waitFor()
  await page.getByLabel('Farben').selectOption('dark')
  await page.locator('link[media=screen]').waitFor({ state: 'attached' })
  await Promise.all([page.waitForEvent('load'), page.getByLabel('Zeiten').selectOption('UTC')])
  await page.goto(`${url}/console/messages`)
  notStrictEqual(await background(), light)
  await page.goto(`${url}/console/credits/statement`)
  await page.locator('main table').waitFor()
  await page.emulateMedia({ media: 'print' })
  strictEqual(await ink(), dark_ink)
  strictEqual(await page.locator('.side').isVisible(), false)
  strictEqual(await page.locator('main table').isVisible(), true)
  await page.emulateMedia({ media: 'screen' })
  await page.goto(`${url}/console/messages`)
  const time = page.locator('tbody time').first()
  const at = new Date((await time.getAttribute('datetime')) ?? '')
  const format = { dateStyle: 'medium', timeStyle: 'medium', timeZone: 'UTC' } as const
  strictEqual(await time.getAttribute('title'), new Intl.DateTimeFormat('de', format).format(at))
  await page.goto(`${url}/console/sign-in`)
  await page.getByLabel('Sprache').selectOption('ar')
  await page.locator('html[dir=rtl]').waitFor()
  await pictures(page, 'sign-in-ar')
  await page.getByLabel('اللغة').selectOption('')
  await page.getByRole('heading', { level: 1, name: 'Sign in' }).waitFor()
  deepStrictEqual(faults, [])
  await page.close()
}

async function openAll(
  page: Page,
  url: string,
  paths: readonly string[],
  locale: string,
): Promise<void> {
  const faults = await watchPolicy(page, url)
  const tag = locale === 'en-XA' ? 'en' : locale.slice(0, 2)
  const bare = new Set<string>()
  const opened = [...paths]
  // The loop also opens the records that it adds.
  for (const path of opened) {
    await page.goto(`${url}/console${path}`)
    await page.locator('h1').first().waitFor()
    await page.locator('body:not(:has([aria-busy=true]))').waitFor()
    strictEqual(await page.evaluate('document.documentElement.lang'), tag)
    const direction = await page.evaluate('getComputedStyle(document.body).direction')
    strictEqual(direction, tag === 'ar' ? 'rtl' : 'ltr')
    await expectToFit(page)
    await pictures(page, `${locale}${path.replace(/\W+/g, '-')}`)
    if (locale === 'en-XA') {
      for (const text of await page.evaluate<string[]>(BARE)) {
        if (!DATA.some((one) => one.test(text))) bare.add(`${path}: ${text}`)
      }
    } else {
      // Both colours are those of `walkConsole`.
      await expectAccessible(page, ['light'])
    }
    const record = await page.evaluate<string>(FIRST_RECORD)
    const [, next = ''] = record.split('/console')
    if (next && !opened.includes(next)) opened.push(next)
  }
  deepStrictEqual([...bare], [])
  deepStrictEqual(faults, [])
}

/** The path of the first record of the list of a page. */
const FIRST_RECORD = `document.querySelector('table.linked tbody tr > :first-child a')?.getAttribute('href') ?? ''`
