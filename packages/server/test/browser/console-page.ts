import { ok, strictEqual } from 'node:assert/strict'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { watch } from './page-checks.ts'

/** A workspace and the service whose console shows it. */
export interface Place {
  url: string
  /** The login of the shown workspace. */
  login: { email: string; password: string }
  /** A live key of the workspace. */
  key: string
}

/** The faults of a page; a load or style that the policy refuses is one. */
export async function watchPolicy(page: Page, url: string): Promise<string[]> {
  const faults = watch(page, url)
  await page.addInitScript(
    `addEventListener('securitypolicyviolation', (event) => console.error('policy: ' + event.violatedDirective + ' ' + event.blockedURI))`,
  )
  page.on('dialog', async (dialog) => {
    faults.push(`a script of a hostile text ran: ${dialog.message()}`)
    await dialog.dismiss()
  })
  return faults
}

/** Signs in with the keyboard; no script can read the credential. */
export async function signIn(page: Page, { url, login }: Place): Promise<void> {
  await page.goto(`${url}/console/sign-in?next=/messages`)
  await page.getByLabel('E-mail address').waitFor()
  // The first field has the focus.
  await page.keyboard.type(login.email)
  await page.keyboard.press('Tab')
  await page.keyboard.type(login.password)
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { level: 1, name: 'Messages' }).waitFor()
  const cookies = await page.context().cookies(`${url}/console/api/session`)
  const session = cookies.find(({ name }) => name === 'svc_session')
  ok(session?.httpOnly && session.sameSite === 'Lax')
  strictEqual(await page.evaluate('document.cookie + JSON.stringify(localStorage)'), '{}')
}

/** Where pictures are written; null: none. */
const PICTURES = process.env.SVC_SCREENSHOTS ?? null

/** Writes pictures of the page in light and in dark colours, if a folder for them is named. */
export async function pictures(page: Page, name: string): Promise<void> {
  if (PICTURES === null) return
  await mkdir(PICTURES, { recursive: true })
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme })
    const file = `${name}-${page.viewportSize()?.width}-${colorScheme}.png`
    await page.screenshot({ path: join(PICTURES, file) })
  }
}
