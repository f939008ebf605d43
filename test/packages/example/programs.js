// Starts the programs of an example, as its README does.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { after } from 'node:test'

const running = new Set()

after(() => {
  for (const child of running) child.kill('SIGKILL')
})

/**
 * Starts a program, and waits for the line of its output that has a URL or is JSON. `lines` is its whole output. The
 * program ends with the test.
 */
export async function startProgram(command, args, env = {}) {
  const child = spawn(command, args, {
    env: { ...process.env, PORT: '0', ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  running.add(child)
  child.once('exit', () => running.delete(child))
  const lines = []
  const output = createInterface({ input: child.stdout })
  const first = await new Promise((resolve, reject) => {
    child.once('exit', (code) => reject(new Error(`${command} ${args[0]} ended with ${code}`)))
    output.on('line', (line) => {
      lines.push(line)
      if (/^\{|http:\/\//.test(line)) resolve(line)
    })
  })
  const url = /http:\/\/[\w.]+:\d+/.exec(first)?.[0].replace('localhost', '127.0.0.1')
  return {
    first,
    url,
    lines,
    async stop() {
      const ended = once(child, 'exit')
      child.kill('SIGTERM')
      return (await ended)[0]
    },
  }
}

/** Starts `svc dev` with a sandbox, and returns its `url` and `api_key`. */
export async function startService() {
  const { first } = await startProgram('node_modules/.bin/svc', [
    ...['dev', '--json', '--data-dir', './service'],
  ])
  return JSON.parse(first)
}

/** Posts JSON. */
export async function post(url, body, headers = {}) {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  })
  const text = await response.text()
  return { status: response.status, body: text === '' ? null : JSON.parse(text) }
}

/** Waits until `read` returns a value that is true. */
export async function until(read) {
  for (;;) {
    const value = await read()
    if (value) return value
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
}
