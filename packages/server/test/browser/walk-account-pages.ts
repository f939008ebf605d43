import { deepStrictEqual, strictEqual } from 'node:assert/strict'
import { Svc } from '@svc/client'
import type { Core } from '@svc/core'
import type { Page } from 'playwright-core'
import { expectAccessible, expectToFit, watch } from './page-checks.ts'

/** Verifies an address, asks for a new link with the old one, and chooses a new password, as the owner does from the mails. */
export async function walkAccountPages(
  page: Page,
  { url, core }: { url: string; core: Core },
): Promise<void> {
  const svc = new Svc({ baseUrl: url })
  const email = `owner-${Math.random()}@example.com`
  await svc.workspaces.signup({ email, password: 'long enough', company_name: '<b>Hostile</b>' })
  const heading = (text: string) => page.getByRole('heading', { name: text }).waitFor()
  const press = (text: string) => page.getByRole('button', { name: text }).click()
  async function linkOf(kind: string): Promise<string> {
    await core.mails.idle()
    const { link = '' } =
      core.mails.list().find((mail) => mail.kind === kind && mail.to === email) ?? {}
    return url + new URL(link).pathname + new URL(link).search
  }
  const faults = watch(page, url)
  const verify = await linkOf('verify_email')
  await page.goto(verify)
  await page.getByText(email).waitFor()
  await expectAccessible(page)
  await expectToFit(page)
  await press('Verify the address')
  await heading('Address verified')
  deepStrictEqual(faults, [])
  // The browser reports the status 400 of the page as an error.
  await page.goto(verify)
  await heading('This link is not valid any more')
  await expectAccessible(page)
  strictEqual(await page.getByRole('button', { name: 'Verify' }).count(), 0)
  await page.goto(`${url}/forgot-password`)
  faults.length = 0
  await page.getByLabel('Your e-mail address').fill(email)
  await press('Send a link')
  await heading('Look into your mailbox')
  await page.goto(await linkOf('reset_password'))
  await expectAccessible(page)
  await expectToFit(page)
  // The password and two boxes: the address for password managers is not shown.
  strictEqual(await page.locator('input:visible').count(), 3)
  await page.getByLabel('New password').fill('another long one')
  await press('Change the password')
  await heading('Password changed')
  await svc.workspaces.login({ email, password: 'another long one' })
  deepStrictEqual(faults, [])
}
