import { between, startChild } from '../../stage/child.ts'
import { startService } from '../../stage/service.ts'
import { onStage } from '../../stage/stage.ts'
import type { LoadHandlers } from '../processes/load.ts'
import type { ReceiverHandlers } from '../processes/receiver.ts'
import type { Scratch } from './scratch.ts'

const CONNECTIONS = 32
const BACKLOG_MAX = 2_000
const TELL_MS = 20

/** The cost of one message from its request to its acknowledged webhook, under load, with natural batches. */
export interface PathCost {
  messages: number
  per_s: number
  /** Of the server's process, all threads. */
  server_cpu_ms: number
  /** Of all processes of PostgreSQL. */
  db_cpu_ms: number
  /** The busy share of the server's main thread. */
  server_loop: number
}

/** Runs a real service on the scratch server with the sandbox and a receiver, for this time. */
export async function costOfWholePath(scratch: Scratch, ms: number): Promise<PathCost> {
  const database_url = await scratch.create('whole_path')
  return onStage(async (stage) => {
    const load = startChild<LoadHandlers>(stage, 'bench/processes/load.ts')
    const receiver = startChild<ReceiverHandlers>(stage, 'bench/processes/receiver.ts')
    const { url: webhook_url } = await receiver.request('start', null)
    const service = await startService(stage, 'service', {
      dispatch: true,
      webhook_url,
      database_url,
    })
    await receiver.request('trust', service.secret)
    const seen = async () => (await receiver.request('count', null)).messages
    let before_run = 0
    const report = async () => {
      await load.request('seen', (await seen()) - before_run)
    }
    // Requests that are open at the end of the processes have no reader.
    const relay = setInterval(() => void report().catch(() => {}), TELL_MS)
    stage.atEnd(() => clearInterval(relay))
    const send = async (time: number) => {
      before_run = await seen()
      return load.request('run', {
        urls: [service.url],
        key: service.key,
        connections: CONNECTIONS,
        ms: time,
        backlog_max: BACKLOG_MAX,
      })
    }
    await send(ms / 4)
    await service.child.request('idle', null)
    const before = { usage: await service.child.usage(), cpu: scratch.cpu_ms() }
    const { sent, seconds } = await send(ms)
    await service.child.request('idle', null)
    const used = between(before.usage, await service.child.usage())
    return {
      messages: sent,
      per_s: sent / seconds,
      server_cpu_ms: used.cpu_ms / sent,
      db_cpu_ms: (scratch.cpu_ms() - before.cpu) / sent,
      server_loop: used.loop,
    }
  })
}
