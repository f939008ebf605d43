import { execFile, spawn as spawnProcess } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { sign } from '@svc/core/webhooks'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { BIN, type SvcProcess, spawnSvc } from './spawned.ts'
import { newFolder } from './svc.ts'

const sh = (script: string, cwd: string) => promisify(execFile)('sh', ['-c', script], { cwd })
const secret = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwMfKQ9r8GKYo='

let folder: ReturnType<typeof newFolder>
let cwd: string
const processes: SvcProcess[] = []

function spawn(...args: Parameters<typeof spawnSvc>): SvcProcess {
  const started = spawnSvc(...args)
  processes.push(started)
  return started
}

beforeEach(() => {
  folder = newFolder()
  cwd = folder.path
})

afterEach(async () => {
  for (const { child, ended } of processes.splice(0)) {
    child.kill('SIGKILL')
    await ended
  }
  folder.remove()
})

/** Options of Node that record the specifier of every import in a file. */
function recordImports(file: string): string[] {
  const hooks = `import { appendFileSync } from 'node:fs'
    export async function resolve(specifier, context, next) {
      appendFileSync(${JSON.stringify(file)}, specifier + '\\n')
      return next(specifier, context)
    }`
  const dataUrl = (code: string) => `data:text/javascript,${encodeURIComponent(code)}`
  const register = `import { register } from 'node:module'; register(${JSON.stringify(dataUrl(hooks))})`
  return ['--import', dataUrl(register)]
}

/**
 * Options of Node that write the required packages and the started threads to a file at the end of the process. Work that is done
 * once a second is done fifty times a second, so that the file has what it loads.
 */
function recordLoads(file: string): string[] {
  const preload = join(cwd, 'record-loads.cjs')
  writeFileSync(
    preload,
    `const threading = require('node:worker_threads')
    const { syncBuiltinESMExports } = require('node:module')
    const { Worker } = threading
    const threads = []
    threading.Worker = class extends Worker {
      constructor(code, options) {
        super(code, options)
        threads.push(String(code))
      }
    }
    syncBuiltinESMExports()
    const { setInterval: every } = globalThis
    globalThis.setInterval = (call, ms, ...values) => every(call, ms === 1_000 ? 20 : ms, ...values)
    process.on('exit', () => {
      const names = Object.keys(require.cache).map((path) => /.*node_modules\\/((?:@[^/]+\\/)?[^/]+)/.exec(path)?.[1])
      const packages = [...new Set(names)]
      require('node:fs').writeFileSync(${JSON.stringify(file)}, JSON.stringify({ packages, threads }))
    })`,
  )
  return ['--require', preload]
}

/** A port that was free a moment ago. */
async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  return port
}

/** Runs the command `$svc` within a shell command; returns its address, and functions to stop it. */
async function serveInLine(line: string, name: string) {
  // The log, which names a port that the system chooses, is not readable here.
  const port = await freePort()
  const own = join(cwd, name)
  mkdirSync(own)
  const start = `sh -c 'echo $$ > pid; exec ${process.execPath} ${BIN} $0'`
  const { PATH, HOME, TMPDIR } = process.env
  const env = { PATH, HOME, TMPDIR, PORT: String(port), SVC_LOG_LEVEL: 'debug' }
  const shell = spawnProcess('sh', ['-c', line.replace('$svc', () => start)], {
    cwd: own,
    env: { ...env, SVC_RATE_LIMIT_ANONYMOUS: '1000000/60' },
    stdio: 'ignore',
    detached: true,
  })
  const read = (file: string) => {
    const path = join(own, file)
    return existsSync(path) ? readFileSync(path, 'utf8').trim() : ''
  }
  return {
    url: `http://127.0.0.1:${port}`,
    stop: () => process.kill(Number(read('pid')), 'SIGTERM'),
    code: () => read('code'),
    kill() {
      try {
        process.kill(-(shell.pid as number), 'SIGKILL')
      } catch {
        // It has ended.
      }
    },
  }
}

describe('svc as a process', () => {
  test.each([
    ['a full disk', '($svc serve; echo $? > code) > /dev/full 2>&1'],
    ['a reader that reads nothing', '($svc serve; echo $? > code) | sleep 100'],
    ['a full disk and a closed pipe', '($svc dev > /dev/full; echo $? > code) 2>&1 | true'],
  ])(
    'serves and stops in order when its output goes to %s',
    async (name, line) => {
      const service = await serveInLine(line, name.replaceAll(/\W/g, '-'))
      try {
        const fetchFrom = (path: string) =>
          fetch(`${service.url}${path}`, { signal: AbortSignal.timeout(20_000) }).then(
            ({ status }) => status,
            () => 0,
          )
        await expect.poll(() => fetchFrom('/health'), { timeout: 40_000, interval: 100 }).toBe(200)
        // More log lines than a pipe can buffer.
        for (let n = 0; n < 20; n++) {
          const statuses = await Promise.all(
            Array.from({ length: 25 }, () => fetchFrom('/nothing')),
          )
          expect(new Set(statuses)).toEqual(new Set([404]))
        }
        service.stop()
        await expect.poll(service.code, { timeout: 40_000, interval: 50 }).toBe('0')
      } finally {
        service.kill()
      }
    },
    150_000,
  )

  test('svc dev prints commands that work when pasted, and stops in order', async () => {
    const dev = spawn(['dev'], { cwd, env: { PORT: '0' } })
    await dev.until(/Stop with Ctrl-C/)
    const [curl = ''] = /^curl [\s\S]*?'$/m.exec(dev.stdout()) ?? []
    const sent = JSON.parse((await sh(curl, cwd)).stdout) as { data: { message_id: string } }
    expect(sent).toMatchObject({ success: true, data: { status: 'queued', credits_used: 1 } })
    const [look = ''] = /^curl -s '.*limit=1.*$/m.exec(dev.stdout()) ?? []
    const listed = JSON.parse((await sh(look, cwd)).stdout) as object
    expect(listed).toMatchObject({ data: { messages: [{ id: sent.data.message_id }] } })
    expect(dev.stdout()).toMatch(/^node \S+svc\.js messages list$/m)

    dev.child.kill('SIGTERM')
    expect((await dev.ended).code).toBe(0)
    await expect(sh(`${curl} --max-time 2`, cwd)).rejects.toMatchObject({ code: 7 })
  })

  test('svc serve logs JSON, creates no data, and stops in order', async () => {
    const serve = spawn(['serve'], { cwd, env: { PORT: '0' } })
    const [, url] = await serve.until(/"url":"(http:[^"]+)"/)
    expect(await (await fetch(`${url}/health`)).json()).toMatchObject({ status: 'ok' })
    const listed = await spawn(['workspaces', 'list', '--json'], { cwd }).ended
    expect(listed).toMatchObject({ code: 0, stdout: '{"workspaces":[]}\n' })
    serve.child.kill('SIGTERM')
    const { code, stdout } = await serve.ended
    expect(code).toBe(0)
    for (const line of stdout.trim().split('\n')) expect(JSON.parse(line)).toHaveProperty('time')
    // The log says why no mails arrive.
    expect(stdout).toContain('no mail server is set: mails to owners (verify, reset) are not sent')
  })

  test('svc serve names an invalid setting in one line', async () => {
    const { code, stdout, stderr } = await spawn(['serve'], { cwd, env: { PORT: 'x' } }).ended
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toMatch(/^svc: PORT must be a number[^\n]*\n$/)
  })

  test('stops at once after a second signal', async () => {
    const silent = createServer(() => {})
    await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve))
    const { port } = silent.address() as { port: number }
    const target = ['--forward-to', `http://127.0.0.1:${port}/`]
    const listen = spawn(['webhooks', 'listen', '--no-register', '--secret', secret, ...target], {
      cwd,
    })
    const [, url = ''] = await listen.until(/(http:\S+\/)\. Stop/)
    const body = '{}'
    const ids = { event_id: 'e', delivery_id: 'd', attempt: 1 }
    const headers = sign({ secret, body, event: 'webhook.test', at: new Date(), ...ids })
    const waiting = new Promise((resolve) => silent.once('request', resolve))
    const unanswered = fetch(url, { method: 'POST', headers, body }).catch(() => 'cut')
    await waiting
    listen.child.kill('SIGINT')
    // New connections are refused: the first signal was handled, and the delivery is in flight.
    const probe = () =>
      fetch(url).then(
        () => 'open',
        () => 'closed',
      )
    await expect.poll(probe, { timeout: 4_000 }).toBe('closed')
    listen.child.kill('SIGINT')
    expect((await listen.ended).code).toBe(130)
    expect(await unanswered).toBe('cut')
    silent.closeAllConnections()
    silent.close()
  })

  test('svc --help loads only modules that every command needs', async () => {
    const log = join(cwd, 'modules.txt')
    writeFileSync(log, '')
    const { code, stdout } = await spawn(['--help'], { cwd, node: recordImports(log) }).ended
    expect(code).toBe(0)
    expect(stdout).toContain('Usage: svc')
    const modules = readFileSync(log, 'utf8').trim().split('\n')
    expect(modules).toContain('commander')
    const foreign = modules.filter((name) => !/^(?:node:|file:|data:|\.)/.test(name))
    expect([...new Set(foreign)].sort()).toEqual(['commander'])
  })

  test('svc send loads no schema', async () => {
    const log = join(cwd, 'modules.txt')
    writeFileSync(log, '')
    const data = { message_id: 'M1', status: 'queued', credits_used: 1, created_at: 'today' }
    const server = createServer((_, response) => {
      response.writeHead(201).end(JSON.stringify({ success: true, data }))
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const { port } = server.address() as AddressInfo
    const argv = ['send', '--to', '+15005550006', '--text', 'Hello']
    const at = ['--url', `http://127.0.0.1:${port}`, '--key', 'svc_k']
    const { stdout } = await spawn([...argv, ...at], { cwd, node: recordImports(log) }).ended
    server.close()
    expect(stdout).toBe('queued\tM1\t1\n')
    const modules = readFileSync(log, 'utf8').trim().split('\n')
    expect(modules).toContain('@svc/client')
    expect(modules).not.toContain('zod')
  })

  test('svc dev answers a send without code for other requests, and without a thread', async () => {
    const [imports, loads] = [join(cwd, 'modules.txt'), join(cwd, 'loads.json')]
    const node = [...recordImports(imports), ...recordLoads(loads)]
    const dev = spawn(['dev', '--json'], { cwd, env: { PORT: '0' }, node })
    const [text] = await dev.until(/^\{.*"api_key".*\}$/m)
    const { url, api_key } = JSON.parse(text)
    const sent = await fetch(`${url}/api/v1/messages/send`, {
      method: 'POST',
      headers: { 'x-api-key': api_key, 'content-type': 'application/json' },
      body: JSON.stringify({ channel: 'sms', to: '+15005550006', content: { text: 'Hello' } }),
    })
    expect(sent.status).toBe(201)
    dev.child.kill('SIGTERM')
    expect((await dev.ended).code).toBe(0)
    const { packages, threads } = JSON.parse(readFileSync(loads, 'utf8'))
    expect(threads).toEqual([])
    expect(packages).toContain('fastify')
    const seldom = [
      'undici',
      'ajv',
      '@fastify/ajv-compiler',
      '@fastify/fast-json-stringify-compiler',
    ]
    expect(packages.filter((name: string) => seldom.includes(name))).toEqual([])
    const names = readFileSync(imports, 'utf8').trim().split('\n')
    expect(names).toContain('fastify')
    const later = ['zod', 'undici', 'piscina', 'stripe', 'twilio', 'ink', 'nodemailer', 'pg']
    expect(names.filter((name) => later.includes(name))).toEqual([])
  })

  test('does not fail when the reader closes the pipe early', async () => {
    const { stdout, stderr } = await sh(`${process.execPath} ${BIN} --help | head -1`, cwd)
    expect({ stdout, stderr }).toEqual({ stdout: 'Usage: svc [options] [command]\n', stderr: '' })
  })
})
