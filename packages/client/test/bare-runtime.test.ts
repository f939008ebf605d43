import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { createContext, runInContext } from 'node:vm'
import { EVENTS } from '@svc/core/contract'
import { sign } from '@svc/core/webhooks'
import { build } from 'tsup'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { ID, SENT, usePeer } from './peer.ts'

const peer = usePeer()

/** What browsers and edge runtimes have in common. Source: WinterTC, Minimum Common Web API. */
const WEB = {
  AbortController,
  AbortSignal,
  crypto,
  fetch,
  Headers,
  Request,
  Response,
  TextDecoder,
  TextEncoder,
  URL,
  URLSearchParams,
  atob,
  btoa,
  clearTimeout,
  setTimeout,
}

const folder = mkdtempSync(join(tmpdir(), 'svc-client-bare-'))
let bundle = ''
beforeAll(async () => {
  await build({
    entry: { index: fileURLToPath(new URL('../src/index.ts', import.meta.url)) },
    outDir: folder,
    config: false,
    silent: true,
    format: 'cjs',
    platform: 'neutral',
    target: 'es2022',
  })
  bundle = readFileSync(join(folder, 'index.cjs'), 'utf8')
})
afterAll(() => rmSync(folder, { recursive: true }))

/** The result of a program in a runtime without Node's globals; it gets the client and the arguments. */
async function run(program: string, args: object): Promise<unknown> {
  const context = createContext({ ...WEB, args })
  const missing = "['process', 'Buffer', 'require', 'global', 'setImmediate', 'window']"
  expect(runInContext(`${missing}.filter((name) => name in globalThis)`, context)).toHaveLength(0)
  const client = `(() => { const module = { exports: {} }, exports = module.exports
${bundle}
return module.exports })()`
  const result = runInContext(
    `(async (client) => JSON.stringify(await (${program})(client, args)))(${client})`,
    context,
  )
  return JSON.parse(await (result as Promise<string>))
}

it('sends with the API of the web alone', async () => {
  const { url, seen } = await peer(SENT)
  const program = `async ({ Svc }, { url }) => {
    const svc = new Svc({ baseUrl: url, apiKey: 'svc_key' })
    return svc.messages.send({ channel: 'sms', to: '+15005550006', content: { text: 'Hi' } })
  }`
  expect(await run(program, { url })).toMatchObject({ message_id: ID })
  expect(seen).toHaveLength(1)
})

it('reports the code of a fault with the API of the web alone', async () => {
  const { url, close } = await peer(SENT)
  close()
  const program = `async ({ Svc, ConnectionError }, { url }) => {
    const svc = new Svc({ baseUrl: url, apiKey: 'svc_key', maxRetries: 1 })
    const error = await svc.messages.get('${ID}').then(() => null, (error) => error)
    return [error instanceof ConnectionError, error.reason]
  }`
  expect(await run(program, { url })).toStrictEqual([true, 'ECONNREFUSED'])
})

it('verifies and handles deliveries with the API of the web alone', async () => {
  const secret = `whsec_${Buffer.alloc(32, 7).toString('base64')}`
  const body = JSON.stringify({ event: 'message.failed', data: EVENTS['message.failed'].example })
  const attempt = { event: 'message.failed', event_id: 'evt_1', delivery_id: 'dlv_1', attempt: 1 }
  const headers = sign({ secret, body, at: new Date(), ...attempt })
  const program = `async ({ unwrapWebhook, webhookHandler }, { body, headers, secret }) => {
    const { event_id } = await unwrapWebhook(body, headers, secret)
    const forged = await unwrapWebhook(body + ' ', headers, secret).catch(({ reason }) => reason)
    const handled = []
    const on = { 'message.failed': ({ event }) => void handled.push(event) }
    const { fetch } = webhookHandler({ secret, on })
    const statuses = []
    for (const text of [body, body + ' ']) {
      const request = new Request('https://app.example.com/', { method: 'POST', headers, body: text })
      statuses.push((await fetch(request)).status)
    }
    return { event_id, forged, handled, statuses }
  }`
  expect(await run(program, { body, headers, secret })).toStrictEqual({
    event_id: 'evt_1',
    forged: 'signature_mismatch',
    handled: ['message.failed'],
    statuses: [200, 403],
  })
})
