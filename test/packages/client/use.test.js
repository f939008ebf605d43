// The client in an empty project, in Node, Bun and Deno, against `svc dev`, which runs on this machine.
import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { text } from 'node:stream/consumers'
import { after, before, test } from 'node:test'

/** The command of the repository; the project itself has the client alone. */
const SVC = process.env.COMMAND_OF_SVC
const LIMIT_MS = 45_000

const folder = mkdtempSync(join(tmpdir(), 'svc-client-'))
const deliveries = []
let dev
let env

before(async () => {
  dev = spawn(process.execPath, [SVC, 'dev', '--port', '0', '--data-dir', folder], {
    cwd: folder,
    stdio: ['ignore', 'pipe', 'inherit'],
    // Three runtimes send more bulks than the default limit allows; the client would wait as the service asks.
    env: { ...process.env, SVC_RATE_LIMIT_BULK: '100/300' },
  })
  for await (const line of createInterface({ input: dev.stdout })) if (/-d '/.test(line)) break
  dev.stdout.resume()
  const { url, api_key } = JSON.parse(readFileSync(join(folder, 'dev.json'), 'utf8'))
  const receiver = createServer(async (request, response) => {
    deliveries.push({ headers: request.headers, body: await text(request) })
    response.end('ok')
  })
  await once(receiver.listen(0, '127.0.0.1'), 'listening')
  after(() => receiver.close())
  const { Svc } = await import('@svc/client')
  const svc = new Svc({ baseUrl: url, apiKey: api_key })
  const hook = {
    url: `http://127.0.0.1:${receiver.address().port}/`,
    events: ['message.delivered'],
  }
  const { webhook } = await svc.webhooks.create(hook)
  await svc.messages.send({ channel: 'sms', to: '+15005550006', content: { text: 'Hi' } })
  while (deliveries.length === 0) await new Promise((resolve) => setTimeout(resolve, 50))
  await svc.webhooks.delete(webhook.id)
  env = {
    ...process.env,
    SVC_URL: url,
    SVC_API_KEY: api_key,
    SVC_WEBHOOK_SECRET: webhook.secret,
    SVC_DELIVERY: JSON.stringify(deliveries[0]),
  }
})

after(async () => {
  dev?.kill('SIGTERM')
  if (dev && dev.exitCode === null) await once(dev, 'exit')
  rmSync(folder, { recursive: true, force: true })
})

/** Runs the program. It must not block this process, which has the receiver. */
async function run(command, args) {
  const child = spawn(command, args, { env, timeout: LIMIT_MS, stdio: ['ignore', 'pipe', 'pipe'] })
  const [out, error] = [text(child.stdout), text(child.stderr)]
  const [code] = await once(child, 'exit')
  assert.equal(code, 0, `${await out}${await error}`)
  assert.match(await out, /^ok /m)
}

test('installs no other package', () => {
  const manifest = JSON.parse(readFileSync('node_modules/@svc/client/package.json', 'utf8'))
  assert.equal(manifest.dependencies, undefined)
})

test('is used in Node', () => run(process.execPath, ['use.mjs']))

test('is required in CommonJS, with the same exports', async () => {
  const required = createRequire(import.meta.url)('@svc/client')
  assert.deepEqual(Object.keys(required).sort(), Object.keys(await import('@svc/client')).sort())
})

/** A runtime that npm installed; where it has no program for this machine, the test is skipped with the reason. */
function runtime(name) {
  const path = join('node_modules', '.bin', name)
  const { status, error, stderr } = spawnSync(path, ['--version'], { encoding: 'utf8' })
  const reason = `${name} does not run here: ${error?.message ?? stderr?.split('\n')[0]}`
  return { path, skip: status === 0 ? false : reason }
}

const bun = runtime('bun')
test('is used in Bun', { skip: bun.skip }, () => run(bun.path, ['use.mjs']))

const deno = runtime('deno')
test(
  'is used in Deno, with permission for the network and the environment alone',
  { skip: deno.skip },
  () => run(deno.path, ['run', '--no-prompt', '--allow-net=127.0.0.1', '--allow-env', 'use.mjs']),
)
