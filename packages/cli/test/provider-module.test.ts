import { once } from 'node:events'
import { mkdirSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type SvcProcess, spawnSvc } from './spawned.ts'
import { newFolder, svc } from './svc.ts'

const folder = newFolder()
/** The threads of the service load JavaScript alone. */
const PROVIDER = new URL('../../core/dist/provider.js', import.meta.url).href

/** A provider that posts each message to the `url` of its settings, with a token. */
const MODULE = `
import { defineProvider } from '${PROVIDER}'

export default ({ url, token }) =>
  defineProvider({
    name: 'acme',
    traits: { channels: ['sms'], senders: { sms: ['+14155550190'] } },
    send: (jobs) =>
      jobs.map(async ({ recipient, content }) => {
        const body = JSON.stringify({ recipient, text: content.text, token })
        const answer = await fetch(url, { method: 'POST', body })
        return { type: 'accepted', provider_message_id: await answer.text(), lookup_after_ms: null }
      }),
  })
`

const arrived: unknown[] = []
const gateway = createServer(async (request, response) => {
  arrived.push(JSON.parse(await text(request)))
  response.end('A1')
})
let env: NodeJS.ProcessEnv
let server: SvcProcess | undefined

beforeAll(async () => {
  await once(gateway.listen(0, '127.0.0.1'), 'listening')
  const url = `http://127.0.0.1:${(gateway.address() as AddressInfo).port}/`
  const list = [
    { type: 'module', name: 'acme', module: './acme.mjs', settings: { url, token: '$TOKEN' } },
  ]
  mkdirSync(join(folder.path, 'code'))
  writeFileSync(join(folder.path, 'code/acme.mjs'), MODULE)
  writeFileSync(
    join(folder.path, 'code/providers.json'),
    JSON.stringify(list).replace('$TOKEN', '$' + '{TOKEN}'),
  )
  env = {
    PORT: '0',
    SVC_SIGNUP_CREDITS: '10',
    SVC_PROVIDERS: join(folder.path, 'code/providers.json'),
    TOKEN: 'canary-token',
  }
})

afterAll(async () => {
  server?.child.kill('SIGTERM')
  await server?.ended
  gateway.close()
})

describe('a provider of a module', () => {
  test('sends the messages of svc serve', { timeout: 60_000 }, async () => {
    server = spawnSvc(['serve'], { cwd: folder.path, env })
    const [, url] = await server.until(/"url":"([^"]+)","msg":"listening"/)
    async function post(path: string, body: object, headers = {}): Promise<{ data: never }> {
      const response = await fetch(`${url}/api/v1/${path}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...headers },
        body: JSON.stringify(body),
      })
      return response.json() as Promise<{ data: never }>
    }
    const account = { email: 'ops@example.com', password: 'correct horse', company_name: 'Acme' }
    await post('auth/signup', account)
    const { token }: { token: string } = (await post('auth/login', account)).data
    const authorization = `Bearer ${token}`
    const { key }: { key: string } = (await post('api-keys', { name: 'k' }, { authorization })).data
    const to = '+14155550101'
    const sms = { channel: 'sms', to, content: { text: 'Hello' } }
    const accepted = await post('messages/send', sms, { 'x-api-key': key })
    expect(accepted).toMatchObject({ data: { status: 'queued' } })
    const sent = [{ recipient: to, text: 'Hello', token: 'canary-token' }]
    await expect.poll(() => arrived, { timeout: 20_000 }).toStrictEqual(sent)
    expect(server.stdout() + server.stderr()).not.toContain('canary-token')
  })

  test('is in the status of the providers', async () => {
    const { stdout } = await svc(['providers', 'status'], { cwd: folder.path, env })
    expect(stdout).toContain('acme\tcustom\tsms\t+14155550190')
  })

  test.each([
    [{ module: './nowhere.mjs' }, 'providers[0].module cannot be used: '],
    [{ name: 'other' }, 'providers[0].name: the provider of the module is called acme'],
    [{ name: 'A' }, 'SVC_PROVIDERS: provider A: name: must be 1 to 32'],
    [{ path: 'x' }, 'SVC_PROVIDERS: provider acme: Unknown field: path'],
  ])('is refused with a wrong entry %o', async (change, fault) => {
    const listed = {
      type: 'module',
      name: 'acme',
      module: join(folder.path, 'code/acme.mjs'),
      settings: {},
    }
    const SVC_PROVIDERS = JSON.stringify([{ ...listed, ...change }])
    const { code, stderr } = await svc(['providers', 'status'], {
      cwd: folder.path,
      env: { ...env, SVC_PROVIDERS },
    })
    expect(code).not.toBe(0)
    expect(stderr).toContain(fault)
  })
})
