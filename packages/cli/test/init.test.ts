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

/** Runs the command on a terminal and answers each question when it appears. */
async function answered(argv: readonly string[], answers: readonly string[]) {
  const stdin: InputStream & PassThrough = Object.assign(new PassThrough(), { isTTY: true })
  const stdout = new PassThrough()
  const stderr = new PassThrough()
  const unused = [...answers]
  let prompts = ''
  stderr.on('data', (chunk: Buffer) => {
    prompts += chunk
    if (!/[?\])] $/.test(String(chunk))) return
    const answer = unused.shift()
    if (answer === undefined) stdin.end()
    else stdin.write(`${answer}\n`)
  })
  const code = await run(argv, { env: {}, stdin, stdout, stderr, cwd })
  return { code, stdout: String(stdout.read() ?? ''), prompts, unused }
}

test('asks, writes the answers, and shows the next steps', async () => {
  const answers = ['0.0.0.0', '8080', '', './store', 'https://svc.example.com', '10.0.0.0/8', '25']
  const { code, stdout, prompts, unused } = await answered(['init'], answers)
  expect({ code, unused }).toEqual({ code: 0, unused: [] })
  expect(prompts).toContain('Which port? [3000] ')
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

test('repeats a question after an invalid answer, and skips questions that options answer', async () => {
  const { code, prompts } = await answered(
    ['init', '--host', '::1', '--data-dir', 'd'],
    ['eighty', '80', '', '', '0'],
  )
  expect(code).toBe(0)
  expect(prompts).toContain('PORT must be a number from 0 to 65535, got "eighty"')
  expect(prompts).not.toContain('Which address should it listen on')
  expect(prompts).not.toContain('proxies')
  expect(written()).toEqual({ host: '::1', port: 80, data_dir: './d', signup_credits: 0 })
})

test('writes a password to the file only when that is confirmed', async () => {
  const database = 'postgres://svc:canary@db.example/svc'
  const omitted = await answered(['init'], ['', '', database, '', '', '', 'n'])
  expect(omitted.code).toBe(0)
  expect(written()).not.toHaveProperty('database_url')
  expect(omitted.stdout).toContain('SVC_DATABASE_URL=postgres://svc:***@db.example/svc')
  expect(omitted.stdout).not.toContain('canary')
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
    stderr: 'svc: ./svc.config.json exists: --force replaces it\n',
  })
  expect(written()).toEqual({ port: 1 })
  expect((await answered(['init'], ['y', '', '', '', '', '', ''])).code).toBe(0)
  expect(written()).toMatchObject({ port: 3000 })
  expect((await svc(['init', '--yes', '--force', '--port', '5'], { cwd })).code).toBe(0)
  expect(written()).toEqual({ port: 5 })
})

test('keeps a symbolic link, and leaves no other file', async () => {
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

test('requires --yes without a terminal', async () => {
  const { code, stderr } = await svc(['init', '--port', '1'], { cwd })
  expect(code).toBe(2)
  expect(stderr).toContain('stdin is not a terminal: add --yes')
  expect(existsSync(file())).toBe(false)
})

test.each([
  ['--port', 'x', 'PORT must be'],
  ['--public-url', 'x', 'SVC_PUBLIC_URL must be'],
  ['--trust-proxy', 'x', 'SVC_TRUST_PROXY must'],
  ['--database', 'x', 'SVC_DATABASE_URL must be'],
])('refuses %s %s', async (option, value, text) => {
  const { code, stderr } = await svc(['init', '--yes', option, value], { cwd })
  expect(code).toBe(2)
  expect(stderr).toContain(text)
  expect(existsSync(file())).toBe(false)
})

test('writes the file of --config, with paths relative to its folder', async () => {
  mkdirSync(join(cwd, 'etc'))
  const argv = ['init', '--yes', '--config', 'etc/svc.json', '--data-dir', 'etc/data']
  const report = await svcJson(argv, { cwd })
  expect(report).toEqual({ config_file: './etc/svc.json', written: ['data_dir'], to_set: [] })
  expect(JSON.parse(readFileSync(join(cwd, 'etc', 'svc.json'), 'utf8'))).toEqual({
    data_dir: './data',
  })
})
