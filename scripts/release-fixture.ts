/**
 * Makes the fixture of the checked-out version: a database with rows of every kind, written by that version, for
 * packages/core/test/releases.test.ts. Run once for each release, see docs/internals/releasing.md:
 *
 *     node --import tsx scripts/release-fixture.ts <an empty PostgreSQL database's URL>
 */
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'

const BIN = fileURLToPath(new URL('../packages/cli/bin/svc.js', import.meta.url))
const FOLDER = fileURLToPath(new URL('../packages/core/test/fixtures/releases', import.meta.url))
const SETTLED_MAX_MS = 20_000

/** The fields of answers that this script uses. */
interface Data {
  token: string
  message_id: string
  checkout_url: string
  messages: { status: string }[]
  contacts: object[]
  suppressions: object[]
}

interface Dev {
  url: string
  api_key: string
  password: string
  workspace: { email: string }
}

const postgres = process.argv[2]
if (!postgres?.startsWith('postgres')) {
  console.error('usage: node --import tsx scripts/release-fixture.ts postgres://…')
  process.exit(2)
}
const folder = mkdtempSync(join(tmpdir(), 'svc-release-'))
const env = { ...process.env, SVC_DATA_DIR: folder, PORT: '0' }
const svc = (...args: string[]) => execFileSync(process.execPath, [BIN, ...args], { env })

try {
  const known = await run(fill)
  const version = svc('--version').toString().trim()
  mkdirSync(FOLDER, { recursive: true })
  const file = join(folder, 'svc.db')
  const archive = join(folder, 'svc.jsonl.gz')
  svc('export', '--database', `file:${file}`, archive)
  svc('import', archive, '--database', postgres)
  const sql = execFileSync('pg_dump', ['--inserts', '--no-owner', '--no-privileges', postgres])
  // Commands of psql are not SQL.
  keep(`${version}.sql.gz`, sql.toString().replaceAll(/^\\.*\n/gm, ''))
  // The last connection to close moves the log into the file.
  keep(`${version}.db.gz`, readFileSync(file))
  writeFileSync(join(FOLDER, `${version}.json`), `${JSON.stringify(known, null, 2)}\n`)
} finally {
  rmSync(folder, { recursive: true, force: true })
}

function keep(name: string, content: string | Buffer): void {
  const packed = gzipSync(content, { level: 9 })
  writeFileSync(join(FOLDER, name), packed)
  console.log(`packages/core/test/fixtures/releases/${name}  ${Math.ceil(packed.length / 1024)} kB`)
}

/** Runs `svc dev` during `work`. */
async function run<T>(work: (dev: Dev) => Promise<T>): Promise<T> {
  const child = spawn(process.execPath, [BIN, 'dev', '--json'], {
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const ended = once(child, 'exit')
  try {
    const [line] = (await once(createInterface(child.stdout), 'line')) as [string]
    return await work(JSON.parse(line) as Dev)
  } finally {
    child.kill('SIGTERM')
    await ended
  }
}

/** Returns the facts that a later version must find in the database. */
async function fill({ url, api_key, password, workspace }: Dev): Promise<object> {
  const receiver = createServer((_, response) => response.end()).listen(0, '127.0.0.1')
  await once(receiver, 'listening')
  const { port } = receiver.address() as AddressInfo
  const call = async (method: string, path: string, body?: object, headers = {}) => {
    const answer = await fetch(`${url}${path}`, {
      method,
      headers: { 'content-type': 'application/json', 'x-api-key': api_key, ...headers },
      ...(body && { body: JSON.stringify(body) }),
    })
    const { data, message } = (await answer.json()) as { data: Data; message?: string }
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${message}`)
    return data
  }
  const post = (path: string, body: object, headers = {}) => call('POST', path, body, headers)
  const { token } = await post('/api/v1/auth/login', { email: workspace.email, password })
  const session = { authorization: `Bearer ${token}` }
  const send = (to: string, more = {}) =>
    post('/api/v1/messages/send', { channel: 'sms', to, content: { text: `To ${to}` }, ...more })

  await post('/api/v1/webhooks', { url: `http://127.0.0.1:${port}/hook` })
  // Nothing listens there: its deliveries wait for a retry.
  await post('/api/v1/webhooks', { url: 'http://127.0.0.1:9/gone', events: ['message.delivered'] })
  await post('/api/v1/contacts', { name: 'Asha', phone: '+15005550101', tags: ['vip'] })
  await post('/api/v1/contacts', { name: 'Björn', email: 'bjoern@example.com' })
  await post('/api/v1/contacts/suppressions', { channel: 'sms', address: '+15005550102' })
  for (const end of ['1', '2', '4', '6', '7', '8', '9']) await send(`+1500555000${end}`)
  await post(
    '/api/v1/messages/send',
    { channel: 'sms', to: '+15005550006', content: { text: 'once' } },
    { 'idempotency-key': 'release-fixture' },
  )
  await post('/api/v1/messages/send', {
    channel: 'email',
    to: 'delivered@sandbox.svc',
    content: { subject: 'Grüße', text: 'Hello 世界' },
  })
  await post('/api/v1/messages/send', {
    channel: 'whatsapp',
    to: '+15005550006',
    content: { text: 'Hello' },
  })
  await post('/api/v1/messages/bulk', {
    channel: 'sms',
    recipients: ['+15005550111', '+15005550112', '+15005550001'],
    content: { text: 'To all' },
  })
  const checkout = await post('/api/v1/billing/checkout', { package_id: 'starter' }, session)
  await fetch(checkout.checkout_url, {
    method: 'POST',
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    body: 'decision=pay',
  })
  await post('/api/v1/billing/checkout', { package_id: 'starter' }, session)
  svc('credits', 'grant', '7', '--reason', 'given')
  svc('credits', 'adjust', '-2', '--reason', 'taken back')
  await settled(() => call('GET', '/api/v1/messages?limit=100'))
  const scheduled = await send('+15005550006', { scheduled_at: inDays(30) })
  await post(`/api/v1/messages/${scheduled.message_id}/cancel`, {})
  await send('+15005550006', { scheduled_at: inDays(20) })
  // Due after this server has ended: the next version sends it.
  const soon = new Date(Date.now() + 4_000).toISOString()
  await send('+15005550006', { scheduled_at: soon, metadata: { waits: 'for the next version' } })
  const { messages } = await call('GET', '/api/v1/messages?limit=100')
  const { contacts } = await call('GET', '/api/v1/contacts?limit=100')
  const { suppressions } = await call('GET', '/api/v1/contacts/suppressions?limit=100')
  const account = await call('GET', '/api/v1/account', undefined, session)
  receiver.close()
  return { api_key, password, account, messages, contacts, suppressions }
}

/** Resolves when no message is queued or in flight. */
async function settled(list: () => Promise<{ messages: { status: string }[] }>): Promise<void> {
  const until = Date.now() + SETTLED_MAX_MS
  for (;;) {
    const { messages } = await list()
    if (messages.every(({ status }) => status === 'delivered' || status === 'failed')) return
    if (Date.now() > until) throw new Error('the messages were not settled in time')
    await new Promise((resolve) => setTimeout(resolve, 1_000))
  }
}

function inDays(days: number): string {
  return new Date(Date.now() + days * 86_400_000).toISOString()
}
