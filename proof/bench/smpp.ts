import {
  isKannelInstalled,
  type Kannel,
  startKannel,
} from '../../packages/core/test/providers/smpp/kannel.ts'
import { type Child, startChild } from '../stage/child.ts'
import { cpuOf } from '../stage/figures.ts'
import { type Service, startService } from '../stage/service.ts'
import { onStage, type Stage } from '../stage/stage.ts'
import { type BenchOptions, count, type Figure, medianOf } from './figure.ts'
import type { Batch, LoadHandlers } from './processes/load.ts'
import { against, inTurns } from './rounds.ts'

const SINGLES = 'smpp, single sends against Kannel'

const BULKS = 'smpp, bulks against Kannel'

const CONNECTIONS = 64

const RECIPIENTS = 1_000

/** The maximum of unanswered submit_sm on each side. */
const WINDOW = 64

/** Bulk requests in flight. */
const BULK_CONNECTIONS = 2

const TEXT = 'Your code is @@@@@@@. It expires in ten minutes.'

/** The requests of an SMSC process. */
interface RawSmscHandlers {
  [name: string]: (input: never) => unknown
  start(input: { receipts: boolean }): { port: number }
  count(_: null): { submitted: number; doubled: number; receipted: number }
  reached(count: number): number
}

/** One path from HTTP to the SMSC. */
interface Way {
  load: Omit<Batch, 'messages'>
  messages: number
  /** Milliseconds of CPU so far, of all its processes. */
  cpu(): Promise<number>
  /** Resolves when all later records are written. */
  settle(): Promise<void>
}

/** The result of one round. */
interface Round {
  /** From the first request to the last message at the SMSC. */
  per_s: number
  /** Until the last request was answered. */
  taken_per_s: number
  cpu_us: number
  smsc_cpu_us: number
}

interface Peers {
  load: Child<LoadHandlers>
  smsc: Child<RawSmscHandlers>
  port: number
}

/**
 * Messages a second from HTTP to the SMPP connection of one local SMSC, as a share of Kannel's: single sends and bulk
 * requests. The service stores, charges and commits each message before its answer; Kannel keeps them in memory.
 * @throws Error when a message was lost or sent twice.
 */
export async function run({ quick }: BenchOptions): Promise<Figure[]> {
  if (!isKannelInstalled) {
    const missing = 'Kannel is not installed (apt-get install kannel kannel-extras)'
    return [SINGLES, BULKS].map((name) => ({ name, value: Number.NaN, unit: 'x', missing }))
  }
  const messages = quick
    ? { kannel: 10_000, single: 5_000, bulk: 10_000 }
    : { kannel: 30_000, single: 15_000, bulk: 30_000 }
  return onStage(async (stage) => {
    const peers = await openPeers(stage)
    const kannel = await startKannel({ smsc_port: peers.port, window: WINDOW })
    stage.atEnd(kannel.close)
    const service = await startSmppService(stage, peers.port)
    const { kannel: theirs, ...ours } = await inTurns(
      {
        kannel: () => measure(peers, kannelWay(kannel, messages.kannel)),
        single: () => measure(peers, singleWay(service, messages.single)),
        bulk: () => measure(peers, bulkWay(service, messages.bulk)),
      },
      quick ? 2 : 5,
    )
    return [figureOf(SINGLES, ours.single, theirs), figureOf(BULKS, ours.bulk, theirs)]
  })
}

/** One long round of the service alone, with a clean end that writes the profile; returns its rate. */
export async function loadSmpp(
  stage: Stage,
  { node_args, is_bulk, quick }: { node_args: string[]; is_bulk: boolean; quick: boolean },
): Promise<string> {
  const peers = await openPeers(stage)
  const service = await startSmppService(stage, peers.port, node_args)
  const wayOf = is_bulk ? bulkWay : singleWay
  const { per_s, cpu_us } = await measure(peers, wayOf(service, quick ? 10_000 : 40_000))
  await service.stop()
  return `${count(per_s)} a second while profiled, ${count(cpu_us)} µs of CPU each`
}

/** A load generator and an SMSC. */
async function openPeers(stage: Stage): Promise<Peers> {
  const load = startChild<LoadHandlers>(stage, 'bench/processes/load.ts')
  const smsc = startChild<RawSmscHandlers>(stage, 'bench/processes/raw-smsc.mjs')
  const { port } = await smsc.request('start', { receipts: false })
  return { load, smsc, port }
}

/** The service as an operator runs it, bound to the SMSC as a transceiver. */
function startSmppService(stage: Stage, port: number, node_args: string[] = []): Promise<Service> {
  const bind = { host: '127.0.0.1', port, system_id: 'svc', password: 'secret' }
  const provider = {
    name: 'smsc',
    type: 'smpp',
    senders: ['12345'],
    window: WINDOW,
    binds: [bind],
  }
  const env = { SVC_PROVIDERS: JSON.stringify([provider]) }
  return startService(stage, 'service', { dispatch: true, env, node_args })
}

/**
 * Sends, and waits until everything is at the SMSC and recorded. @throws Error when a message was lost or sent twice.
 */
async function measure({ load, smsc }: Peers, way: Way): Promise<Round> {
  const before = (await smsc.request('count', null)).submitted
  const [cpu, smscUsage] = [await way.cpu(), await smsc.usage()]
  const total = Math.ceil(way.messages / way.load.messages_each) * way.load.messages_each
  const arriving = smsc.request('reached', before + total)
  const { sent, from_ms, taken_ms } = await load.request('batch', {
    ...way.load,
    messages: way.messages,
  })
  const arrived_ms = await arriving
  await way.settle()
  const { submitted, doubled } = await smsc.request('count', null)
  if (submitted - before !== sent || doubled > 0) {
    throw new Error(`of ${sent} messages ${submitted - before} arrived, ${doubled} twice`)
  }
  return {
    per_s: (sent / (arrived_ms - from_ms)) * 1000,
    taken_per_s: (sent / (taken_ms - from_ms)) * 1000,
    cpu_us: (((await way.cpu()) - cpu) * 1000) / sent,
    smsc_cpu_us: (((await smsc.usage()).cpu_ms - smscUsage.cpu_ms) * 1000) / sent,
  }
}

function kannelWay({ url, path, pids }: Kannel, messages: number): Way {
  const fields = { from: '12345', to: '25570@@@@@@@', text: TEXT }
  return {
    load: {
      url,
      request: { method: 'GET', path: path(fields).replaceAll('%40', '@') },
      status: 202,
      messages_each: 1,
      connections: CONNECTIONS,
    },
    messages,
    cpu: async () => pids.reduce((sum, pid) => sum + cpuOf(pid), 0),
    settle: async () => {},
  }
}

function singleWay(service: Service, messages: number): Way {
  const body = { to: '+25570@@@@@@@', channel: 'sms', content: { text: TEXT } }
  return serviceWay(service, messages, '/api/v1/messages/send', body, {
    messages_each: 1,
    connections: CONNECTIONS,
  })
}

function bulkWay(service: Service, messages: number): Way {
  const body = {
    channel: 'sms',
    content: { text: TEXT.replace('@@@@@@@', '{{code}}') },
    recipients: Array.from({ length: RECIPIENTS }, () => ({
      to: '+25570@@@@@@@',
      variables: { code: '@@@@@@@' },
    })),
  }
  return serviceWay(service, messages, '/api/v1/messages/bulk', body, {
    messages_each: RECIPIENTS,
    connections: BULK_CONNECTIONS,
  })
}

function serviceWay(
  { child, url, key }: Service,
  messages: number,
  path: string,
  body: unknown,
  how: { messages_each: number; connections: number },
): Way {
  return {
    load: {
      url,
      request: { method: 'POST', path, headers: { 'X-API-Key': key }, body },
      status: 201,
      ...how,
    },
    messages,
    cpu: async () => (await child.usage()).cpu_ms,
    settle: () => child.request('idle', null),
  }
}

function figureOf(name: string, ours: readonly Round[], theirs: readonly Round[]): Figure {
  const { ratios, ...figure } = against(ours, theirs)
  const side = (rounds: readonly Round[]) =>
    `${count(medianOf(rounds, 'per_s'))}/s (${rounds.map(({ per_s }) => count(per_s)).join(', ')}; accepted at ${count(medianOf(rounds, 'taken_per_s'))}/s), ${count(medianOf(rounds, 'cpu_us'))} µs of CPU each (SMSC ${count(medianOf(rounds, 'smsc_cpu_us'))})`
  return {
    name,
    ...figure,
    raw: `service ${side(ours)}; Kannel ${side(theirs)}; ratios ${ratios.map(count).join(', ')}`,
  }
}
