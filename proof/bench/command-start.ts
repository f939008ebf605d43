import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { inFolder } from '../stage/service.ts'
import { type BenchOptions, count, type Figure, median } from './figure.ts'

const SVC = fileURLToPath(new URL('../../packages/cli/bin/svc.js', import.meta.url))
const MESSAGE = { channel: 'sms', to: '+15005550006', content: { text: 'Hello' } }

/** The maximum CPU time of `svc send` above the CPU time of an empty Node program. */
const SEND_CPU_MAX_MS = 150

/** Writes the CPU time of a program at its end, in ms. */
const REPORT_CPU = `process.on('exit', () => {
  const { user, system } = process.cpuUsage()
  require('node:fs').writeSync(3, String((user + system) / 1000))
})`

interface Dev {
  url: string
  api_key: string
}

/** The start time of the command, beside an empty Node program; and `svc send`, beside only its request. CPU time too. */
export async function run({ quick }: BenchOptions): Promise<Figure[]> {
  return inFolder(async (folder) => {
    const env = { ...process.env, SVC_DATA_DIR: folder, SVC_RATE_LIMIT_GENERAL: '100000/60' }
    const { child, dev } = await startDev(env)
    const preload = join(folder, 'report-cpu.cjs')
    writeFileSync(preload, REPORT_CPU)
    try {
      return await measured(dev, { env, preload, times: quick ? 5 : 20 })
    } finally {
      child.kill('SIGTERM')
      await once(child, 'close')
    }
  })
}

async function measured(
  { url, api_key }: Dev,
  { env, preload, times }: { env: NodeJS.ProcessEnv; preload: string; times: number },
): Promise<Figure[]> {
  const send = ['send', '--to', MESSAGE.to, '--text', MESSAGE.content.text]
  const at = ['--url', url, '--key', api_key]
  const taken: Record<'node' | 'help' | 'send' | 'request', number[]> = {
    node: [],
    help: [],
    send: [],
    request: [],
  }
  const cpu = { node: [] as number[], send: [] as number[] }
  // In turn, so that other work on the machine affects all of them; the first round warms up.
  for (let i = 0; i <= times; i++) {
    const round = {
      node: await timeOf(['-e', '0'], env),
      help: await timeOf([SVC, '--help'], env),
      send: await timeOf([SVC, ...send, ...at], env),
      request: await timeOfRequest(url, api_key),
    }
    const used = {
      node: await cpuOf(['--require', preload, '-e', '0'], env),
      send: await cpuOf(['--require', preload, SVC, ...send, ...at], env),
    }
    if (i === 0) continue
    for (const name of ['node', 'send'] as const) cpu[name].push(used[name])
    for (const name of ['node', 'help', 'send', 'request'] as const) taken[name].push(round[name])
  }
  const node = median(taken.node)
  const help = median(taken.help)
  const above = median(taken.send) - median(taken.request)
  const idle = `node -e 0 ${count(node)} ms`
  return [
    { name: 'svc --help', value: help, unit: 'ms', raw: `${idle}; at most 150 on a warm machine` },
    { name: 'svc --help : node -e 0', value: help / node, unit: 'x', raw: rangeOf(taken.help) },
    {
      name: 'svc send above its request',
      value: above,
      unit: 'ms',
      raw: `the request ${count(median(taken.request))} ms; at most 250 on a warm machine`,
    },
    {
      name: 'svc send, CPU above node -e 0',
      value: median(cpu.send) - median(cpu.node),
      unit: 'ms',
      floor: SEND_CPU_MAX_MS,
      raw: `${count(median(cpu.send))} ms, node -e 0 ${count(median(cpu.node))} ms`,
    },
    { name: 'svc send : node -e 0', value: above / node, unit: 'x', raw: rangeOf(taken.send) },
  ]
}

async function startDev(env: NodeJS.ProcessEnv): Promise<{ child: ChildProcess; dev: Dev }> {
  const child = spawn(process.execPath, [SVC, 'dev', '--port', '0', '--json'], {
    env,
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  const lines = createInterface({ input: child.stdout })
  for await (const line of lines) return { child, dev: JSON.parse(line) as Dev }
  throw new Error('svc dev ended before it printed its address')
}

async function timeOf(argv: string[], env: NodeJS.ProcessEnv): Promise<number> {
  const from = performance.now()
  const child = spawn(process.execPath, argv, { env, stdio: 'ignore' })
  const [code] = await once(child, 'close')
  if (code !== 0) throw new Error(`${argv.join(' ')} ended with ${code}`)
  return performance.now() - from
}

async function cpuOf(argv: string[], env: NodeJS.ProcessEnv): Promise<number> {
  const child = spawn(process.execPath, argv, {
    env,
    stdio: ['ignore', 'ignore', 'ignore', 'pipe'],
  })
  const reported = text(child.stdio[3] as Readable)
  const [code] = await once(child, 'close')
  if (code !== 0) throw new Error(`${argv.join(' ')} ended with ${code}`)
  return Number(await reported)
}

async function timeOfRequest(url: string, key: string): Promise<number> {
  const from = performance.now()
  const response = await fetch(`${url}/api/v1/messages/send`, {
    method: 'POST',
    headers: { 'x-api-key': key, 'content-type': 'application/json' },
    body: JSON.stringify(MESSAGE),
  })
  await response.arrayBuffer()
  if (!response.ok) throw new Error(`the request was answered with ${response.status}`)
  return performance.now() - from
}

function rangeOf(times_ms: readonly number[]): string {
  return `median of ${times_ms.length}, ${count(Math.min(...times_ms))}–${count(Math.max(...times_ms))} ms`
}
