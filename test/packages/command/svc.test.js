// The command as started by npx.
import assert from 'node:assert/strict'
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { after, before, test } from 'node:test'
import { promisify } from 'node:util'

const TWILIO = JSON.stringify([
  {
    type: 'twilio',
    name: 'twilio',
    account_sid: `AC${'0'.repeat(32)}`,
    auth_token: '0'.repeat(32),
    senders: { sms: ['+14155550190'] },
  },
])
const STRIPE = {
  STRIPE_SECRET_KEY: 'sk_test_0123456789',
  STRIPE_WEBHOOK_SECRET: 'whsec_0123456789',
  SVC_CREDIT_PACKAGES:
    '[{"id":"a","name":"A","credits":10,"price":{"amount":100,"currency":"USD"}}]',
}
const SVC = resolve('node_modules/.bin/svc')

const running = new Set()
let folder

before(() => {
  folder = mkdtempSync(join(tmpdir(), 'svc-command-'))
})

after(() => {
  for (const child of running) child.kill('SIGKILL')
  rmSync(folder, { recursive: true })
})

/** Starts a long-running command, and returns the first line of its output that matches. */
async function start(args, env, isReady) {
  const child = spawn(SVC, args, {
    cwd: folder,
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  running.add(child)
  child.once('exit', () => running.delete(child))
  const lines = []
  for await (const line of createInterface({ input: child.stdout })) {
    lines.push(line)
    if (isReady(line)) break
  }
  child.stdout.resume()
  return { child, text: lines.join('\n') }
}

async function stop(child) {
  const ended = once(child, 'exit')
  child.kill('SIGTERM')
  assert.deepEqual(await ended, [0, null])
}

test('svc --version prints the version', async () => {
  const { stdout } = await promisify(execFile)(SVC, ['--version'])
  assert.match(stdout, /^\d+\.\d+\.\d+/)
})

test('Stripe and Twilio are not installed, and a setting that needs one names the command', async () => {
  for (const name of ['stripe', 'twilio']) {
    assert.equal(existsSync(resolve('node_modules', name)), false, name)
  }
  const settings = [
    [
      { SVC_PROVIDERS: TWILIO },
      /^svc: providers: twilio \(type twilio\) .*: npm install twilio@6$/,
    ],
    [STRIPE, /^svc: .*: npm install stripe@23$/],
  ]
  for (const [env, text] of settings) {
    const ended = promisify(execFile)(SVC, ['serve'], {
      cwd: folder,
      env: { ...process.env, SVC_SECRETS_KEY: 'a'.repeat(64), ...env },
    })
    const { code, stderr } = await ended.catch((error) => error)
    assert.equal(code, 2, stderr)
    assert.match(stderr.trim(), text)
  }
})

test('svc dev prints a curl command that works', async () => {
  const args = ['dev', '--port', '0']
  const { child, text } = await start(args, {}, (line) => /^\s+-d '/.test(line))
  const curl = /curl .*?-d '[^']*'/s.exec(text)?.[0] ?? ''
  const { stdout } = await promisify(execFile)('sh', ['-c', curl])
  const { success, data } = JSON.parse(stdout)
  assert.equal(success, true)
  assert.equal(data.status, 'queued')
  await stop(child)
})

test('svc serve answers', async () => {
  const env = { SVC_DATABASE_URL: `file:${folder}/serve.db`, PORT: '0', HOST: '127.0.0.1' }
  const { child, text } = await start(['serve'], env, (line) => /http:\/\//.test(line))
  const url = /http:\/\/[\d.]+:\d+/.exec(text)?.[0]
  const { status } = await fetch(new URL('/health', url))
  assert.equal(status, 200)
  await stop(child)
})
