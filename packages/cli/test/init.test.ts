import {
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { InputStream } from '../src/process/process-io.ts'
import { run } from '../src/program.ts'
import { newFolder, svc, svcJson } from './svc.ts'

let folder: ReturnType<typeof newFolder>
let cwd: string
const file = () => join(cwd, 'svc.config.json')
const written = () => JSON.parse(readFileSync(file(), 'utf8')) as Record<string, unknown>

beforeEach(() => {
  folder = newFolder()
  cwd = folder.path
})

afterEach(() => folder.remove())

/** Answers the questions of a run on a terminal, each when it is asked. */
async function answered(argv: readonly string[], answers: readonly string[]) {
  const stdin: InputStream & PassThrough = Object.assign(new PassThrough(), { isTTY: true })
  const stdout = new PassThrough()
  const stderr = new PassThrough()
  const left = [...answers]
  let asked = ''
  stderr.on('data', (chunk: Buffer) => {
    asked += chunk
    if (!/[?\])] $/.test(String(chunk))) return
    const answer = left.shift()
    if (answer === undefined) stdin.end()
    else stdin.write(`${answer}\n`)
  })
  const code = await run(argv, { env: {}, stdin, stdout, stderr, cwd })
  return { code, stdout: String(stdout.read() ?? ''), asked, left }
}

test('asks, writes the answers, and says what to do next', async () => {
  const answers = ['0.0.0.0', '8080', '', './store', 'https://svc.example.com', '10.0.0.0/8', '25']
  const { code, stdout, asked, left } = await answered(['init'], answers)
  expect({ code, left }).toEqual({ code: 0, left: [] })
  expect(asked).toContain('Which port? [3000] ')
  expect(written()).toEqual({
    host: '0.0.0.0',
    port: 8080,
    data_dir: './store',
    public_url: 'https://svc.example.com',
    trust_proxy: ['10.0.0.0/8'],
    signup_credits: 25,
  })
  expect(stdout).toContain('the port it listens on')
  expect(stdout).toContain('svc config check')
  expect(await svc(['config', 'check'], { cwd })).toMatchObject({ code: 0 })
})

test('asks again what cannot be meant, and only what is left', async () => {
  const { code, asked } = await answered(
    ['init', '--host', '::1', '--data-dir', 'd'],
    ['eighty', '80', '', '', '0'],
  )
  expect(code).toBe(0)
  expect(asked).toContain('PORT must be a number from 0 to 65535, got "eighty"')
  expect(asked).not.toContain('Which address to listen on')
  expect(asked).not.toContain('proxies')
  expect(written()).toEqual({ host: '::1', port: 80, data_dir: './d', signup_credits: 0 })
})

test('leaves a password to the environment, unless it is to be written', async () => {
  const database = 'postgres://svc:canary@db.example/svc'
  const left = await answered(['init'], ['', '', database, '', '', '', 'n'])
  expect(left.code).toBe(0)
  expect(written()).not.toHaveProperty('database_url')
  expect(left.stdout).toContain('SVC_DATABASE_URL=postgres://svc:***@db.example/svc')
  expect(left.stdout).not.toContain('canary')
  expect(statSync(file()).mode & 0o777).toBe(0o644)
  const kept = await answered(['init', '--force'], ['', '', database, '', '', '', 'y'])
  expect(kept.code).toBe(0)
  expect(written()).toMatchObject({ database_url: database })
  expect(statSync(file()).mode & 0o777).toBe(0o600)
  expect(kept.stdout).not.toContain('canary')
})

test('writes nothing when the terminal is closed', async () => {
  const { code } = await answered(['init'], ['', '80'])
  expect(code).toBe(1)
  expect(existsSync(file())).toBe(false)
})

test('replaces a file only when that is confirmed', async () => {
  writeFileSync(file(), '{"port":1}')
  expect((await answered(['init'], ['n'])).code).toBe(1)
  expect(written()).toEqual({ port: 1 })
  expect(await svc(['init', '--yes'], { cwd })).toMatchObject({
    code: 2,
    stderr: 'svc: ./svc.config.json is there already: --force replaces it\n',
  })
  expect(written()).toEqual({ port: 1 })
  expect((await answered(['init'], ['y', '', '', '', '', '', ''])).code).toBe(0)
  expect(written()).toMatchObject({ port: 3000 })
  expect((await svc(['init', '--yes', '--force', '--port', '5'], { cwd })).code).toBe(0)
  expect(written()).toEqual({ port: 5 })
})

test('a link stays one, and nothing else is left behind', async () => {
  mkdirSync(join(cwd, 'etc'))
  writeFileSync(join(cwd, 'etc', 'real.json'), '{}')
  symlinkSync(join('etc', 'real.json'), file())
  expect((await svc(['init', '--yes', '--force', '--port', '5'], { cwd })).code).toBe(0)
  expect(JSON.parse(readFileSync(join(cwd, 'etc', 'real.json'), 'utf8'))).toEqual({ port: 5 })
  expect(lstatSync(file()).isSymbolicLink()).toBe(true)
  mkdirSync(join(cwd, 'folder'))
  const { code, stderr } = await svc(['init', '--yes', '--force', '--config', 'folder'], { cwd })
  expect(code).toBe(2)
  expect(stderr).toContain('cannot write ./folder')
  expect(readdirSync(cwd).sort()).toEqual(['etc', 'folder', 'svc.config.json'])
})

test('without a terminal it wants --yes', async () => {
  const { code, stderr } = await svc(['init', '--port', '1'], { cwd })
  expect(code).toBe(2)
  expect(stderr).toContain('no terminal to ask: give --yes')
  expect(existsSync(file())).toBe(false)
})

test.each([
  ['--port', 'x', 'PORT must be'],
  ['--public-url', 'x', 'SVC_PUBLIC_URL must be'],
  ['--trust-proxy', 'x', 'SVC_TRUST_PROXY must'],
  ['--database', 'x', 'SVC_DATABASE_URL must be'],
])('%s %s is refused by the reader of a start', async (option, value, text) => {
  const { code, stderr } = await svc(['init', '--yes', option, value], { cwd })
  expect(code).toBe(2)
  expect(stderr).toContain(text)
  expect(existsSync(file())).toBe(false)
})

test('writes where --config says, with paths that count from there', async () => {
  mkdirSync(join(cwd, 'etc'))
  const argv = ['init', '--yes', '--config', 'etc/svc.json', '--data-dir', 'etc/data']
  const told = await svcJson(argv, { cwd })
  expect(told).toEqual({ config_file: './etc/svc.json', written: ['data_dir'], to_set: [] })
  expect(JSON.parse(readFileSync(join(cwd, 'etc', 'svc.json'), 'utf8'))).toEqual({
    data_dir: './data',
  })
})
