import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { afterAll, afterEach, describe, expect, it } from 'vitest'
import { ensureBuilt } from '../../../test/built.ts'
import { fixture } from '../src/fixture.ts'
import { createSender } from '../src/sender.ts'
import { sign } from '../src/sign.ts'

ensureBuilt()

const PACKAGE = fileURLToPath(new URL('..', import.meta.url))
const GUIDE = readFileSync(join(PACKAGE, '../../docs/guides/receive-webhooks.md'), 'utf8')
const PATIENCE_MS = 20_000
const secret = `whsec_${Buffer.alloc(32, 7).toString('base64')}`

/** The code blocks of the guide by name, or by language without a name. */
const BLOCKS = new Map(
  [...GUIDE.matchAll(/^```(\w+)(?: (\S+))?\n(.*?)^```$/gms)].map(
    ([, language = '', name, code = '']) => [name ?? language, code],
  ),
)

// Inside the package, so that its dependencies resolve.
const folder = mkdtempSync(join(PACKAGE, 'node_modules', '.guide-'))
mkdirSync(join(folder, 'node_modules/@svc'), { recursive: true })
symlinkSync(PACKAGE, join(folder, 'node_modules/@svc/testkit'))
symlinkSync(join(PACKAGE, '../client'), join(folder, 'node_modules/@svc/client'))
mkdirSync(join(folder, 'node_modules/redis'))
writeFileSync(
  join(folder, 'node_modules/redis/package.json'),
  '{"name":"redis","type":"module","exports":"./index.js"}',
)
/** Answers the three Redis commands that the guide's store uses. */
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
  const child = spawn(process.execPath, [file], {
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

async function until(
  isTrue: () => boolean | Promise<boolean>,
  describe_failure: () => string,
): Promise<void> {
  const deadline = Date.now() + PATIENCE_MS
  while (!(await isTrue())) {
    if (Date.now() > deadline) throw new Error(describe_failure())
    await new Promise((resolve) => setTimeout(resolve, 30))
  }
}

/**
 * Reads the code in the cells of the guide's table of frameworks: with the handler, and for a raw
 * body.
 */
const FRAMEWORKS = new Map(
  [...GUIDE.matchAll(/^\| ([A-Z][\w, ]+) \| (`.+) \| (`.+) \|$/gm)].map(
    ([, name = '', ...cells]) => [
      name,
      cells.map((cell) => [...cell.matchAll(/`([^`]+)`/g)].map(([, code = '']) => code)),
    ],
  ),
)

function codeOf(framework: string): { handler: string[]; rawBody: string[] } {
  const [handler = [], rawBody = []] = FRAMEWORKS.get(framework) ?? []
  return { handler, rawBody }
}

const HANDLER = `
import { webhookHandler } from '@svc/client'
const hooks = webhookHandler({
  secret: process.env.SVC_WEBHOOK_SECRET,
  on_event: ({ event, data }) => console.log(event, data.occurred_at),
})
`

const BY_HAND = `
import { isAuthentic } from './is-authentic.mjs'
const statusOf = (body, signature) => {
  if (!isAuthentic(body, signature, process.env.SVC_WEBHOOK_SECRET)) return 403
  console.log(JSON.parse(body).event)
  return 200
}
`

/** Serves the function `POST` of a module for Next or Bun. */
const SERVED = `
import { serve } from '@hono/node-server'
serve({ fetch: POST, port: 8080 })
`

function withHandler(framework: string): string {
  const { handler } = codeOf(framework)
  const code = handler.join('\n')
  switch (framework) {
    case 'Node':
      return `import { createServer } from 'node:http'\n${HANDLER}${code}.listen(8080)`
    case 'Next, Bun':
      return HANDLER + code + SERVED
    case 'Express':
      return `import express from 'express'
${HANDLER}
const app = express()
${code}
app.listen(8080)`
    case 'Fastify':
      return `import Fastify from 'fastify'
${HANDLER}
const app = Fastify()
${code}
await app.listen({ port: 8080 })`
    case 'Hono':
      return `import { serve } from '@hono/node-server'
import { Hono } from 'hono'
${HANDLER}
const app = new Hono()
${code}
serve({ fetch: app.fetch, port: 8080 })`
  }
  throw new Error(`no program for ${framework}`)
}

function byHand(framework: string): string {
  const [first, second, third] = codeOf(framework).rawBody
  switch (framework) {
    case 'Node':
      return `import { createServer } from 'node:http'
${BY_HAND}
createServer(async (request, response) => {
  const chunks = []
  ${first}
  response.writeHead(statusOf(${second}, request.headers['x-svc-signature'])).end()
}).listen(8080)`
    case 'Next, Bun':
      return `${BY_HAND}
const POST = async (request) => {
  const status = statusOf(${first}, request.headers.get('x-svc-signature'))
  return new Response('', { status })
}
${SERVED}`
    case 'Express':
      return `import express from 'express'
${BY_HAND}
const app = express()
app.post('/hooks/svc', ${first}, (request, response) => {
  response.sendStatus(statusOf(${second}, request.get('x-svc-signature')))
})
app.listen(8080)`
    case 'Fastify':
      return `import Fastify from 'fastify'
${BY_HAND}
const app = Fastify()
app.register(async (scope) => {
  ${second}
  ${first}
  scope.post('/hooks/svc', async (request, reply) => {
    return reply.code(statusOf(${third}, request.headers['x-svc-signature'])).send()
  })
})
await app.listen({ port: 8080 })`
    case 'Hono':
      return `import { serve } from '@hono/node-server'
import { Hono } from 'hono'
${BY_HAND}
const app = new Hono()
app.post('/hooks/svc', async (c) => {
  return c.text('', statusOf(${first}, c.req.header('x-svc-signature')))
})
serve({ fetch: app.fetch, port: 8080 })`
  }
  throw new Error(`no program for ${framework}`)
}

const RECEIVERS: [name: string, code: () => string][] = [
  ['node-handler', () => block('node-handler')],
  ...[...FRAMEWORKS.keys()].flatMap((name): [string, () => string][] => [
    [`${name} with the handler`, () => withHandler(name)],
    [`${name} by hand`, () => byHand(name)],
  ]),
]

describe('receivers of the guide', () => {
  it('has a row for each framework', () => {
    const names = ['Node', 'Next, Bun', 'Express', 'Fastify', 'Hono']
    expect([...FRAMEWORKS.keys()]).toEqual(names)
  })

  it.each(RECEIVERS)('%s accepts signed deliveries and refuses forged ones', async (name, code) => {
    const port = await freePort()
    writeFileSync(join(folder, 'is-authentic.mjs'), block('node-crypto'))
    const { printed } = run(name, code().replaceAll('8080', String(port)))
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
    if (name.endsWith('handler')) {
      const again = await sender.duplicate(url, fixture('message.delivered'))
      expect(again.map(({ outcome }) => outcome)).toEqual(['delivered', 'delivered'])
    }
  })
})

describe('other blocks of the guide', () => {
  it('the store is shared by all processes', async () => {
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

  it('the testing example passes unchanged', async () => {
    const { printed, ended } = run('testing', block('testing'))
    expect([await ended, printed()]).toEqual([0, ''])
  })

  it('the node:crypto example accepts only authentic bytes', async () => {
    const file = join(folder, 'node-crypto-module.mjs')
    writeFileSync(file, block('node-crypto'))
    const { isAuthentic } = (await import(/* @vite-ignore */ pathToFileURL(file).href)) as Record<
      string,
      (body: Uint8Array, signature: unknown, key: string) => boolean
    >
    const { headers, body } = sign(fixture('message.sent'), { secret })
    const tampered = Buffer.concat([body, Buffer.from(' ')])
    for (const name of ['X-Svc-Signature', 'X-Svc-Signature-256']) {
      expect(isAuthentic?.(body, headers[name], secret)).toBe(true)
      expect(isAuthentic?.(tampered, headers[name], secret)).toBe(false)
    }
    expect(isAuthentic?.(body, undefined, secret)).toBe(false)
  })

  const hasPython = spawnSync('python3', ['--version']).status === 0
  const python = hasPython ? 'Python' : 'Python (not installed)'
  it.runIf(hasPython)(`${python} accepts authentic bytes and refuses tampered ones`, () => {
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

  it('runs every block of JavaScript', () => {
    const run = ['node-handler', 'store', 'testing', 'node-crypto']
    const javascript = [...GUIDE.matchAll(/^```(?:js|ts)(?: (\S+))?$/gm)].map(([, name]) => name)
    expect(javascript.toSorted()).toEqual(run.toSorted())
  })
})
