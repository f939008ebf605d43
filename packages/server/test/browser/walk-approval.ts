import { deepStrictEqual } from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Svc } from '@svc/client'
import type { Browser, Page } from 'playwright-core'
import { ACCOUNT } from '../../../core/test/providers/whatsapp-cloud/peer.ts'
import { readConfig, startServer } from '../../src/index.ts'
import { openMeta } from '../channels/meta-carrier.ts'
import { pictures, signIn, watchPolicy } from './console-page.ts'
import { expectAccessible, expectToFit } from './page-checks.ts'

const LOGIN = { email: 'approval@example.com', password: 'long enough' }

/** The languages of the template, and what the editor shows below the text of each. */
const SHOWN = [
  ['en', ['approved by WhatsApp', 'Messages with it can be sent.']],
  ['de', ['not approved: rejected', 'Reason: promotional', 'Messages with it are refused']],
  ['fr', ['waits for approval', 'Messages with it are refused']],
  ['sw', ['not at WhatsApp', 'There is no template with this name and language.']],
] as const

/** A person sees which texts of a template Meta has approved, and why it rejected one. */
export async function walkApproval(browser: Browser): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'svc-approval-'))
  const { meta, settings, close } = await openMeta({ business_account_ids: [ACCOUNT] })
  const sale = { name: 'sale', body: 0 }
  meta.templates.push(
    { ...sale, language: 'en' },
    { ...sale, language: 'de', status: 'REJECTED', rejected_reason: 'PROMOTIONAL' },
    { ...sale, language: 'fr', status: 'PENDING' },
  )
  const env = {
    ...{ PORT: '0', SVC_DATA_DIR: folder, SVC_LOG_LEVEL: 'warn' },
    SVC_RATE_LIMIT_GENERAL: '5000/60',
    SVC_RATE_LIMIT_CONSOLE: '5000/60',
    SVC_PROVIDERS: JSON.stringify([settings]),
  }
  const server = await startServer({ config: readConfig(env) })
  try {
    const { core, url } = server
    const { id } = await core.workspaces.create({ ...LOGIN, company_name: 'Approval' })
    const { key } = await core.apiKeys.create(id, { name: 'approval' })
    await new Svc({ baseUrl: url, apiKey: key }).templates.create({
      ...{ name: 'sale', default_locale: 'en' },
      variants: SHOWN.map(([locale]) => ({
        ...{ channel: 'whatsapp', locale },
        content: { template: { name: 'sale', language: locale } },
      })),
    })
    for (const width of [1280, 390]) {
      const page = await browser.newPage({ viewport: { width, height: 900 } })
      const faults = await watchPolicy(page, url)
      await signIn(page, { url, key, login: LOGIN })
      await page.goto(`${url}/console/templates`)
      await page.getByRole('link', { name: 'sale', exact: true }).click()
      for (const [locale, texts] of SHOWN) await seeApproval(page, locale, texts)
      deepStrictEqual(faults, [])
      await page.close()
    }
  } finally {
    await server.close()
    await close()
    await rm(folder, { recursive: true, force: true })
  }
}

async function seeApproval(page: Page, locale: string, texts: readonly string[]): Promise<void> {
  await page.getByLabel('Language', { exact: true }).selectOption(locale)
  const approval = page.getByRole('region', { name: 'Approval by WhatsApp' })
  for (const text of texts) await approval.getByText(text).waitFor()
  const again = approval.getByRole('button', { name: 'Check again' })
  await again.focus()
  await page.keyboard.press('Enter')
  await approval.getByText('Checked').waitFor()
  for (const text of texts) await approval.getByText(text).waitFor()
  await approval.scrollIntoViewIfNeeded()
  await expectToFit(page)
  await pictures(page, `Approval-${locale}`)
  await expectAccessible(page)
}
