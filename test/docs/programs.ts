import { execFile, spawnSync } from 'node:child_process'
import { createHmac } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, vi } from 'vitest'
import { type DevServer, startDevServer } from '../../packages/cli/test/dev-server.ts'
import { createReceiver } from '../../packages/testkit/src/receiver.ts'
import { aTestKey, post } from './fill.ts'

/** Runs a block, and checks its effects. */
type Trial = (code: string) => Promise<void>

/** Programs of pages, by page and info string. Several of one page without a name are run one by one. */
export const PROGRAMS: Record<string, Trial[]> = {
  'README.md js': [verifiesRealDeliveries],
  'README.md js send': [sendsOnce(runsModule)],
  'README.md python': [ifInstalled('python3', sendsOnce(runsPython))],
  'packages/core/README.md js': [sendsAMessage],
  'packages/server/README.md js': [servesUntilStopped],
  'packages/client/README.md js': [runsTheClient],
  'docs/guides/client.md js send': [runsTheClient],
  'docs/guides/client.md js lists': [runsTheClient],
  'docs/guides/client.md js errors': [runsTheClient],
  'docs/guides/client.md js bulk': [runsTheClient],
  'docs/guides/client.md js receive': [receivesDeliveries],
  'docs/guides/one-time-codes.md js login': [runsTheClientInTestMode],
  'docs/guides/one-time-codes.md js again': [runsTheClientInTestMode],
  'docs/guides/one-time-codes.md js pauses': [allowsACountry],
  'packages/testkit/README.md js': [
    sendsToAReceiver,
    showsWhatWasWaited,
    hasMatchers,
    runsAWholeService,
  ],
  'docs/guides/accounts.md js': [forwardsMails],
  'docs/guides/embed-core.md js': [opensInMemory],
  'docs/guides/embed-core.md js templates': [sendsFromATemplate],
  'docs/guides/embed-core.md js events': [showsEvents],
  'docs/guides/receive-webhooks.md php': [verifiesSignature('php', php)],
  'docs/guides/receive-webhooks.md go': [verifiesSignature('go', go)],
  'docs/guides/receive-webhooks.md ruby': [verifiesSignature('ruby', ruby)],
}

const SECRET = `whsec_${Buffer.alloc(32, 7).toString('base64')}`

/** Modules by the names that programs import; loaded from source. */
const MODULES: Record<string, () => Promise<object>> = {
  '@svc/client': () => import('@svc/client'),
  '@svc/core': () => import('@svc/core'),
  '@svc/server': () => import('@svc/server'),
  '@svc/testkit': () => import('@svc/testkit'),
  '@svc/testkit/vitest': () => import('@svc/testkit/vitest'),
  'node:crypto': () => import('node:crypto'),
}

/** Runs a module with the given globals; returns its values under `names` and its output. */
async function runModule(
  code: string,
  around: Record<string, unknown>,
  names: string[] = [],
): Promise<{ printed: unknown[][]; left: Record<string, unknown> }> {
  const modules: Record<string, object> = {}
  const body = code.replaceAll(
    /^import (?:(\{[^}]*\}) from )?'([^']+)'(.*)$/gm,
    (_, imported: string | undefined, name: string, rest: string) => {
      if (!MODULES[name]) throw new Error(`test/docs/programs.ts knows no module ${name}`)
      const load = `await __load('${name}')${rest}`
      return imported ? `const ${imported} = ${load}` : load
    },
  )
  const printed: unknown[][] = []
  const globals: Record<string, unknown> = {
    console: { log: (...words: unknown[]) => printed.push(words) },
    __load: async (name: string) => (modules[name] ??= (await MODULES[name]?.()) ?? {}),
    ...around,
  }
  const AsyncFunction = (async () => {}).constructor as FunctionConstructor
  const run = AsyncFunction(...Object.keys(globals), `${body}\nreturn { ${names.join(', ')} }`)
  const left = (await run(...Object.values(globals))) as Record<string, unknown>
  return { printed, left }
}

async function inFolder(act: (folder: string) => Promise<void>): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'svc-docs-'))
  try {
    await act(folder)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

const inThere = (code: string, folder: string) =>
  code.replaceAll('./svc.db', join(folder, 'svc.db'))

async function verifiesRealDeliveries(code: string): Promise<void> {
  const { left } = await runModule(code, {}, ['isAuthentic'])
  const isAuthentic = left.isAuthentic as (
    body: Uint8Array,
    headers: Record<string, string>,
    secret: string,
  ) => boolean
  const dev = await startDevServer()
  let secret = ''
  const receiver = await createReceiver({ secret: () => secret })
  try {
    const events = ['message.delivered']
    const made = await post<{ webhook: { secret: string } }>(dev, '/webhooks', {
      url: receiver.url,
      events,
    })
    secret = made.webhook.secret
    const body = { channel: 'sms', to: '+15005550006', content: { text: 'Hello' } }
    await post(dev, '/messages/send', body)
    await receiver.waitFor('message.delivered')
    const [delivery] = receiver.requests
    if (!delivery) throw new Error('no webhook was delivered')
    const raw = Buffer.from(delivery.body)
    const headers = delivery.headers as Record<string, string>
    expect(isAuthentic(raw, headers, secret)).toBe(true)
    expect(isAuthentic(Buffer.concat([raw, Buffer.from(' ')]), headers, secret)).toBe(false)
    expect(isAuthentic(raw, headers, SECRET)).toBe(false)
    expect(isAuthentic(raw, {}, secret)).toBe(false)
  } finally {
    await receiver.close()
    await dev.close()
  }
}

/** Runs a program that sends with SVC_URL and SVC_API_KEY; returns what it prints. */
type Sender = (code: string, env: NodeJS.ProcessEnv) => Promise<string>

/** Runs the program twice: both runs print the same message, because it has an idempotency key. */
function sendsOnce(run: Sender): Trial {
  return async (code) => {
    const dev = await startDevServer()
    try {
      const env = { SVC_URL: dev.url, SVC_API_KEY: dev.api_key }
      const printed = [await run(code, env), await run(code, env)]
      const { messages } = await post<{ messages: { id: string }[] }>(dev, '/messages')
      expect(messages).toHaveLength(1)
      expect(printed).toEqual(Array(2).fill(`${messages[0]?.id} queued`))
    } finally {
      await dev.close()
    }
  }
}

async function runsModule(code: string, env: NodeJS.ProcessEnv): Promise<string> {
  const { printed } = await runModule(code, { process: { env } })
  return printed.map((words) => words.join(' ')).join('\n')
}

async function runsPython(code: string, env: NodeJS.ProcessEnv): Promise<string> {
  // The server is in this process, so the program must not block it.
  const python = promisify(execFile)
  const { stdout } = await python('python3', ['-c', code], { env: { ...process.env, ...env } })
  return stdout.trim()
}

function sendsAMessage(code: string): Promise<void> {
  return inFolder(async (folder) => {
    const { printed } = await runModule(inThere(code, folder), {})
    expect(printed).toEqual([[expect.stringMatching(/^[\da-f-]{36}$/)]])
  })
}

function sendsFromATemplate(code: string): Promise<void> {
  return inFolder(async (folder) => {
    const { printed } = await runModule(inThere(code, folder), {})
    expect(printed.flat()).toEqual([
      'order-ready: created, version 1',
      'Hallo there, A1 ist bereit (de, version 1)',
    ])
  })
}

function showsEvents(code: string): Promise<void> {
  return inFolder(async (folder) => {
    const { printed } = await runModule(inThere(code, folder), {})
    const lines = printed.map((words) => words.map(String).join(' '))
    const iterated = lines.filter((line) => !line.includes('reached'))
    expect(iterated.map((line) => line.split(' ')[0])).toEqual([
      'message.sent',
      'message.delivered',
    ])
  })
}

function servesUntilStopped(code: string): Promise<void> {
  return inFolder(async (folder) => {
    const ends: (() => Promise<void>)[] = []
    const process = {
      once(signal: string, end: () => Promise<void>) {
        expect(signal).toBe('SIGTERM')
        ends.push(end)
      },
    }
    const anyPort = inThere(code, folder).replace("'3000'", "'0'")
    const { printed } = await runModule(anyPort, { process })
    const url = String(printed[0]?.[0])
    expect((await fetch(`${url}/health`)).status).toBe(200)
    for (const end of ends) await end()
    await expect(fetch(`${url}/health`)).rejects.toThrow()
  })
}

async function sendsToAReceiver(code: string): Promise<void> {
  const receiver = await createReceiver({ secret: SECRET })
  try {
    const here = code.replaceAll(/http:\/\/127\.0\.0\.1:8080[\w/]*/g, receiver.url)
    const process = { env: { SVC_WEBHOOK_SECRET: SECRET } }
    const { printed } = await runModule(here, { process })
    expect(printed).toEqual(promised(code))
  } finally {
    await receiver.close()
  }
}

async function showsWhatWasWaited(code: string): Promise<void> {
  const { printed } = await runModule(code, { secret: SECRET })
  expect(printed).toEqual(promised(code))
}

async function hasMatchers(code: string): Promise<void> {
  const { webhookHandler } = await import('@svc/client')
  const { createSender, fixture, sign } = await import('@svc/testkit')
  const receiver = await createReceiver({ secret: SECRET })
  try {
    const event = fixture('message.failed', { metadata: { order_id: 'A1' } })
    await createSender({ secret: SECRET }).deliver(receiver.url, event)
    const { headers, body } = sign(event, { secret: SECRET })
    const hooks = webhookHandler({ secret: SECRET, on_event: () => {}, log: () => {} })
    const here = code.replace(/'http:\/\/127\.0\.0\.1:8080[\w/]*'/, 'target')
    const around = { secret: SECRET, receiver, headers, body, expect, target: hooks.fetch }
    await runModule(here, around)
  } finally {
    await receiver.close()
  }
}

async function runsAWholeService(code: string): Promise<void> {
  const { printed } = await runModule(code, {})
  expect(printed).toEqual(promised(code))
}

async function opensInMemory(code: string): Promise<void> {
  const { left } = await runModule(code.replace('// …', 'await core.ping()'), {}, ['core'])
  const core = left.core as Awaited<ReturnType<typeof import('@svc/core').createCore>>
  await expect(core.ping()).rejects.toThrow('core.ping: the core is closed')
}

function forwardsMails(code: string): Promise<void> {
  return inFolder(async (folder) => {
    const here = `import { createCore } from '@svc/core'\n${inThere(code, folder)}`
    const sent: unknown[] = []
    const noted = here.replace(
      '{ /* hand it on',
      '{ sent.push({ to, subject, text, html }) /* hand it on',
    )
    const { left } = await runModule(noted, { sent }, ['core'])
    const core = left.core as Awaited<ReturnType<typeof import('@svc/core').createCore>>
    try {
      const email = 'asha@example.com'
      await core.workspaces.signup({ email, password: 'correct horse', company_name: 'Example' })
      await expect.poll(() => sent).toMatchObject([{ to: email, html: expect.any(String) }])
    } finally {
      await core.close()
    }
  })
}

/** Runs a program of the client against a service, with the environment that the page names. */
function runsTheClient(code: string): Promise<void> {
  return runsWithKey(code, async ({ api_key }) => api_key)
}

function runsTheClientInTestMode(code: string): Promise<void> {
  return runsWithKey(code, aTestKey)
}

async function runsWithKey(
  code: string,
  keyOf: (dev: DevServer) => Promise<string>,
): Promise<void> {
  const dev = await startDevServer()
  try {
    vi.stubEnv('SVC_URL', dev.url)
    vi.stubEnv('SVC_API_KEY', await keyOf(dev))
    const { printed } = await runModule(code, {})
    expect(printed).toEqual(promised(code))
  } finally {
    vi.unstubAllEnvs()
    await dev.close()
  }
}

async function allowsACountry(code: string): Promise<void> {
  const { createCore } = await import('@svc/core')
  const core = await createCore({ database_url: ':memory:', durability: 'none' })
  try {
    const workspace = await core.workspaces.create({
      email: 'me@example.com',
      password: 'correct horse',
      company_name: 'Example',
    })
    const { printed } = await runModule(code, { core, workspace })
    expect(printed).toEqual(promised(code))
  } finally {
    await core.close()
  }
}

async function receivesDeliveries(code: string): Promise<void> {
  const { fixture, sign } = await import('@svc/testkit')
  const process = { env: { SVC_WEBHOOK_SECRET: SECRET } }
  const here = code.replace('export async', 'async')
  const { left, printed } = await runModule(here, { process }, ['POST'])
  const receive = left.POST as (request: Request) => Promise<Response>
  const event = fixture('message.failed', { error_code: 'undelivered' })
  const url = 'https://app.example.com/hooks/svc'
  const statuses = [SECRET, SECRET.replace('B', 'C')].map(async (secret) => {
    return (await receive(sign(event, { secret }).toRequest(url))).status
  })
  expect(await Promise.all(statuses)).toEqual([200, 403])
  expect(printed).toEqual([['undelivered']])
}

/** The output that the comments after `console.log` state, as values. */
function promised(code: string): unknown[][] {
  return [...code.matchAll(/console\.log\(.*\) \/\/ (.+)$/gm)].map(([, text = '']) =>
    [...text.matchAll(/\[[^\]]*\]|\S+/g)].map(([word]) =>
      /^[[\d]/.test(word) ? JSON.parse(word) : word,
    ),
  )
}

/** A program that prints whether it accepts the signature of the body on its input. */
type Program = (code: string, signature: string) => { file: string; text: string; run: string[] }

/** The blocks of a language that the machine does not have are skipped. */
function ifInstalled(command: string, trial: Trial): Trial {
  const flag = command === 'go' ? 'version' : '--version'
  return async (code) => {
    if (spawnSync(command, [flag]).status === 0) await trial(code)
  }
}

function verifiesSignature(command: string, program: Program): Trial {
  return ifInstalled(command, (code) =>
    inFolder(async (folder) => {
      const body = '{"event":"webhook.test"}'
      const signature = createHmac('sha256', SECRET).update(body).digest('hex')
      const { file, text, run } = program(code, signature)
      writeFileSync(join(folder, file), text)
      const env = { ...process.env, GOCACHE: join(tmpdir(), 'svc-docs-go'), GOFLAGS: '-mod=mod' }
      const verify = (input: string) => {
        const { stdout, stderr } = spawnSync(command, [...run, file], { cwd: folder, input, env })
        return stdout.toString().trim() || stderr.toString()
      }
      expect([verify(body), verify(`${body} `)]).toEqual(['true', 'false'])
    }),
  )
}

function php(code: string, signature: string) {
  const text = `<?php
${code}
var_export(is_authentic(file_get_contents('php://stdin'), '${signature}', '${SECRET}'));`
  return { file: 'program.php', text, run: [] }
}

function ruby(code: string, signature: string) {
  const text = `${code}\nputs authentic?($stdin.binmode.read, '${signature}', '${SECRET}')\n`
  return { file: 'program.rb', text, run: [] }
}

function go(code: string, signature: string) {
  const text = `package main
import ("crypto/hmac"; "crypto/sha256"; "encoding/hex"; "fmt"; "io"; "os")
${code}
func main() {
	body, _ := io.ReadAll(os.Stdin)
	fmt.Println(isAuthentic(body, "${signature}", "${SECRET}"))
}`
  return { file: 'program.go', text, run: ['run'] }
}
