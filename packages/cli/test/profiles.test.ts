import {
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { InputStream } from '../src/process/process-io.ts'
import { run } from '../src/program.ts'
import { newFolder, svc, svcJson } from './svc.ts'

const KEY = 'svc_live_0123456789abcdef0123456789'
let folder: ReturnType<typeof newFolder>
let env: NodeJS.ProcessEnv
const servers: Server[] = []

beforeEach(() => {
  folder = newFolder()
  env = { XDG_CONFIG_HOME: join(folder.path, 'config') }
})

afterEach(async () => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  }
  folder.remove()
})

const kept = () => join(folder.path, 'config', 'svc', 'profiles.json')
const profiles = (...argv: string[]) => svc(['profiles', ...argv], { env })
const list = (more: NodeJS.ProcessEnv, ...argv: string[]) =>
  svc(['messages', 'list', ...argv], { env: { ...env, ...more }, cwd: folder.path })

/** A server that answers 401 and records the keys of the requests. */
async function server(): Promise<{ url: string; keys: unknown[] }> {
  const keys: unknown[] = []
  const listening = createServer((request, response) => {
    keys.push(request.headers['x-api-key'])
    response.writeHead(401).end('{"success":false,"error":"unauthorized","message":"No"}')
  })
  servers.push(listening)
  await new Promise<void>((resolve) => listening.listen(0, '127.0.0.1', resolve))
  return { url: `http://127.0.0.1:${(listening.address() as AddressInfo).port}`, keys }
}

describe('svc profiles', () => {
  test('saves servers in a file for the owner only, and shows keys in part', async () => {
    expect(await profiles('list')).toMatchObject({ code: 0, stdout: '' })
    const added = await profiles('add', 'prod', '--url', 'https://svc.example.com/', '--key', KEY)
    expect(added).toMatchObject({
      code: 0,
      stdout: `prod is https://svc.example.com, and in use. Saved in ${kept()}.\n`,
    })
    expect(statSync(kept()).mode & 0o777).toBe(0o600)
    expect(statSync(join(kept(), '..')).mode & 0o777).toBe(0o700)
    const { stdout } = await profiles('list')
    expect(stdout).toBe('prod\thttps://svc.example.com\tsvc_live…\tin use\n')
    expect(await svcJson(['profiles', 'list'], { env })).toEqual({
      profiles: [{ name: 'prod', url: 'https://svc.example.com', key: 'svc_live…', is_used: true }],
    })
  })

  test('reads the key from stdin', async () => {
    const argv = ['profiles', 'add', 'piped', '--url', 'http://a.example', '--key-stdin', '--yes']
    expect((await svc(argv, { env, cwd: folder.path, stdin: `${KEY}\n` })).code).toBe(0)
    expect(readFileSync(kept(), 'utf8')).toContain(`"${KEY}"`)
    const empty = await svc(argv, { env, cwd: folder.path })
    expect(empty).toMatchObject({
      code: 2,
      stderr: 'svc: stdin has no API key in its first line\n',
    })
    await profiles('remove', 'piped', '--yes')
  })

  test('uses the first profile, then the chosen one', async () => {
    await profiles('add', 'a', '--url', 'http://a.example', '--key', KEY)
    await profiles('add', 'b', '--url', 'http://b.example', '--key', KEY)
    const used = async () => JSON.parse(readFileSync(kept(), 'utf8')).used
    expect(await used()).toBe('a')
    await profiles('use', 'b')
    expect(await used()).toBe('b')
    await profiles('add', 'c', '--url', 'http://c.example', '--key', KEY, '--use')
    expect(await used()).toBe('c')
    expect((await profiles('remove', 'c', '--yes')).stderr).toContain('No profile is in use now')
    expect(await used()).toBeNull()
    expect(await profiles('use', 'c')).toMatchObject({
      code: 1,
      stderr: 'svc: there is no profile "c": svc profiles list shows them\n',
    })
  })

  test('asks before it replaces or removes a profile', async () => {
    await profiles('add', 'a', '--url', 'http://a.example', '--key', KEY)
    expect(await profiles('remove', 'a')).toMatchObject({ code: 2 })
    const again = ['add', 'a', '--url', 'http://b.example', '--key', KEY]
    expect(await profiles(...again)).toMatchObject({ code: 2 })
    expect(readFileSync(kept(), 'utf8')).toContain('http://a.example')
    expect(await profiles(...again, '--yes')).toMatchObject({ code: 0 })
    expect(readFileSync(kept(), 'utf8')).toContain('http://b.example')
  })

  test('asks for the key on a terminal and hides it', async () => {
    const stdin: InputStream & PassThrough = Object.assign(new PassThrough(), { isTTY: true })
    const stderr = new PassThrough()
    stderr.on('data', (chunk) => {
      if (String(chunk) === 'API key: ') stdin.write(`${KEY}\r`)
    })
    const stdout = new PassThrough()
    const argv = ['profiles', 'add', 'a', '--url', 'http://a.example']
    expect(await run(argv, { env, stdin, stdout, stderr, cwd: folder.path })).toBe(0)
    expect(readFileSync(kept(), 'utf8')).toContain(KEY)
    expect(String(stdout.read())).not.toContain(KEY)
    expect(await profiles('add', 'b', '--url', 'http://b.example')).toMatchObject({
      code: 2,
      stderr: 'svc: stdin is not a terminal: pipe the key in with --key-stdin\n',
    })
  })

  test.each([
    ['an invalid name', ['add', 'a/b', '--url', 'http://x', '--key', KEY]],
    ['the name of an object member', ['use', '__proto__']],
    ['an invalid address', ['add', 'a', '--url', 'x', '--key', KEY]],
    ['an address with a password', ['add', 'a', '--url', 'http://u:canary@x', '--key', KEY]],
    ['an invalid address with a password', ['add', 'a', '--url', 'htp://u:canary@x', '--key', KEY]],
    ['an address with a query', ['add', 'a', '--url', 'http://x/?token=canary', '--key', KEY]],
    [
      'a key with characters that no header can have',
      ['add', 'a', '--url', 'http://x', '--key', 'é'],
    ],
  ])('refuses %s', async (_, argv) => {
    const { code, stderr } = await profiles(...argv)
    expect([1, 2]).toContain(code)
    expect(stderr).toMatch(/^svc: [^\n]*\n$/)
    expect(stderr).not.toContain('canary')
  })

  test.each(['', '{', '[]', '{"profiles":{"a":{"url":1}}}', '{"profiles":{"a":null}}', 'null'])(
    'reports a file that contains %j, and does not change it',
    async (text) => {
      mkdirSync(join(kept(), '..'), { recursive: true })
      writeFileSync(kept(), text)
      const { code, stderr } = await profiles('add', 'a', '--url', 'http://x', '--key', KEY)
      expect({ code, stderr }).toEqual({
        code: 2,
        stderr: `svc: ${kept()} has an unknown format: repair or remove it\n`,
      })
      expect(readFileSync(kept(), 'utf8')).toBe(text)
    },
  )

  test('keeps all profiles that are added at the same time', async () => {
    const names = Array.from({ length: 12 }, (_, i) => `p${i}`)
    const add = (name: string) => profiles('add', name, '--url', 'http://x.example', '--key', KEY)
    const ended = await Promise.all(names.map(add))
    expect(ended.map(({ stderr }) => stderr).join('')).toBe('')
    const { profiles: written } = JSON.parse(readFileSync(kept(), 'utf8'))
    expect(Object.keys(written).sort()).toEqual([...names].sort())
    expect(readdirSync(join(kept(), '..'))).toEqual(['profiles.json'])
  })

  test('removes the draft of a process that died', async () => {
    mkdirSync(join(kept(), '..'), { recursive: true })
    writeFileSync(`${kept()}.new`, '{"used":')
    utimesSync(`${kept()}.new`, 1, 1)
    const added = await profiles('add', 'a', '--url', 'http://a.example', '--key', KEY)
    expect(added).toMatchObject({ code: 0 })
    expect(readdirSync(join(kept(), '..'))).toEqual(['profiles.json'])
  })

  test('keeps a symbolic link', async () => {
    mkdirSync(join(kept(), '..'), { recursive: true })
    const target = join(folder.path, 'dotfiles.json')
    writeFileSync(target, '{"used":null,"profiles":{}}')
    symlinkSync(target, kept())
    await profiles('add', 'a', '--url', 'http://a.example', '--key', KEY)
    expect(lstatSync(kept()).isSymbolicLink()).toBe(true)
    expect(JSON.parse(readFileSync(target, 'utf8'))).toMatchObject({ used: 'a' })
    expect(statSync(target).mode & 0o777).toBe(0o600)
  })

  test('ignores a relative XDG_CONFIG_HOME', async () => {
    const argv = ['profiles', 'add', 'a', '--url', 'http://x', '--key', KEY]
    const ended = await svc(argv, { env: { XDG_CONFIG_HOME: 'here', HOME: folder.path } })
    expect(ended.stdout).toContain(join(folder.path, '.config', 'svc', 'profiles.json'))
  })

  test('refuses to add a profile without a home folder', async () => {
    const argv = ['profiles', 'add', 'a', '--url', 'http://x', '--key', KEY]
    expect(await svc(argv)).toMatchObject({ code: 2, stderr: expect.stringContaining('HOME') })
  })
})

describe('a client command', () => {
  test('reads options, environment, profile, file and svc dev, in this order', async () => {
    const [there, staging] = [await server(), await server()]
    const dev = {
      url: there.url,
      api_key: 'k_dev',
      workspace: { id: '1', email: 'a', password: null },
    }
    mkdirSync(join(folder.path, 'data'))
    writeFileSync(join(folder.path, 'data', 'dev.json'), JSON.stringify(dev))
    await list({})
    const file = { url: there.url, api_key: 'k_file' }
    writeFileSync(join(folder.path, 'svc.config.json'), JSON.stringify(file), { mode: 0o600 })
    await list({})
    await profiles('add', 'here', '--url', there.url, '--key', 'k_used')
    await profiles('add', 'staging', '--url', staging.url, '--key', 'k_staging')
    await list({})
    await list({ SVC_PROFILE: 'staging' })
    await list({}, '--profile', 'staging')
    await list({ SVC_URL: there.url, SVC_API_KEY: 'k_env' })
    await list({ SVC_API_KEY: 'k_env' }, '--key', 'k_option')
    expect(there.keys).toEqual(['k_dev', 'k_file', 'k_used', 'k_env', 'k_option'])
    expect(staging.keys).toEqual(['k_staging', 'k_staging'])
  })

  test('never sends the key of one address to another', async () => {
    const elsewhere = await server()
    const file = { url: 'http://127.0.0.1:9', api_key: 'k_file' }
    writeFileSync(join(folder.path, 'svc.config.json'), JSON.stringify(file), { mode: 0o600 })
    await profiles('add', 'prod', '--url', 'http://127.0.0.1:10', '--key', 'k_prod')
    const tries = [
      await list({}, '--url', elsewhere.url),
      await list({}, '--url', elsewhere.url, '--profile', 'prod'),
      await list({ SVC_URL: elsewhere.url }),
      await list({ SVC_PROFILE: 'prod' }, '--url', elsewhere.url),
    ]
    for (const { code, stderr } of tries) {
      expect(code).toBe(2)
      expect(stderr).toBe(`svc: no API key for ${elsewhere.url}: give SVC_API_KEY or --key-stdin\n`)
    }
    const env = { SVC_URL: 'http://127.0.0.1:11', SVC_API_KEY: 'k_env' }
    expect(await list(env, '--url', elsewhere.url)).toMatchObject({
      code: 2,
      stderr: `svc: no API key for ${elsewhere.url}: give --key-stdin (SVC_API_KEY belongs to SVC_URL)\n`,
    })
    expect(elsewhere.keys).toEqual([])
    await profiles('add', 'bare', '--url', elsewhere.url, '--key', 'k_bare')
    await list({}, '--profile', 'bare')
    expect(elsewhere.keys).toEqual(['k_bare'])
  })

  test('refuses an unknown profile, and one that the environment would override', async () => {
    expect(await list({}, '--profile', 'x')).toMatchObject({
      code: 2,
      stderr: 'svc: there is no profile "x": svc profiles list shows them\n',
    })
    await profiles('add', 'x', '--url', 'http://127.0.0.1:9', '--key', 'k')
    expect(await list({ SVC_API_KEY: 'y' }, '--profile', 'x')).toMatchObject({
      code: 2,
      stderr: 'svc: SVC_API_KEY is set and overrides --profile: unset one of them\n',
    })
    expect(await list({ SVC_URL: 'http://127.0.0.1:9', SVC_PROFILE: 'x' })).toMatchObject({
      code: 2,
      stderr: 'svc: SVC_URL is set and overrides SVC_PROFILE: unset one of them\n',
    })
  })

  test('reads no other source when address and key are given', async () => {
    const there = await server()
    mkdirSync(join(kept(), '..'), { recursive: true })
    writeFileSync(kept(), '{')
    const file = { url: 'nope', api_key: 'k_file' }
    writeFileSync(join(folder.path, 'svc.config.json'), JSON.stringify(file), { mode: 0o600 })
    await list({}, '--url', there.url, '--key', 'k_option')
    await list({ SVC_API_KEY: 'k_env' }, '--url', there.url)
    await list({ SVC_URL: there.url, SVC_API_KEY: 'k_pair' })
    expect(there.keys).toEqual(['k_option', 'k_env', 'k_pair'])
    expect((await list({}, '--url', there.url)).stderr).toContain('has an unknown format')
  })
})
