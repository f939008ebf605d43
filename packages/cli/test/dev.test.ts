import { readFileSync, rmSync, statSync } from 'node:fs'
import { createServer, type Server } from 'node:net'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { DevDocument } from './dev-server.ts'
import { newFolder, type Running, start, svc } from './svc.ts'

let folder: ReturnType<typeof newFolder>
let started: Running[] = []

beforeEach(() => {
  folder = newFolder()
})

afterEach(async () => {
  await Promise.all(started.map((running) => running.stop()))
  started = []
  folder.remove()
})

function here(env: NodeJS.ProcessEnv = {}) {
  return { cwd: folder.path, env: { PORT: '0', ...env } }
}

/** Runs `svc dev` until it is ready, and stops it. */
async function devOnce(): Promise<DevDocument> {
  const { document, running } = await dev()
  expect((await running.stop()).code).toBe(0)
  return document
}

async function dev(env?: NodeJS.ProcessEnv): Promise<{ document: DevDocument; running: Running }> {
  const running = start(['dev', '--json'], here(env))
  started.push(running)
  const [text] = await running.until(/^\{.*\}$/m)
  return { document: JSON.parse(text) as DevDocument, running }
}

function list({ url, api_key }: DevDocument): Promise<Response> {
  return fetch(`${url}/api/v1/messages`, { headers: { 'x-api-key': api_key } })
}

describe('svc dev', () => {
  test.each([
    ['127.0.0.1', 201],
    ['0.0.0.0', 400],
  ])('on %s answers %i to a webhook on loopback', async (HOST, status) => {
    const { document } = await dev({ HOST })
    const { url, password } = document
    expect(url).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/)
    const post = (path: string, json: object, token = '') =>
      fetch(`${url}/api/v1${path}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
        body: JSON.stringify(json),
      })
    const login = await post('/auth/login', { email: 'demo@sandbox.svc', password })
    const { data } = (await login.json()) as { data: { token: string } }
    const webhook = await post('/webhooks', { url: 'http://127.0.0.1:9/hook' }, data.token)
    expect(webhook.status).toBe(status)
    const { port } = new URL(url)
    const { exposed_at } = document as { exposed_at?: string[] }
    expect(exposed_at?.[0]).toBe(status === 201 ? undefined : `http://0.0.0.0:${port}`)
  })

  test('warns of a variable that is not a setting, and when other machines can reach it, with the addresses', async () => {
    const running = start(['dev'], here({ HOST: '0.0.0.0', SVC_PORT: '8080' }))
    started.push(running)
    await running.until(/Warning: SVC_PORT is not a setting: did you mean PORT\?/)
    await running.until(
      /Warning: other machines can reach this service, at http:\/\/0\.0\.0\.0:\d+/,
    )
    await running.until(/svc is running at http:\/\/127\.0\.0\.1:\d+/)
  })

  test('creates a workspace with 100 credits and a key, in a file for the owner only', async () => {
    const { document } = await dev()
    expect(document).toEqual({
      url: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+$/),
      console: `${document.url}/console`,
      api_key: expect.stringMatching(/^svc_[0-9A-Za-z]{38}$/),
      twilio_account_sid: `AC${document.workspace.id.replaceAll('-', '')}`,
      smtp_urls: [expect.stringMatching(/^smtp:\/\/127\.0\.0\.1:\d+$/)],
      workspace: {
        id: expect.any(String),
        name: 'Demo',
        email: 'demo@sandbox.svc',
        email_verified: true,
        credits_balance: 100,
      },
      password: expect.stringMatching(/^\S{20}$/),
      data_dir: join(folder.path, 'data'),
    })
    expect((await list(document)).status).toBe(200)
    const file = join(folder.path, 'data', 'dev.json')
    expect(statSync(file).mode & 0o777).toBe(0o600)
    const { url, api_key, password } = document
    const { id, email } = document.workspace
    expect(JSON.parse(readFileSync(file, 'utf8'))).toEqual({
      url,
      api_key,
      workspace: { id, email, password },
    })
    const login = await fetch(`${url}/api/v1/auth/login`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ email, password }),
    })
    expect(login.status).toBe(200)
  })

  test('prints the same after a restart', async () => {
    const first = await devOnce()
    // The system chooses the ports again.
    const { url, console, smtp_urls } = first
    expect({ ...(await devOnce()), url, console, smtp_urls }).toEqual(first)
  })

  test('refuses a revoked key at once, and replaces it at the next start', async () => {
    const { document, running } = await dev()
    const keys = await svc(['keys', 'list', '--json'], here())
    const { api_keys } = JSON.parse(keys.stdout) as { api_keys: { id: string }[] }
    expect((await svc(['keys', 'revoke', api_keys[0]?.id ?? '', '--yes'], here())).code).toBe(0)
    expect((await list(document)).status).toBe(401)
    await running.stop()
    const again = await devOnce()
    expect(again.api_key).not.toBe(document.api_key)
    expect(again.workspace).toEqual(document.workspace)
    expect(again.password).toBe(document.password)
  })

  test('creates a new workspace in a new database', async () => {
    const first = await devOnce()
    rmSync(join(folder.path, 'data', 'svc.db'))
    const again = await devOnce()
    expect(again.workspace.id).not.toBe(first.workspace.id)
    expect(again.api_key).not.toBe(first.api_key)
    expect(again.workspace.credits_balance).toBe(100)
  })

  test('keeps the workspace, without a password, when its file is lost', async () => {
    const first = await devOnce()
    rmSync(join(folder.path, 'data', 'dev.json'))
    const again = await devOnce()
    expect(again).toMatchObject({ workspace: first.workspace, password: null })
  })

  test('refuses a second start on the same folder', async () => {
    await dev()
    const { code, stdout, stderr } = await svc(['dev'], here())
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
    expect(stderr).toMatch(/^svc: another svc process already serves [^\n]*svc\.db: stop it, or /)
  })

  test('prints the next commands', async () => {
    const running = start(['dev'], here())
    started.push(running)
    await running.until(/Stop with Ctrl-C/)
    const text = running.stdout()
    expect(text).toMatch(/^● svc is running at http:\/\/127\.0\.0\.1:\d+$/m)
    expect(text).toMatch(/^ {2}Workspace {2}demo@sandbox\.svc, password \S+, 100 credits$/m)
    expect(text).toMatch(/^svc messages list$/m)
    expect(text).toMatch(/^svc webhooks listen$/m)
    expect(text).toContain('The data is in ./data.')
    expect((await running.stop()).code).toBe(0)
  })
})

describe('a mail of svc dev', () => {
  test('is not sent: its link is printed, and works', async () => {
    const running = start(['dev'], here())
    started.push(running)
    await running.until(/Stop with Ctrl-C/)
    const [, url] = /running at (\S+)$/m.exec(running.stdout()) ?? []
    const post = (path: string, json: object) =>
      fetch(`${url}/api/v1/auth/${path}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(json),
      })
    const owner = { email: 'asha@example.com', password: 'long enough', company_name: 'A' }
    expect((await post('signup', owner)).status).toBe(201)
    const line = /^mail to asha@example\.com: verify your address (\S+)$/m
    await expect.poll(() => running.stderr()).toMatch(line)
    const [, link = ''] = line.exec(running.stderr()) ?? []
    expect(link.startsWith(`${url}/verify-email?token=`)).toBe(true)
    expect((await fetch(link)).status).toBe(200)
    const token = new URL(link).searchParams.get('token')
    expect((await post('verify-email', { token })).status).toBe(200)
  })
})

describe('the port of svc dev', () => {
  let taken: Server

  /** Listens on a port; another program may listen there already. */
  async function take(port: number): Promise<number> {
    taken = createServer()
    await new Promise<void>((resolve) => {
      taken.once('error', () => resolve())
      taken.listen(port, '127.0.0.1', resolve)
    })
    const address = taken.address()
    return typeof address === 'object' && address ? address.port : port
  }

  afterEach(() => taken.close())

  test('is the next free one when 3000 is in use and PORT is not set', async () => {
    await take(3000)
    const running = start(['dev'], here({ PORT: '' }))
    started.push(running)
    await running.until(/Stop with Ctrl-C/)
    const [, port] =
      /running at http:\/\/127\.0\.0\.1:(\d+) {2}\(port 3000 is in use\)/.exec(running.stdout()) ??
      []
    expect(Number(port)).toBeGreaterThan(3000)
    expect(running.stdout()).toContain(`curl -s http://127.0.0.1:${port}/api/v1/messages/send`)
  })

  test('differs, as that of the SMTP inlet, for several that start together', async () => {
    const folders = [newFolder(), newFolder(), newFolder()]
    try {
      const all = folders.map(({ path }) => start(['dev', '--json'], { cwd: path, env: {} }))
      started.push(...all)
      const texts = await Promise.all(all.map((one) => one.until(/^\{.*\}$/m)))
      const urls = texts.flatMap(([text]) => {
        const { url, smtp_urls } = JSON.parse(text) as { url: string; smtp_urls: string[] }
        return [url, ...smtp_urls]
      })
      expect(new Set(urls).size).toBe(6)
      for (const one of all) expect(await one.stop()).toMatchObject({ code: 0 })
    } finally {
      for (const each of folders) each.remove()
    }
  })

  test('of the SMTP inlet is exactly that of SVC_SMTP_LISTEN, or the start ends with one line', async () => {
    const port = await take(0)
    const env = { SVC_SMTP_LISTEN: `127.0.0.1:${port}`, SVC_LOG_LEVEL: 'info' }
    expect(await svc(['dev'], here(env))).toEqual({
      code: 1,
      stdout: '',
      stderr: `svc: port ${port} is in use: stop the program that uses it, or choose another port\n`,
    })
  })

  test('is exactly PORT when that is set', async () => {
    const port = await take(0)
    const { code, stdout, stderr } = await svc(['dev'], here({ PORT: String(port) }))
    expect({ code, stdout, stderr }).toEqual({
      code: 1,
      stdout: '',
      stderr: `svc: port ${port} is in use: stop the program that uses it, or choose another port\n`,
    })
  })
})

describe('a wrong setting', () => {
  test.each([
    [{ PORT: 'http' }, /^svc: PORT must be a number/],
    [{ SVC_DATABASE_URL: 'mysql://x' }, /^svc: SVC_DATABASE_URL must be/],
    [{ SVC_RATE_LIMIT_GENERAL: '100' }, /^svc: SVC_RATE_LIMIT_GENERAL must be/],
    [{ STRIPE_SECRET_KEY: 'sk_test_1' }, /^svc: STRIPE_WEBHOOK_SECRET must be set too/],
    [{ TWILIO_AUTH_TOKEN: 'b1'.repeat(16) }, /^svc: TWILIO_ACCOUNT_SID must be set too/],
    [{ SVC_MAIL_DOMAIN: 'example.com' }, /^svc: SVC_SMTP_URL must be set too/],
  ])('%o ends svc dev with exit code 2 and one line', async (env, text) => {
    const { code, stdout, stderr } = await svc(['dev'], here(env))
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toMatch(text)
    expect(stderr.trim().split('\n')).toHaveLength(1)
  })
})
