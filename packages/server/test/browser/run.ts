/**
 * Walks through `/docs`, the console with the tools of `svc dev`, the account pages and a purchase in a real Chromium:
 * `npm run browser`. With `-- --short` it opens every page of the console once at both widths, in at most 10 minutes. With
 * `-- --trial` it serves the week of data of `walk-trial.ts` for a person. It uses the
 * Chromium in `SVC_CHROMIUM` or an installed one; without one it prints how to get one and ends with 77, the exit code for
 * "skipped". `npm test` checks the same pages by HTTP, without a browser.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Svc } from '@svc/client'
import { readConfig, startServer } from '../../src/index.ts'
import { launchChromium } from './chromium.ts'
import { showTrial } from './trial-week.ts'
import { walkAccountPages } from './walk-account-pages.ts'
import { walkApproval } from './walk-approval.ts'
import { walkConsole } from './walk-console.ts'
import { walkLanguages } from './walk-languages.ts'
import { walkLists } from './walk-lists.ts'
import { walkMounted } from './walk-mounted.ts'
import { walkOperator } from './walk-operator.ts'
import { walkPasskeys } from './walk-passkeys.ts'
import { walkPayment } from './walk-payment.ts'
import { walkRecovery } from './walk-recovery.ts'
import { walkScripts } from './walk-scripts.ts'
import { walkStops } from './walk-stops.ts'
import { walkTools } from './walk-tools.ts'
import { walkTrial } from './walk-trial.ts'
import { walkWebhook } from './walk-webhook.ts'
import { walkDocs } from './walks.ts'

if (process.argv.includes('--trial')) await showTrial()

const browser = await launchChromium()
if (!browser) {
  console.error(
    'No Chromium is installed, so nothing was tested. Install one (Debian: apt-get install chromium; elsewhere: npx playwright-core install chromium), or name one in SVC_CHROMIUM.',
  )
  process.exit(77)
}

const isShort = process.argv.includes('--short')
const SHORT_MAX_MS = 600_000
if (isShort) {
  setTimeout(() => {
    console.error(`The short walk took more than ${SHORT_MAX_MS / 1000} s.`)
    process.exit(1)
  }, SHORT_MAX_MS).unref()
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
  SVC_RATE_LIMIT_CONSOLE: '5000/60',
  SVC_RATE_LIMIT_AUTH: '500/60',
  SVC_LOG_LEVEL: 'warn',
}
let demo: { workspace_id: string; api_key: string } | null = null
const server = await startServer({ config: readConfig(env), dev: true, demo: () => demo })
try {
  const base_url = server.url
  const owner = { email: 'owner@example.com', password: 'long enough', company_name: 'Browser' }
  const { workspace } = await new Svc({ baseUrl: base_url }).workspaces.signup(owner)
  const { token } = await new Svc({ baseUrl: base_url }).workspaces.login(owner)
  const { key } = await new Svc({ baseUrl: base_url, token }).apiKeys.create({ name: 'browser' })
  demo = { workspace_id: workspace.id, api_key: key }
  for (const width of isShort ? [] : [1280, 390]) {
    const size = { width, height: 900 }
    await walkDocs(await browser.newPage({ viewport: size }), { url: base_url, key })
    await walkTools(await browser.newPage({ viewport: size }), { url: base_url, key })
    await walkPayment(await browser.newPage({ viewport: size }), { url: base_url, token })
    await walkAccountPages(await browser.newPage({ viewport: size }), server)
    console.log(`/docs, the tools, the account pages and a purchase work at ${width} pixels`)
  }
  await walkConsole(browser, { url: base_url, login: owner, key }, { isShort })
  console.log('the console works at 1280 and 390 pixels, light and dark')
  await walkScripts(browser, { url: base_url, login: owner, key })
  console.log('pages are loaded when they are needed, also after the service was replaced')
  if (!isShort) {
    await walkLanguages(browser, { url: base_url, login: owner, key })
    console.log('all texts are in the catalogue; German fits, and Arabic runs from right to left')
    await walkMounted(browser)
    console.log('the console works below a prefix of another program, on PostgreSQL')
    await walkRecovery(browser)
    console.log('the console recovers after the service was killed')
    await walkStops(browser)
    console.log('members see that sending is frozen, paused or canceled, and too many pages wait')
    await walkLists(browser)
    console.log(
      'a bulk is previewed, tested, paused and resumed; filters are saved, and lists exported',
    )
    await walkApproval(browser)
    console.log('the editor of a template shows what WhatsApp has approved')
    await walkWebhook(browser)
    console.log('the page of a webhook shows whether it is healthy, also in Arabic')
    await walkTrial(browser)
    console.log('all tasks of the trial with a week of data need at most five clicks each')
  }
  await walkPasskeys(browser)
  console.log('a member and an operator sign in with passkeys')
  await walkOperator(browser, { isShort })
  console.log('an operator finds a provider that hangs, pauses it and grants credits')
} finally {
  await browser.close()
  await server.close()
  await rm(folder, { recursive: true, force: true })
}
