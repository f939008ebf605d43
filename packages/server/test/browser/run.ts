/**
 * Walks through `/docs`, the console, the account pages and a purchase in a real Chromium: `npm run browser`. It uses the one in
 * `SVC_CHROMIUM` or an installed one, and prints how to get one if there is none. `npm test` checks the same pages by HTTP, without a browser.
 */
import { existsSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { Svc } from '@svc/client'
import { chromium } from 'playwright-core'
import { readConfig, startServer } from '../../src/index.ts'
import { walkAccountPages } from './walk-account-pages.ts'
import { walkConsole } from './walk-console.ts'
import { walkPayment } from './walk-payment.ts'
import { walkDocs } from './walks.ts'

const NAMES = [
  'chromium',
  'chromium-browser',
  'google-chrome',
  'google-chrome-stable',
  'chrome.exe',
]

function findChromium(): string | null {
  const named = process.env.SVC_CHROMIUM
  if (named) return named
  const folders = (process.env.PATH ?? '').split(delimiter)
  const places = folders.flatMap((folder) => NAMES.map((name) => join(folder, name)))
  return [...places, chromium.executablePath()].find((place) => existsSync(place)) ?? null
}

const executablePath = findChromium()
if (!executablePath) {
  console.error(
    'No Chromium is installed, so nothing was tested. Install one (Debian: apt-get install chromium; elsewhere: npx playwright-core install chromium), or name one in SVC_CHROMIUM.',
  )
  process.exit(1)
}

const folder = await mkdtemp(join(tmpdir(), 'svc-browser-'))
const env = {
  PORT: '0',
  SVC_DATA_DIR: folder,
  SVC_SIGNUP_CREDITS: '100',
  SVC_CREDIT_PACKAGES:
    '[{"id":"starter","name":"Starter","credits":1000,"price":{"amount":1000,"currency":"USD"}}]',
  // The walks make more requests than a person.
  SVC_RATE_LIMIT_GENERAL: '5000/60',
  SVC_RATE_LIMIT_ANONYMOUS: '5000/60',
  SVC_RATE_LIMIT_AUTH: '500/60',
  SVC_LOG_LEVEL: 'warn',
}
let demo: { workspace_id: string; api_key: string } | null = null
const server = await startServer({ config: readConfig(env), dev: true, demo: () => demo })
const browser = await chromium.launch({ executablePath, args: ['--no-sandbox'] })
try {
  const base_url = server.url
  const owner = { email: 'owner@example.com', password: 'long enough', company_name: 'Browser' }
  const { workspace } = await new Svc({ baseUrl: base_url }).workspaces.signup(owner)
  const { token } = await new Svc({ baseUrl: base_url }).workspaces.login(owner)
  const { key } = await new Svc({ baseUrl: base_url, token }).apiKeys.create({ name: 'browser' })
  demo = { workspace_id: workspace.id, api_key: key }
  for (const width of [1280, 390]) {
    const size = { width, height: 900 }
    await walkDocs(await browser.newPage({ viewport: size }), { url: base_url, key })
    await walkPayment(await browser.newPage({ viewport: size }), { url: base_url, token })
    await walkAccountPages(await browser.newPage({ viewport: size }), server)
    console.log(`/docs, the account pages and a purchase work at ${width} pixels`)
  }
  await walkConsole(browser, { url: base_url, login: owner, key })
  console.log('the console works at 1280 and 390 pixels, light and dark')
} finally {
  await browser.close()
  await server.close()
  await rm(folder, { recursive: true, force: true })
}
