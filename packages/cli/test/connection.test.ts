import { mkdirSync, writeFileSync } from 'node:fs'
import { createServer, type RequestListener, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { afterAll, afterEach, describe, expect, test } from 'vitest'
import { newFolder, svc } from './svc.ts'

const folder = newFolder()
const servers: Server[] = []
const message = 'Invalid API key'

/** A server that answers with `answer` and records the keys of the requests. */
async function serverThat(answer: RequestListener): Promise<{ url: string; keys: unknown[] }> {
  const keys: unknown[] = []
  const server = createServer((request, response) => {
    keys.push(request.headers['x-api-key'])
    answer(request, response)
  })
  servers.push(server)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, keys }
}

const refuse: RequestListener = (_, response) => {
  response.writeHead(401).end(JSON.stringify({ success: false, error: 'unauthorized', message }))
}

function remember(url: string): void {
  mkdirSync(join(folder.path, 'data'), { recursive: true })
  const content = { url, api_key: 'svc_dev', workspace: { id: '1', email: 'a@b', password: null } }
  writeFileSync(join(folder.path, 'data', 'dev.json'), JSON.stringify(content))
}

async function closeAll(): Promise<void> {
  for (const server of servers.splice(0)) {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  }
}

afterEach(closeAll)

afterAll(() => folder.remove())

describe('the connection', () => {
  test('reads the options, then the environment, then the file of svc dev', async () => {
    const { url, keys } = await serverThat(refuse)
    remember(url)
    const cwd = folder.path
    const env = { SVC_URL: `${url}/`, SVC_API_KEY: 'svc_env' }
    await svc(['messages', 'list'], { cwd })
    await svc(['messages', 'list'], { cwd, env })
    await svc(['messages', 'list', '--key', 'svc_option', '--url', `${url}/api/v1`], { cwd, env })
    expect(keys).toEqual(['svc_dev', 'svc_env', 'svc_option'])
  })

  test('prefers the key on stdin to that of the environment', async () => {
    const { url, keys } = await serverThat(refuse)
    const cwd = folder.path
    const env = { SVC_URL: url, SVC_API_KEY: 'svc_env' }
    const argv = ['messages', 'list', '--key-stdin']
    await svc(argv, { cwd, env, stdin: 'svc_stdin\nmore\n' })
    await svc([...argv, '--url', url], { cwd, stdin: 'svc_piped' })
    expect(keys).toEqual(['svc_stdin', 'svc_piped'])
    for (const stdin of ['', '\n']) {
      const { code, stderr } = await svc(argv, { cwd, env, stdin })
      expect([code, stderr]).toEqual([2, 'svc: stdin has no API key in its first line\n'])
    }
    const both = await svc([...argv, '--key', 'svc_x'], { cwd, env, stdin: 'svc_stdin' })
    expect([both.code, both.stderr]).toEqual([2, 'svc: give --key or --key-stdin, not both\n'])
    expect(keys).toHaveLength(2)
  })

  test('refuses stdin as both the key and the message', async () => {
    const { url, keys } = await serverThat(refuse)
    const argv = ['send', '--to', '+12', '--text', '-', '--key-stdin', '--url', url]
    const { code, stderr } = await svc(argv, { cwd: folder.path, stdin: 'svc_stdin' })
    expect([code, keys]).toEqual([2, []])
    expect(stderr).toMatch(/^svc: another option reads stdin: set SVC_API_KEY, or use a file/)
  })

  test('warns in the help that other users see --key', async () => {
    for (const command of [['send'], ['messages', 'list'], ['profiles', 'add']]) {
      const { stdout } = await svc([...command, '--help'])
      expect(stdout).toContain('--key-stdin')
      expect(stdout.replaceAll(/\s+/g, ' ')).toContain(
        'other users of this machine can see it in the list of processes',
      )
    }
  })

  test('sends the key of svc dev to its own server only', async () => {
    const { url, keys } = await serverThat(refuse)
    remember('http://127.0.0.1:9')
    const { code, stderr } = await svc(['messages', 'list', '--url', url], { cwd: folder.path })
    expect(keys).toEqual([])
    expect(code).toBe(2)
    expect(stderr).toBe(`svc: no API key for ${url}: give SVC_API_KEY or --key-stdin\n`)
  })

  test('names the missing file in a folder without svc dev', async () => {
    const empty = newFolder()
    const { code, stderr } = await svc(['messages', 'list'], { cwd: empty.path })
    empty.remove()
    expect(code).toBe(2)
    expect(stderr).toBe(
      'svc: no API key: give SVC_API_KEY or --key-stdin, or start svc dev (there is no ./data/dev.json yet)\n',
    )
  })

  test.each([
    ['an invalid address', ['--url', 'localhost:3000', '--key', 'svc_x'], /http or https/],
    [
      'a key with characters that no header can have',
      ['--key', 'svc_abc…'],
      /characters that no key has/,
    ],
  ])('exits with 2 for %s', async (_, options, text) => {
    const { code, stderr } = await svc(['messages', 'list', ...options])
    expect(code).toBe(2)
    expect(stderr).toMatch(text)
    expect(stderr).not.toContain('svc_')
  })
})

describe('an error of the server', () => {
  test('is reported with a hint', async () => {
    const { url } = await serverThat(refuse)
    const argv = ['messages', 'list', '--url', url, '--key', 'svc_x']
    const { code, stdout, stderr } = await svc(argv)
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
    expect(stderr).toBe(`svc: ${message} (give a valid key with SVC_API_KEY or --key-stdin)\n`)
    const machine = await svc([...argv, '--json'])
    expect(JSON.parse(machine.stderr)).toEqual({ error: 'unauthorized', message })
  })

  test('exits with 3 when the server is unreachable', async () => {
    const gone = await serverThat(refuse)
    await closeAll()
    const argv = ['send', '--to', '+12', '--text', 'x', '--url', gone.url, '--key', 'svc_x']
    const { code, stderr } = await svc(argv)
    expect(code).toBe(3)
    expect(stderr).toBe(
      `svc: ${gone.url} cannot be reached (ECONNREFUSED): start the server with svc dev, or give its address with --url\n`,
    )
    const machine = await svc([...argv, '--json'])
    expect(machine.code).toBe(3)
    expect(JSON.parse(machine.stderr)).toMatchObject({ error: 'unreachable' })
  })

  test('reports a redirect, and does not send the key there', async () => {
    const there = await serverThat(refuse)
    const { url } = await serverThat((_, response) => {
      response.writeHead(301, { location: there.url }).end()
    })
    const { code, stderr } = await svc(['messages', 'list', '--url', url, '--key', 'svc_x'])
    expect(code).toBe(1)
    expect(stderr).toContain(`redirects to ${there.url}: give the final address with --url`)
    expect(there.keys).toEqual([])
  })

  test('shows the answer of another kind of server', async () => {
    const { url } = await serverThat((_, response) => {
      response.writeHead(404).end('<html>')
    })
    const { code, stderr } = await svc(['messages', 'list', '--url', url, '--key', 'svc_x'])
    expect(code).toBe(1)
    expect(stderr).toMatch(
      new RegExp(`^svc: [^\\n]*${url} answered GET /api/v1/messages with status 404[^\\n]*\\n$`),
    )
  })
})
