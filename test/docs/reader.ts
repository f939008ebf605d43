import { spawn } from 'node:child_process'
import { symlinkSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { startDevServer } from '../../packages/cli/test/dev-server.ts'
import { webhookHandler } from '../../packages/client/src/webhooks/handler.ts'
import { fixture } from '../../packages/testkit/src/fixture.ts'
import { sign } from '../../packages/testkit/src/sign.ts'
import { answerCall } from './answer-call.ts'
import { listenForCalls } from './calls.ts'
import { aMessage, tokenOf } from './fill.ts'
import { openDatabases } from './page-databases.ts'
import { type Page, ROOT } from './pages.ts'
import { writePrograms } from './reader-programs.ts'
import { fileFor, scriptFor } from './reader-script.ts'
import { createService, freePort } from './service.ts'

const PATIENCE_MS = 150_000
const SECRET = `whsec_${Buffer.alloc(32, 7).toString('base64')}`

/** The conditions before a page, or one of its sections. */
export interface Setting {
  /** Whether the service is stopped at the start of the page. */
  is_stopped?: boolean
  /** Environment variables of the service. */
  env?: NodeJS.ProcessEnv
  /** Commands before the first block of a section. */
  sections?: Record<string, string>
  /** The configuration file of the machine's `svc`. */
  config?: string
}

/**
 * Follows a page: runs all its shell blocks in one shell, in a folder and against a service of its own. Returns the
 * failures by page and line; empty text without failures.
 */
export async function follow(page: Page, setting: Setting = {}): Promise<string> {
  const dev = await startDevServer(setting.env)
  const { cwd: folder } = dev.here
  const closing: (() => Promise<unknown>)[] = [() => dev.close()]
  try {
    const receiver = await openReceiver()
    closing.push(() => receiver.close())
    const databases = await openDatabases(page)
    closing.push(() => databases.close())
    const token = await tokenOf(dev)
    const machine = join(folder, 'machine')
    const context = { dev, folder, machine, databases, receiver, secret: SECRET }
    const signature = writeFiles(page, folder)
    const metrics_port = await freePort()
    const script = await scriptFor(page, { ...context, signature, metrics_port, setting })
    if (setting.is_stopped) await dev.running.stop()

    const config = setting.config && join(machine, setting.config)
    const { port } = new URL(dev.url)
    const ofMachine = { PORT: port, SVC_CONFIG: config }
    const service = createService(folder, ofMachine)
    closing.push(() => service.stop())
    const world = { folder, send: () => aMessage(dev), sql: databases.run, service }
    const calls = await listenForCalls(folder, (call) => answerCall(call, world))
    closing.push(() => calls.close())
    const env = {
      PATH: writePrograms(folder, calls.path),
      HOME: folder,
      LANG: 'C.UTF-8',
      SVC_URL: dev.url,
      SVC_PUBLIC_URL: dev.url,
      SVC_API_KEY: dev.api_key,
      SVC_WEBHOOK_SECRET: SECRET,
      TOKEN: token,
      // Without it, the commands would use another server of this machine.
      PORT: port,
      ...(config && { SVC_CONFIG: config }),
    }
    return await runScript(script, { page, folder, env })
  } finally {
    for (const close of closing.toReversed()) await close()
  }
}

async function runScript(
  script: string,
  { page, folder, env }: { page: Page; folder: string; env: NodeJS.ProcessEnv },
): Promise<string> {
  const file = join(folder, page.path.replaceAll('/', '_'))
  writeFileSync(file, script)
  const failed = `echo "${page.path}:$LINENO: failed: $BASH_COMMAND" >&2`
  const child = spawn('/bin/bash', ['-c', `set -eEuo pipefail; trap '${failed}' ERR; . ${file}`], {
    cwd: folder,
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: PATIENCE_MS,
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text
    })
  }
  const [code, signal] = await new Promise<[number | null, string | null]>((resolve) => {
    child.on('close', (...how) => resolve(how))
  })
  if (code === 0) return ''
  const excerpt = output.replaceAll(file, page.path).slice(-3000)
  return `${page.path} ended with ${code ?? signal}:\n${excerpt}`
}

/** Writes the files that pages mention; returns the signature of the delivery. */
function writeFiles(page: Page, folder: string): string {
  const write = (name: string, text: string) => writeFileSync(join(folder, name), text)
  const { headers, body } = sign(fixture('message.delivered'), { secret: SECRET })
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`)
  write('headers.txt', `${lines.join('\n')}\n`)
  writeFileSync(join(folder, 'body.json'), body)
  write('password.txt', 'correct horse battery\n')
  write('people.csv', 'name,phone,tags\nAsha,+255700000011,vip\n')
  for (const { words, code } of page.blocks) {
    const name = fileFor(words)
    if (name) write(name, code)
  }
  symlinkSync(join(ROOT, 'deploy'), join(folder, 'deploy'))
  return headers['X-Svc-Signature'] ?? ''
}

/** A webhook receiver that accepts every delivery. */
async function openReceiver(): Promise<{ port: number; close(): Promise<unknown> }> {
  const handled = new Map<string | null, number>()
  const hooks = webhookHandler({
    secret: SECRET,
    on_event: (_, { event_id }) => void handled.set(event_id, (handled.get(event_id) ?? 0) + 1),
    log: () => {},
  })
  const server = createServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '/', 'http://localhost')
    if (pathname !== '/handled') return void hooks.node(request, response)
    response.end(String(handled.get(searchParams.get('id')) ?? 0))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    port: (server.address() as AddressInfo).port,
    close() {
      server.closeAllConnections()
      return new Promise((resolve) => server.close(resolve))
    },
  }
}
