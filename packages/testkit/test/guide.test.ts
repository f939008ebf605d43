import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { afterAll, afterEach, describe, expect, it } from 'vitest'
import { fixture } from '../src/fixture.ts'
import { createSender } from '../src/sender.ts'
import { sign } from '../src/sign.ts'

const PACKAGE = fileURLToPath(new URL('..', import.meta.url))
const GUIDE = readFileSync(join(PACKAGE, '../../docs/guides/receive-webhooks.md'), 'utf8')
const PATIENCE_MS = 20_000
const secret = `whsec_${Buffer.alloc(32, 7).toString('base64')}`

/** The blocks of the guide by their names, or by their language where they have none. */
const BLOCKS = new Map(
  [...GUIDE.matchAll(/^```(\w+)(?: (\S+))?\n(.*?)^```$/gms)].map(
    ([, language = '', name, code = '']) => [name ?? language, code],
  ),
)

// Within the package, so that its own dependencies are found from there.
const folder = mkdtempSync(join(PACKAGE, 'node_modules', '.guide-'))
mkdirSync(join(folder, 'node_modules/@svc'), { recursive: true })
symlinkSync(PACKAGE, join(folder, 'node_modules/@svc/testkit'))
mkdirSync(join(folder, 'node_modules/redis'))
writeFileSync(
  join(folder, 'node_modules/redis/package.json'),
  '{"name":"redis","type":"module","exports":"./index.js"}',
)
/** The three commands of Redis that the guide's store uses, with what they answer. */
writeFileSync(
  join(folder, 'node_modules/redis/index.js'),
  `const values = new Map()
export const createClient = () => ({
  async connect() { return this },
  async set(key, value, { NX }) {
    const before = values.get(key) ?? null
    if (!NX || before === null) values.set(key, value)
    return NX ? before : 'OK'
  },
  async del(key) { return Number(values.delete(key)) },
})`,
)

const closing: (() => unknown)[] = []

afterEach(async () => {
  for (const close of closing.splice(0)) await close()
})

afterAll(() => rmSync(folder, { recursive: true, force: true }))

function block(name: string): string {
  const code = BLOCKS.get(name)
  if (code === undefined) throw new Error(`the guide has no block ${name}`)
  return code
}

function run(name: string, code: string, env: NodeJS.ProcessEnv = {}) {
  const file = join(folder, `${name}.mjs`)
  writeFileSync(file, code)
  const tsx = pathToFileURL(join(PACKAGE, '../../node_modules/tsx/dist/loader.mjs')).href
  const child = spawn(process.execPath, ['--conditions=source', '--import', tsx, file], {
    env: { ...process.env, SVC_WEBHOOK_SECRET: secret, ...env },
  })
  let printed = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk: Buffer) => {
      printed += chunk
    })
  }
  const ended = new Promise<number | null>((resolve) => child.on('close', resolve))
  closing.push(() => {
    child.kill()
    return ended
  })
  return { printed: () => printed, ended }
}

async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  return port
}

async function until(isTrue: () => boolean | Promise<boolean>, what: () => string): Promise<void> {
  const deadline = Date.now() + PATIENCE_MS
  while (!(await isTrue())) {
    if (Date.now() > deadline) throw new Error(what())
    await new Promise((resolve) => setTimeout(resolve, 30))
  }
}

/** What makes a module that exports a function of requests a server. */
const SERVED = `
import { serve } from '@hono/node-server'
serve({ fetch: POST, port: 8080 })
`

const RECEIVERS = [...BLOCKS.keys()].filter((name) => /-(?:handler|by-hand)$/.test(name))

describe('the receivers of the guide', () => {
  it('are there for each framework, with and without the handler', () => {
    const frameworks = ['node', 'fetch', 'express', 'fastify', 'hono']
    expect(RECEIVERS.toSorted()).toEqual(
      frameworks.flatMap((name) => [`${name}-by-hand`, `${name}-handler`]).toSorted(),
    )
  })

  it.each(RECEIVERS)('%s takes what is signed, and refuses what is not', async (name) => {
    const port = await freePort()
    const code = block(name) + (name.startsWith('fetch-') ? SERVED : '')
    const { printed } = run(name, code.replaceAll('8080', String(port)))
    const url = `http://localhost:${port}/hooks/svc`
    const isUp = () =>
      fetch(url, { method: 'POST' }).then(
        () => true,
        () => false,
      )
    await until(isUp, () => `${name} does not listen: ${printed()}`)

    const sender = createSender({ secret, retry: [] })
    const kinds = ['message.delivered', 'message.failed'] as const
    for (const kind of kinds) {
      const report = await sender.deliver(url, fixture(kind))
      expect(report.attempts).toMatchObject([{ status: 200 }])
    }
    const expected = /failed|could not be reached/
    await until(
      () => expected.test(printed()),
      () => `${name} printed: ${printed()}`,
    )
    expect(printed()).toContain(name === 'node-handler' ? 'reached +1415' : 'message.delivered')
    for (const mutation of ['flipped_byte', 'missing_signature', 'wrong_secret'] as const) {
      const answer = await sender.forge(url, fixture('message.sent'), mutation)
      expect({ mutation, status: answer.status }).toEqual({ mutation, status: 403 })
    }
    if (name.endsWith('-handler')) {
      const again = await sender.duplicate(url, fixture('message.delivered'))
      expect(again.map(({ outcome }) => outcome)).toEqual(['delivered', 'delivered'])
    }
  })
})

describe('the other blocks of the guide', () => {
  it('the store remembers for all processes', async () => {
    const code = `${block('store')}
import { fixture, createSender } from '@svc/testkit'
const sender = createSender({ secret: process.env.SVC_WEBHOOK_SECRET, retry: [] })
const reports = await sender.duplicate(hooks.fetch, fixture('credits.low'), { times: 3 })
console.log(reports.map(({ outcome }) => outcome).join())`
    const { printed, ended } = run('store', code)
    expect([await ended, printed()]).toEqual([
      0,
      'credits.low 2026-05-04T09:40:00.000Z\ndelivered,delivered,delivered\n',
    ])
  })

  it('testing passes as it stands', async () => {
    const { printed, ended } = run('testing', block('testing'))
    expect([await ended, printed()]).toEqual([0, ''])
  })

  it('conformance finds nothing wrong with the handler', async () => {
    const { printed, ended } = run('conformance', block('conformance'))
    expect([await ended, printed()]).toEqual([0, 'conforms\n'])
  })

  it('node:crypto tells the authentic from the tampered', async () => {
    const load = async (name: string) => {
      const file = join(folder, `${name}-module.mjs`)
      writeFileSync(file, block(name))
      return (await import(/* @vite-ignore */ pathToFileURL(file).href)) as Record<
        string,
        (body: Uint8Array, given: unknown, key: string) => boolean
      >
    }
    const { isAuthentic } = await load('node-crypto')
    const { isFresh } = await load('node-crypto-standard')
    const { headers, body } = sign(fixture('message.sent'), { secret })
    const lower = (given: Readonly<Record<string, string>>) =>
      Object.fromEntries(Object.entries(given).map(([name, value]) => [name.toLowerCase(), value]))
    const tampered = Buffer.concat([body, Buffer.from(' ')])
    for (const name of ['X-Svc-Signature', 'X-Svc-Signature-256']) {
      expect(isAuthentic?.(body, headers[name], secret)).toBe(true)
      expect(isAuthentic?.(tampered, headers[name], secret)).toBe(false)
    }
    expect(isAuthentic?.(body, undefined, secret)).toBe(false)
    expect(isFresh?.(body, lower(headers), secret)).toBe(true)
    expect(isFresh?.(tampered, lower(headers), secret)).toBe(false)
    expect(isFresh?.(body, {}, secret)).toBe(false)
    const old = sign(fixture('message.sent'), { secret, at: new Date(Date.now() - 301_000) })
    expect(isFresh?.(body, lower(old.headers), secret)).toBe(false)
  })

  const hasPython = spawnSync('python3', ['--version']).status === 0
  const python = hasPython ? 'Python' : 'Python (not installed)'
  it.runIf(hasPython)(`${python} tells the authentic from the tampered`, () => {
    const { headers, body } = sign(fixture('message.sent'), { secret })
    const code = `${block('python')}
import sys
body = sys.stdin.buffer.read()
print(is_authentic(body, sys.argv[1], sys.argv[2]), is_authentic(body + b' ', sys.argv[1], sys.argv[2]), is_authentic(body, '', sys.argv[2]), is_authentic(body, 'é', sys.argv[2]))`
    const args = ['-c', code, headers['X-Svc-Signature'] ?? '', secret]
    expect(execFileSync('python3', args, { input: body }).toString()).toBe(
      'True False False False\n',
    )
  })

  it('leaves no block of JavaScript untried', () => {
    const tried = [
      ...RECEIVERS,
      'store',
      'testing',
      'conformance',
      'node-crypto',
      'node-crypto-standard',
    ]
    const javascript = [...GUIDE.matchAll(/^```(?:js|ts)(?: (\S+))?$/gm)].map(([, name]) => name)
    expect(javascript.toSorted()).toEqual(tried.toSorted())
  })
})
