import { ok, strictEqual } from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { type AddressInfo, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Browser, Page } from 'playwright-core'
import { readConfig, startServer } from '../../src/index.ts'
import { expectAccessible, expectToFit, watch } from './page-checks.ts'

const MEMBER = {
  name: 'owner@example.com',
  label: 'E-mail address',
  home: '/',
  you: '/settings?tab=you',
}
const OPERATOR = { name: 'ops', label: 'Name', home: '/operator', you: '/operator/settings' }
/** A device that verifies its person. */
const DEVICE = {
  protocol: 'ctap2',
  transport: 'internal',
  hasResidentKey: true,
  hasUserVerification: true,
  isUserVerified: true,
  automaticPresenceSimulation: true,
} as const
const PASSWORD = 'a long password'

/**
 * A member and an operator each add a passkey with a virtual authenticator, sign in with it, with the password too where the
 * device does not verify the person, rename it and remove it. Once with the browser's own reading of the options and once
 * without, as old browsers.
 */
export async function walkPasskeys(browser: Browser): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'svc-passkeys-'))
  // A passkey belongs to a name, so that the address must be known before the start.
  const port = await freePort()
  const url = `http://localhost:${port}`
  const env = {
    PORT: `${port}`,
    SVC_PUBLIC_URL: url,
    SVC_DATA_DIR: folder,
    SVC_LOG_LEVEL: 'silent',
    SVC_RATE_LIMIT_ANONYMOUS: '5000/60',
    SVC_RATE_LIMIT_AUTH: '500/60',
  }
  const server = await startServer({ config: readConfig(env) })
  try {
    const account = { email: MEMBER.name, password: PASSWORD, company_name: 'Acme' }
    await server.core.workspaces.create(account)
    await server.core.operators.add({ name: OPERATOR.name, password: PASSWORD })
    for (const person of [MEMBER, OPERATOR]) {
      for (const isOld of [false, true]) await walk(browser, { url, person, isOld })
    }
  } finally {
    await server.close()
    await rm(folder, { recursive: true, force: true })
  }
}

async function walk(
  browser: Browser,
  { url, person, isOld }: { url: string; person: typeof MEMBER; isOld: boolean },
): Promise<void> {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 } })
  const page = await context.newPage()
  if (isOld) {
    await page.addInitScript(`PublicKeyCredential.parseCreationOptionsFromJSON = undefined
      PublicKeyCredential.parseRequestOptionsFromJSON = undefined`)
  }
  const faults = watch(page, url)
  const device = await context.newCDPSession(page)
  await device.send('WebAuthn.enable')
  const { authenticatorId } = await device.send('WebAuthn.addVirtualAuthenticator', {
    options: DEVICE,
  })
  const at = (path: string) => `${url}/console${path === '/' ? '' : path}`
  await page.goto(at(person.home))
  await page.getByLabel(person.label).fill(person.name)
  await page.getByLabel('Password').fill(PASSWORD)
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { level: 1, name: /Home|Overview/ }).waitFor()
  await page.goto(at(person.you))
  await page.getByRole('button', { name: 'Add a passkey' }).click()
  await page.getByLabel('Your password').fill(PASSWORD)
  await page.getByLabel('Name of the passkey').fill('Laptop')
  await page.keyboard.press('Enter')
  await page.getByText('Keep these recovery codes').waitFor()
  await page.getByRole('cell', { name: 'Laptop' }).waitFor()
  await expectAccessible(page)
  await page.setViewportSize({ width: 390, height: 900 })
  await expectToFit(page)
  await page.setViewportSize({ width: 1280, height: 900 })

  await signInWithPasskey(page, { context, at, person })
  await page.goto(at(person.you))
  await page.getByRole('button', { name: 'Rename' }).click()
  await page.getByLabel('Name of the passkey').fill('Work laptop')
  await page.keyboard.press('Enter')
  await page.getByRole('cell', { name: 'Work laptop' }).waitFor()

  // The same key in a device that cannot verify a person.
  const { credentials } = await device.send('WebAuthn.getCredentials', { authenticatorId })
  const [credential] = credentials
  ok(credential && credentials.length === 1)
  await device.send('WebAuthn.removeVirtualAuthenticator', { authenticatorId })
  const simple = await device.send('WebAuthn.addVirtualAuthenticator', {
    options: { ...DEVICE, transport: 'usb', hasUserVerification: false },
  })
  await device.send('WebAuthn.addCredential', { ...simple, credential })
  await context.clearCookies()
  await page.goto(at(person.home))
  await page.getByLabel(person.label).fill(person.name)
  await page.getByLabel('Password').fill(PASSWORD)
  await page.keyboard.press('Enter')
  await page.getByLabel('Code of your authenticator app').waitFor()
  await page.getByRole('button', { name: 'Use a passkey' }).click()
  await page.getByRole('heading', { level: 1, name: /Home|Overview/ }).waitFor()

  await page.goto(at(person.you))
  await page.getByRole('cell', { name: 'Work laptop' }).waitFor()
  await page.getByRole('button', { name: 'Remove', exact: true }).click()
  await page.getByLabel('Your password').fill(PASSWORD)
  await page.keyboard.press('Enter')
  await page.getByText('Your sign-in needs only the password.').waitFor()
  // The answers with which the service asked for the password.
  strictEqual(faults.filter((one) => !one.includes('400 (Bad Request)')).join(), '')
  await context.close()
}

async function signInWithPasskey(
  page: Page,
  {
    context,
    at,
    person,
  }: {
    context: ReturnType<Page['context']>
    at: (path: string) => string
    person: typeof MEMBER
  },
): Promise<void> {
  await context.clearCookies()
  await page.goto(at(person.home))
  await page.getByRole('button', { name: 'Use a passkey' }).click()
  await page.getByRole('heading', { level: 1, name: /Home|Overview/ }).waitFor()
}

async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  return port
}
