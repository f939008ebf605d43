import { strictEqual } from 'node:assert/strict'
import type { Browser, Page } from 'playwright-core'
import { type Place, pictures, signIn } from './console-page.ts'
import { expectAccessible, expectToFit } from './page-checks.ts'

const SCRIPT = /\/assets\/member-\w+\.js$/

/**
 * Pages are loaded before they are opened. A page whose script cannot be loaded says so, and works when it can. A service that was
 * replaced has the script no more: then the document is loaded again, once.
 */
export async function walkScripts(browser: Browser, place: Place): Promise<void> {
  const page = await browser.newPage({ viewport: { width: 1280, height: 900 } })
  let loaded = 0
  page.on('request', (request) => {
    if (SCRIPT.test(request.url())) loaded++
  })
  const prepared = page.waitForResponse((response) => SCRIPT.test(response.url()))
  await signIn(page, place)
  await prepared
  await openCredits(page)
  await page.getByRole('heading', { level: 1, name: 'Credits' }).waitFor()
  strictEqual(loaded, 1)
  await page.close()
  for (const isReplaced of [false, true]) await failOnce(browser, place, isReplaced)
}

async function failOnce(browser: Browser, place: Place, isReplaced: boolean): Promise<void> {
  const context = await browser.newContext({ viewport: { width: 390, height: 900 } })
  const page = await context.newPage()
  let documents = 0
  page.on('request', (request) => {
    if (request.isNavigationRequest()) documents++
  })
  await page.route(SCRIPT, (route) => route.fulfill({ status: 404, body: '' }))
  if (isReplaced) {
    const body = '<script type="module" src="./console/assets/another.js"></script>'
    await page.route(/\/console$/, (route) =>
      route.fulfill({ contentType: 'text/html', body: `<!doctype html>${body}` }),
    )
  }
  await signIn(page, place)
  documents = 0
  await page.getByRole('button', { name: 'Menu' }).click()
  await openCredits(page)
  const error = page.getByRole('alert').getByText('This page could not be loaded')
  await error.waitFor()
  strictEqual(documents, isReplaced ? 1 : 0)
  await expectToFit(page)
  await pictures(page, 'Script-missing')
  await expectAccessible(page)
  await page.unroute(SCRIPT)
  await page.getByRole('button', { name: 'Try again' }).click()
  await page.getByRole('heading', { level: 1, name: 'Credits' }).waitFor()
  await context.close()
}

async function openCredits(page: Page): Promise<void> {
  await page.getByRole('link', { name: 'Credits', exact: true }).click()
}
