import { deepStrictEqual, ok } from 'node:assert/strict'
import type { AddressInfo } from 'node:net'
import { createCore, systemRuntime } from '@svc/core'
import type { Role } from '@svc/core/contract'
import express from 'express'
import { pino } from 'pino'
import type { Browser, Page } from 'playwright-core'
import { startPostgres } from '../../../core/test/postgres-server.ts'
import { createConsole } from '../../src/index.ts'
import { watchPolicy } from './console-page.ts'
import { expectAccessible, expectToFit } from './page-checks.ts'
import { PAGES } from './walk-console.ts'

const PREFIX = '/admin/messaging'

const TEMPLATE = {
  name: 'order-ready',
  variables: [{ name: 'id', type: 'number' as const, fallback: 7 }],
  variants: [
    {
      channel: 'email' as const,
      locale: 'en',
      content: { subject: 'Order {{id}}', html: '<b>It is {{id}}</b>' },
    },
  ],
}

/** A viewer sees a template and its preview, whose frame is below the prefix too, and can change nothing. */
async function readTemplate(
  page: Page,
  url: string,
  create: () => Promise<unknown>,
): Promise<void> {
  await create()
  await page.setExtraHTTPHeaders({ 'x-role': 'viewer' })
  await page.goto(`${url}/templates`)
  await page.getByRole('link', { name: TEMPLATE.name }).click()
  await page.frameLocator('iframe').getByText('It is 7').waitFor()
  ok(await page.getByLabel('Subject').isDisabled())
  const buttons = await page.locator('main button:visible').allTextContents()
  deepStrictEqual(buttons, ['Phone', 'Desktop', 'Dark', 'Plain text'])
  await expectToFit(page)
  await expectAccessible(page)
  // The address of a new template shows the list.
  await page.goto(`${url}/templates?new=1`)
  await page.getByRole('heading', { level: 1, name: 'Templates' }).waitFor()
}

/** Opens every page of a console that another program serves below a prefix, on PostgreSQL; a message appears live. */
export async function walkMounted(browser: Browser): Promise<void> {
  const postgres = await startPostgres()
  const runtime = systemRuntime(pino({ level: 'warn' }))
  const core = await createCore({ database_url: postgres.url, signup_credits: '100', runtime })
  const owner = { email: 'mounted@example.com', password: 'long enough', company_name: 'Mounted' }
  const { id } = await core.workspaces.create(owner)
  const { key } = await core.apiKeys.create(id, { name: 'mounted' })
  const identity = await core.apiKeys.authenticate(key, '127.0.0.1')
  await core.startDispatch()
  const console = await createConsole({
    core,
    basePath: PREFIX,
    authenticate: ({ headers }) => ({ workspace_id: id, role: headers['x-role'] as Role }),
    rates: { general: { max: 100_000, window_s: 60 }, workspace: { max: 100_000, window_s: 60 } },
  })
  const app = express()
  app.use(PREFIX, console.node)
  const server = app.listen(0, '127.0.0.1')
  try {
    await new Promise((resolve) => server.once('listening', resolve))
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}${PREFIX}`
    const page = await browser.newPage({ viewport: { width: 1280, height: 900 } })
    const faults = await watchPolicy(page, url)
    for (const { path, heading } of PAGES.filter((one) => !one.path.startsWith('/tools'))) {
      await page.goto(`${url}${path}`)
      await page.getByRole('heading', { level: 1, name: heading }).waitFor()
      await page.locator('body:not(:has([aria-busy=true]))').waitFor()
      await expectToFit(page)
    }
    await page.goto(url)
    await page.getByRole('link', { name: 'Messages', exact: true }).first().click()
    await page.getByRole('heading', { level: 1, name: 'Messages' }).waitFor()
    const sms = { channel: 'sms', to: '+15005550006', content: { text: 'Live' } } as const
    const { data } = await core.messages.send(identity, sms)
    await page.locator(`tbody a[href*="${PREFIX}/messages/${data.message_id}"]`).waitFor()
    await readTemplate(page, url, () => core.templates.create(id, TEMPLATE))
    deepStrictEqual(faults, [])
    await page.close()
  } finally {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
    await console.close()
    await core.close()
    await postgres.stop()
  }
}
