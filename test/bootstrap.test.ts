import { type ChildProcess, spawn } from 'node:child_process'
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { hostname, tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'

const SCRIPTS = new URL('../scripts/', import.meta.url)
const PROCESSES = new URL('bootstrap/processes.mjs', SCRIPTS).href
const LOCK = new URL('bootstrap/lock.mjs', SCRIPTS).href

let folder: string

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'svc-bootstrap-'))
})

afterEach(() => {
  rmSync(folder, { recursive: true, force: true })
})

interface Ended {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

/** Starts a program; `ended` resolves when it and all other processes that hold its output have ended. */
function start(
  command: string,
  args: readonly string[],
): { child: ChildProcess; ended: Promise<Ended> } {
  const child = spawn(command, args, { cwd: folder, stdio: ['ignore', 'pipe', 'pipe'] })
  const code = new Promise<number | null>((resolve) => child.once('exit', resolve))
  const ended = Promise.all([code, text(child.stdout), text(child.stderr)])
  return { child, ended: ended.then(([code, stdout, stderr]) => ({ code, stdout, stderr })) }
}

function module(source: string): string[] {
  return ['--input-type=module', '-e', source]
}

/** A program that runs `script` as the bootstrap runs its command. */
function running(script: string): string[] {
  return module(
    `import { runCommand } from '${PROCESSES}'
     process.exit(await runCommand(['node', '-e', ${JSON.stringify(script)}]))`,
  )
}

/** A service that prints when it is ready, and ends cleanly on a signal. */
const SERVICE = `
  setInterval(() => {}, 1000)
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'])
    process.on(signal, () => { console.log('told', signal); setTimeout(() => process.exit(7), 50) })
  require('fs').writeFileSync('up', '')`

async function untilUp(): Promise<void> {
  await expect.poll(() => existsSync(join(folder, 'up')), { timeout: 10_000 }).toBe(true)
}

describe('the bootstrap', () => {
  it('prints one line for a Node that is too old', async () => {
    cpSync(fileURLToPath(SCRIPTS), join(folder, 'scripts'), { recursive: true })
    writeFileSync(join(folder, 'package.json'), '{"engines":{"node":"^1.2 || >=99"}}')
    const { code, stdout, stderr } = await start('node', ['scripts/bootstrap.mjs']).ended
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
    expect(stderr).toMatch(/^svc: Node\.js \^1\.2 \|\| >=99 is needed, and this is v\d.*\n$/)
  })
})

describe('runCommand', () => {
  it('ends with the exit code of the command and does not change its output', async () => {
    const ended = await start('node', running("console.log('out'); process.exit(3)")).ended
    expect(ended).toEqual({ code: 3, stdout: 'out\n', stderr: '' })
  })

  it('ends with 128 + n when signal n killed the command', async () => {
    const { code } = await start('node', running("process.kill(process.pid, 'SIGKILL')")).ended
    expect(code).toBe(137)
  })

  it.each(['SIGINT', 'SIGTERM', 'SIGHUP'] as const)('passes %s on', async (signal) => {
    const { child, ended } = start('node', running(SERVICE))
    await untilUp()
    child.kill(signal)
    expect(await ended).toEqual({ code: 7, stdout: `told ${signal}\n`, stderr: '' })
  })

  it('ends the command when its own parent dies', async () => {
    const quoted = running(SERVICE).map((arg) => `'${arg.replaceAll("'", "'\\''")}'`)
    const { child, ended } = start('sh', ['-c', `node ${quoted.join(' ')}; true`])
    await untilUp()
    child.kill('SIGKILL')
    expect((await ended).stdout).toBe('told SIGTERM\n')
  })
})

describe('withLock', () => {
  const working = module(
    `import { appendFileSync } from 'node:fs'
     import { withLock } from '${LOCK}'
     await withLock('.lock', async () => {
       appendFileSync('log', 'in ')
       await new Promise((resolve) => setTimeout(resolve, 100))
       appendFileSync('log', 'out ')
     })`,
  )

  function log(): string {
    return readFileSync(join(folder, 'log'), 'utf8')
  }

  it('lets one process in at a time', async () => {
    await Promise.all([1, 2, 3, 4].map(() => start('node', working).ended))
    expect(log()).toBe('in out '.repeat(4))
  })

  it('is taken over from a process that died with it', async () => {
    const dying = `import { withLock } from '${LOCK}'\n`
    await start(
      'node',
      module(`${dying}await withLock('.lock', () => process.kill(process.pid, 'SIGKILL'))`),
    ).ended
    expect(JSON.parse(readFileSync(join(folder, '.lock/lock'), 'utf8'))).toMatchObject({
      host: hostname(),
    })
    await Promise.all([1, 2, 3].map(() => start('node', working).ended))
    expect(log()).toBe('in out '.repeat(3))
    expect(existsSync(join(folder, '.lock/lock'))).toBe(false)
  })

  it('is released by a process that exits in the middle of its work', async () => {
    const exiting = `import { withLock } from '${LOCK}'\nawait withLock('.lock', () => process.exit(0))`
    await start('node', module(exiting)).ended
    expect(existsSync(join(folder, '.lock/lock'))).toBe(false)
  })
})
