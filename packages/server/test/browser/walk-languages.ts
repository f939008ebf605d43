import { deepStrictEqual, notStrictEqual, strictEqual } from 'node:assert/strict'
import type { Browser, Page } from 'playwright-core'
import { type Place, pictures, signIn, watchPolicy } from './console-page.ts'
import { expectAccessible, expectToFit } from './page-checks.ts'
import { PAGES } from './walk-console.ts'

/** The texts of headings, fields and buttons that are not in brackets: in the pseudo-language they are not in the catalogue. */
const BARE = `[...document.querySelectorAll('h1, h2, h3, th, dt, label, legend, nav a, button, summary, .empty, [placeholder]')]
  .flatMap((element) => [
    ...[...element.childNodes].filter((one) => one.nodeType === 3).map((one) => one.data),
    element.getAttribute('placeholder') ?? '',
    element.getAttribute('aria-label') ?? '',
  ])
  .filter((text) => /[A-Za-z]{2}/.test(text) && !text.includes('⟦'))`

/** Headings, fields and buttons whose text is data, or an example that is the same in each language. */
const DATA = [
  /^[a-z_]+$/, // a name of the API
  /@|\.example|^\+\d|^https?:/,
  /^(SMS|WhatsApp|svc|API|JSON)$/,
]

/**
 * Opens every page in the pseudo-language, in German and in Arabic: all texts are in the catalogue, all pages fit both widths, and
 * Arabic is laid out from right to left.
 */
export async function walkLanguages(browser: Browser, place: Place): Promise<void> {
  const first = await browser.newPage({ viewport: { width: 1280, height: 900 } })
  await signIn(first, place)
  const storageState = await first.context().storageState()
  await first.close()
  for (const [locale, width] of [
    ['en-XA', 1280],
    ['de-DE', 1280],
    ['de-DE', 390],
    ['ar-EG', 1280],
    ['ar-EG', 390],
  ] as const) {
    const page = await browser.newPage({ locale, storageState, viewport: { width, height: 900 } })
    if (locale === 'en-XA') await page.addInitScript("localStorage['svc.language'] = 'en-XA'")
    await openAll(page, place, locale)
    await page.close()
  }
  await walkChoices(browser, place, storageState)
}

type State = Awaited<ReturnType<ReturnType<Page['context']>['storageState']>>

/** Chooses a language, colours and a zone, which hold from the first paint and until they are chosen anew. */
async function walkChoices(browser: Browser, { url }: Place, storageState: State): Promise<void> {
  const page = await browser.newPage({
    ...{ storageState, locale: 'en-US', timezoneId: 'America/New_York', colorScheme: 'light' },
  })
  const faults = await watchPolicy(page, url)
  const ink = () => page.evaluate("getComputedStyle(document.querySelector('h1')).color")
  const background = () => page.evaluate('getComputedStyle(document.body).backgroundColor')
  await page.goto(`${url}/console/settings?tab=you`)
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

async function openAll(page: Page, { url }: Place, locale: string): Promise<void> {
  const faults = await watchPolicy(page, url)
  const tag = locale === 'en-XA' ? 'en' : locale.slice(0, 2)
  const bare = new Set<string>()
  for (const { path } of PAGES) {
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
      await expectAccessible(page)
    }
  }
  deepStrictEqual([...bare], [])
  deepStrictEqual(faults, [])
}
