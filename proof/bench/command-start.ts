import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { finish, start, type Where } from '../stage/command.ts'
import { BUILT_COMMAND } from '../stage/serve.ts'
import { onStage } from '../stage/stage.ts'
import { type BenchOptions, count, type Figure, median, timesText } from './figure.ts'
import { inTurns } from './rounds.ts'

const READY_MAX_MS = 120_000
const MESSAGE = { channel: 'sms', to: '+15005550006', content: { text: 'Hello' } }

/** The maximum CPU time of `svc send` above the CPU time of an empty Node program. */
const SEND_CPU_MAX_MS = 150

/** Writes the CPU time of a program at its end. */
const REPORT_CPU = `process.on('exit', () => {
  const { user, system } = process.cpuUsage()
  require('node:fs').writeSync(2, 'CPU ' + (user + system) / 1000 + ' ms\\n')
})`

interface Dev {
  url: string
  api_key: string
}

/** The start time of the command, beside an empty Node program; and `svc send`, beside only its request. CPU time too. */
export async function run({ quick }: BenchOptions): Promise<Figure[]> {
  return onStage(async (stage) => {
    const { folder: cwd } = stage
    const env = { ...process.env, SVC_DATA_DIR: cwd, SVC_RATE_LIMIT_GENERAL: '100000/60' }
    const service = start([...BUILT_COMMAND, 'dev', '--port', '0', '--json'], { cwd, env })
    stage.atEnd(() => service.stop())
    const [line] = await service.until(/^\{.*\}$/m, READY_MAX_MS)
    const preload = join(cwd, 'report-cpu.cjs')
    writeFileSync(preload, REPORT_CPU)
    return measured(JSON.parse(line) as Dev, {
      where: { cwd, env },
      preload,
      times: quick ? 5 : 20,
    })
  })
}

async function measured(
  { url, api_key }: Dev,
  { where, preload, times }: { where: Where; preload: string; times: number },
): Promise<Figure[]> {
  const [program = '', svc = ''] = BUILT_COMMAND
  const send = ['send', '--to', MESSAGE.to, '--text', MESSAGE.content.text]
  const sending = [svc, ...send, '--url', url, '--key', api_key]
  const timeOf = (...argv: string[]) => {
    return async () => {
      const from = performance.now()
      await finish([program, ...argv], where)
      return performance.now() - from
    }
  }
  const cpuOf = (...argv: string[]) => {
    return async () => {
      const output = await finish([program, '--require', preload, ...argv], where)
      return Number(/CPU (\S+) ms/.exec(output)?.[1])
    }
  }
  const taken = await inTurns(
    {
      node: timeOf('-e', '0'),
      help: timeOf(svc, '--help'),
      send: timeOf(...sending),
      request: () => timeOfRequest(url, api_key),
      node_cpu: cpuOf('-e', '0'),
      send_cpu: cpuOf(...sending),
    },
    times,
  )
  const node = median(taken.node)
  const help = median(taken.help)
  const above = median(taken.send) - median(taken.request)
  const idle = `node -e 0 ${count(node)} ms`
  return [
    { name: 'svc --help', value: help, unit: 'ms', raw: `${idle}; at most 150 on a warm machine` },
    { name: 'svc --help : node -e 0', value: help / node, unit: 'x', raw: timesText(taken.help) },
    {
      name: 'svc send above its request',
      value: above,
      unit: 'ms',
      raw: `the request ${count(median(taken.request))} ms; at most 250 on a warm machine`,
    },
    {
      name: 'svc send, CPU above node -e 0',
      value: median(taken.send_cpu) - median(taken.node_cpu),
      unit: 'ms',
      floor: SEND_CPU_MAX_MS,
      raw: `${count(median(taken.send_cpu))} ms, node -e 0 ${count(median(taken.node_cpu))} ms`,
    },
    { name: 'svc send : node -e 0', value: above / node, unit: 'x', raw: timesText(taken.send) },
  ]
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
