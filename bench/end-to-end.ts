import { createClient } from '@svc/core/contract'
import { between, type Child, startChild, type Usage } from './child.ts'
import { type BenchOptions, count, type Figure, percent } from './figure.ts'
import type { LoadHandlers } from './processes/load.ts'
import type { ReceiverHandlers } from './processes/receiver.ts'
import { inFolder, type Service, startService } from './service.ts'

const CONNECTIONS = 32
const FLOOR_PER_S = 3_000

/** The maximum of messages in flight: enough to fill every batch, too few for a growing backlog. */
const BACKLOG_MAX = 2_000

/** The interval at which the sender is notified of the receiver's progress. */
const TELL_MS = 20

const WARM_MS = 3_000

/** The maximum time until the last messages arrive. */
const DRAIN_MS = 30_000

/** The processes of one run. */
export interface Stage {
  load: Child<LoadHandlers>
  receiver: Child<ReceiverHandlers>
  service: Service
}

/** Sends, dispatches to the sandbox and reports to a receiver, all on this machine; returns messages a second. */
export async function run({ quick }: BenchOptions): Promise<Figure[]> {
  return inFolder(async (folder) => {
    const stage = await openStage(folder)
    try {
      return [await sustain(stage, quick ? 5_000 : 20_000)]
    } finally {
      await closeStage(stage)
    }
  })
}

/** Starts sender, service and receiver. */
export async function openStage(folder: string, node_args: string[] = []): Promise<Stage> {
  const load = startChild<LoadHandlers>('load.ts', { folder })
  const receiver = startChild<ReceiverHandlers>('receiver.ts', { folder })
  const { url: webhook_url } = await receiver.request('start', null)
  const service = await startService(folder, 'service', { dispatch: true, webhook_url, node_args })
  await receiver.request('trust', service.secret)
  return { load, receiver, service }
}

export async function closeStage({ load, receiver, service }: Stage): Promise<void> {
  await Promise.all([load, receiver, service.child].map((child) => child.end()))
}

/**
 * Keeps a bounded number of messages in flight for `ms`, and counts those whose webhook arrived.
 * @throws Error when a message or a webhook was lost, or a signature was wrong.
 */
export async function sustain(stage: Stage, ms: number): Promise<Figure> {
  const { load, receiver, service } = stage
  const relay = startRelay(stage)
  const sending = load.request('run', {
    urls: [service.url],
    key: service.key,
    connections: CONNECTIONS,
    ms: WARM_MS + ms,
    backlog_max: BACKLOG_MAX,
  })
  await Promise.race([sending, pause(WARM_MS)])
  const from = await look(stage)
  await Promise.race([sending, pause(ms)])
  const to = await look(stage)
  const { sent } = await sending
  await drained(receiver, sent)
  relay.stop()
  await verifyAll(service, receiver, sent)
  const seconds = (to.service.at_ms - from.service.at_ms) / 1000
  return {
    name: 'end-to-end',
    value: (to.messages - from.messages) / seconds,
    unit: '/s',
    floor: FLOOR_PER_S,
    raw: `over ${count(seconds)} s, ${count(sent)} messages, each delivered and reported; ${shares(from, to)}`,
  }
}

interface Look {
  messages: number
  service: Usage
  load: Usage
  receiver: Usage
}

async function look({ load, receiver, service }: Stage): Promise<Look> {
  const [{ messages }, ...usages] = await Promise.all([
    receiver.request('count', null),
    service.child.usage(),
    load.usage(),
    receiver.usage(),
  ])
  return { messages, service: usages[0], load: usages[1], receiver: usages[2] }
}

function shares(from: Look, to: Look): string {
  const service = between(from.service, to.service)
  const cpu = (who: 'load' | 'receiver') => percent(between(from[who], to[who]).cpu)
  return `of one core: service ${percent(service.cpu)} (event loop ${percent(service.loop)} busy), generator ${cpu('load')}, receiver ${cpu('receiver')}`
}

/** Notifies the sender of the receiver's progress, until stopped. */
function startRelay({ load, receiver }: Stage) {
  let isStopped = false
  const ended = (async () => {
    while (!isStopped) {
      const { messages } = await receiver.request('count', null)
      await load.request('seen', messages)
      await pause(TELL_MS)
    }
  })()
  ended.catch(() => {})
  return {
    stop() {
      isStopped = true
    },
  }
}

async function drained(receiver: Child<ReceiverHandlers>, sent: number): Promise<void> {
  const until = performance.now() + DRAIN_MS
  while ((await receiver.request('count', null)).messages < sent) {
    if (performance.now() > until) return
    await pause(TELL_MS)
  }
}

async function verifyAll(
  { url, key }: Service,
  receiver: Child<ReceiverHandlers>,
  sent: number,
): Promise<void> {
  const client = createClient({ base_url: url, api_key: key })
  const [all, delivered] = await Promise.all([
    client.messages.list({ limit: 1 }),
    client.messages.list({ limit: 1, status: 'delivered' }),
  ])
  const { messages, forged } = await receiver.request('count', null)
  const found = {
    stored: all.pagination.total,
    delivered: delivered.pagination.total,
    reported: messages,
  }
  if (Object.values(found).some((number) => number !== sent) || forged > 0) {
    throw new Error(
      `of ${sent} accepted messages: ${JSON.stringify(found)}, ${forged} wrong signatures`,
    )
  }
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}
