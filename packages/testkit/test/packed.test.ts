import { execFileSync } from 'node:child_process'
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

const PACKAGE = fileURLToPath(new URL('..', import.meta.url))
const FRAMEWORKS = ['express', 'fastify', 'hono', '@hono/node-server']

/** Mounts the handler in each framework; each returns its port and a function to close. */
const STARTS: Record<string, string> = {
  'node:http': `
    const { createServer } = await import('node:http')
    const server = createServer(hooks.node).listen(0, '127.0.0.1')
    await once(server, 'listening')
    return server.address().port`,
  Express: `
    const { default: express } = await import('express')
    const server = express().post('/', hooks.express).listen(0, '127.0.0.1')
    await once(server, 'listening')
    return server.address().port`,
  Fastify: `
    const { default: Fastify } = await import('fastify')
    const app = Fastify()
    await app.register(hooks.fastify, { url: '/' })
    await app.listen({ port: 0, host: '127.0.0.1' })
    return app.server.address().port`,
  Hono: `
    const { Hono } = await import('hono')
    const { serve } = await import('@hono/node-server')
    const server = serve({ fetch: new Hono().post('/', hooks.hono).fetch, port: 0, hostname: '127.0.0.1' })
    await once(server, 'listening')
    return server.address().port`,
}

let folder: string
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'svc-packed-'))
  const modules = join(folder, 'node_modules')
  execFileSync('npm', ['pack', '--ignore-scripts', '--pack-destination', folder], {
    cwd: PACKAGE,
    stdio: 'ignore',
  })
  const [tarball] = readdirSync(folder).filter((name) => name.endsWith('.tgz'))
  writeFileSync(join(folder, 'package.json'), '{"type":"module"}')
  // Works without a registry.
  execFileSync('npm', ['install', '--offline', '--no-audit', '--no-fund', `./${tarball}`], {
    cwd: folder,
    stdio: 'pipe',
  })
  mkdirSync(join(modules, '@hono'))
  for (const name of FRAMEWORKS) {
    symlinkSync(join(PACKAGE, 'node_modules', name), join(modules, name))
  }
}, 60_000)
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** Runs a new project that has only the packed testkit, and returns the output. */
function run(start: string): unknown {
  const file = join(folder, 'receive.mjs')
  writeFileSync(
    file,
    `import { once } from 'node:events'
import { conformance, createSender, fixture, webhookHandler } from '@svc/testkit'
const secret = 'whsec_' + Buffer.alloc(32, 7).toString('base64')
const handled = []
const times = new Map()
const hooks = webhookHandler({
  secret,
  on: {
    'message.delivered': ({ data }, { event_id }) => {
      handled.push(data.message_id)
      times.set(event_id, (times.get(event_id) ?? 0) + 1)
    },
  },
  log: () => {},
})
const start = async () => {${start}
}
const url = \`http://127.0.0.1:\${await start()}/\`
const sender = createSender({ secret })
const event = fixture('message.delivered')
const { outcome } = await sender.deliver(url, event)
await sender.duplicate(url, event)
const { status } = await sender.forge(url, event, 'wrong_secret')
const received = handled.filter((id) => id === event.data.message_id).length
const { ok } = await conformance(url, { secret, observe: (id) => times.get(id) ?? 0 })
console.log(JSON.stringify({ outcome, times: received, forged: status, conforms: ok }))
process.exit()
`,
  )
  return JSON.parse(execFileSync(process.execPath, [file], { cwd: folder, encoding: 'utf8' }))
}

describe('the packed testkit in an empty project', () => {
  it('installs no other package', () => {
    const manifest = JSON.parse(
      readFileSync(join(folder, 'node_modules/@svc/testkit/package.json'), 'utf8'),
    )
    // Declarations would also leave a peer dependency outside, and then import a missing package.
    expect([manifest.dependencies, manifest.peerDependencies]).toEqual([undefined, undefined])
    expect(readdirSync(join(folder, 'node_modules/@svc'))).toEqual(['testkit'])
  })

  it.each(Object.entries(STARTS))(
    'receives and passes its own checks with %s',
    (_, start) => {
      expect(run(start)).toEqual({ outcome: 'delivered', times: 1, forged: 403, conforms: true })
    },
    60_000,
  )
})
