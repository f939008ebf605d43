import { execFile } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { sign } from '@svc/core/webhooks'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { type SvcProcess, spawnSvc } from './spawned.ts'
import { newFolder } from './svc.ts'

const sh = (script: string, cwd: string) => promisify(execFile)('sh', ['-c', script], { cwd })
const secret = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwMfKQ9r8GKYo='

let folder: ReturnType<typeof newFolder>
let cwd: string
const processes: SvcProcess[] = []

function spawn(...given: Parameters<typeof spawnSvc>): SvcProcess {
  const started = spawnSvc(...given)
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

/** A resolver that notes every module asked for. */
function resolverNoting(file: string): string[] {
  const hooks = `import { appendFileSync } from 'node:fs'
    export async function resolve(specifier, context, next) {
      appendFileSync(${JSON.stringify(file)}, specifier + '\\n')
      return next(specifier, context)
    }`
  const dataUrl = (code: string) => `data:text/javascript,${encodeURIComponent(code)}`
  const register = `import { register } from 'node:module'; register(${JSON.stringify(dataUrl(hooks))})`
  return ['--import', dataUrl(register)]
}

describe('svc as a process', () => {
  test('the commands that svc dev prints work as pasted, and it ends in order', async () => {
    const dev = spawn(['dev'], { cwd, env: { PORT: '0' } })
    await dev.until(/Stop with Ctrl-C/)
    const [curl = ''] = /^curl [\s\S]*?'$/m.exec(dev.stdout()) ?? []
    const sent = JSON.parse((await sh(curl, cwd)).stdout) as { data: { message_id: string } }
    expect(sent).toMatchObject({ success: true, data: { status: 'queued', credits_used: 1 } })
    const [look = ''] = /^curl -s '.*limit=1.*$/m.exec(dev.stdout()) ?? []
    const listed = JSON.parse((await sh(look, cwd)).stdout) as object
    expect(listed).toMatchObject({ data: { messages: [{ id: sent.data.message_id }] } })
    expect(dev.stdout()).toMatch(/^node \S+bin\.ts messages list$/m)

    dev.child.kill('SIGTERM')
    expect((await dev.ended).code).toBe(0)
    await expect(sh(`${curl} --max-time 2`, cwd)).rejects.toMatchObject({ code: 7 })
  })

  test('svc serve logs JSON, seeds nothing, and ends in order', async () => {
    const serve = spawn(['serve'], { cwd, env: { PORT: '0' } })
    const [, url] = await serve.until(/"url":"(http:[^"]+)"/)
    expect(await (await fetch(`${url}/health`)).json()).toMatchObject({ status: 'ok' })
    const listed = await spawn(['workspaces', 'list', '--json'], { cwd }).ended
    expect(listed).toMatchObject({ code: 0, stdout: '{"workspaces":[]}\n' })
    serve.child.kill('SIGTERM')
    const { code, stdout } = await serve.ended
    expect(code).toBe(0)
    for (const line of stdout.trim().split('\n')) expect(JSON.parse(line)).toHaveProperty('time')
    // Nobody is left to wonder where the mails are.
    expect(stdout).toContain('no mail server is used: mails to owners (verify, reset) reach nobody')
  })

  test('svc serve names a wrong setting in one line', async () => {
    const { code, stdout, stderr } = await spawn(['serve'], { cwd, env: { PORT: 'x' } }).ended
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toMatch(/^svc: PORT must be a number[^\n]*\n$/)
  })

  test('a second signal ends it at once', async () => {
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
    // Closed to newcomers: the first signal has been understood, and the delivery is being waited for.
    const knock = () =>
      fetch(url).then(
        () => 'open',
        () => 'closed',
      )
    await expect.poll(knock, { timeout: 4_000 }).toBe('closed')
    listen.child.kill('SIGINT')
    expect((await listen.ended).code).toBe(130)
    expect(await unanswered).toBe('cut')
    silent.closeAllConnections()
    silent.close()
  })

  test('svc --help loads nothing of what most commands do not need', async () => {
    const log = join(cwd, 'modules.txt')
    writeFileSync(log, '')
    const { code, stdout } = await spawn(['--help'], { cwd, node: resolverNoting(log) }).ended
    expect(code).toBe(0)
    expect(stdout).toContain('Usage: svc')
    const modules = readFileSync(log, 'utf8').trim().split('\n')
    expect(modules).toContain('commander')
    const foreign = modules.filter((name) => !/^(?:node:|file:|data:|\.)/.test(name))
    // The table of settings, for the help of svc serve, imports nothing.
    const found = [...new Set(foreign)].filter((name) => name !== 'tsx').sort()
    expect(found).toEqual(['@svc/server/settings', 'commander'])
  })

  test('a reader that leaves early is no error', async () => {
    const loader = `--conditions=source --import ${import.meta.resolve('tsx')}`
    const bin = new URL('../src/bin.ts', import.meta.url).pathname
    const { stdout, stderr } = await sh(
      `${process.execPath} ${loader} ${bin} --help | head -1`,
      cwd,
    )
    expect({ stdout, stderr }).toEqual({ stdout: 'Usage: svc [options] [command]\n', stderr: '' })
  })
})
