import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import {
  isKannelInstalled,
  type Kannel,
  startKannel,
} from '../../packages/core/test/providers/smpp/kannel.ts'
import { type Child, startChild } from '../stage/child.ts'
import { inFolder, type ServiceHandlers, serviceEnvironment } from '../stage/service.ts'
import { type BenchOptions, count, type Figure, median } from './figure.ts'
import type { SmsLoad, SmsLoadHandlers } from './processes/sms-load.ts'
import { cpuOf } from './processor-time.ts'

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
  load: Omit<SmsLoad, 'messages'>
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

interface Stage {
  load: Child<SmsLoadHandlers>
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
  const rounds = quick ? 2 : 5
  const messages = quick
    ? { kannel: 10_000, single: 5_000, bulk: 10_000 }
    : { kannel: 30_000, single: 15_000, bulk: 30_000 }
  return inFolder(async (folder) => {
    const stage = await openStage(folder)
    const kannel = await startKannel({ smsc_port: stage.port, window: WINDOW })
    const service = await startSmppService(folder, stage.port)
    try {
      const ways = {
        kannel: kannelWay(kannel, messages.kannel),
        single: singleWay(service, messages.single),
        bulk: bulkWay(service, messages.bulk),
      }
      const measured: Record<keyof typeof ways, Round[]> = { kannel: [], single: [], bulk: [] }
      for (let round = 0; round <= rounds; round++) {
        for (const [name, way] of Object.entries(ways) as [keyof typeof ways, Way][]) {
          const one = await measure(stage, way)
          if (round > 0) measured[name].push(one)
        }
      }
      const { kannel: theirs } = measured
      return [figureOf(SINGLES, measured.single, theirs), figureOf(BULKS, measured.bulk, theirs)]
    } finally {
      await kannel.close()
      await Promise.all([service.child.end(), stage.load.end(), stage.smsc.end()])
    }
  })
}

/** One long round of the service alone, with a clean end that writes the profile; returns its rate. */
export async function loadSmpp(
  folder: string,
  { node_args, is_bulk, quick }: { node_args: string[]; is_bulk: boolean; quick: boolean },
): Promise<string> {
  const stage = await openStage(folder)
  const service = await startSmppService(folder, stage.port, node_args)
  const wayOf = is_bulk ? bulkWay : singleWay
  try {
    const { per_s, cpu_us } = await measure(stage, wayOf(service, quick ? 10_000 : 40_000))
    await service.child.request('stop', null)
    return `${count(per_s)} a second while profiled, ${count(cpu_us)} µs of CPU each`
  } finally {
    await Promise.all([service.child.end(), stage.load.end(), stage.smsc.end()])
  }
}

/** A load generator and an SMSC. */
async function openStage(folder: string): Promise<Stage> {
  const load = startChild<SmsLoadHandlers>('bench/processes/sms-load.ts', { folder })
  const smsc = startChild<RawSmscHandlers>('bench/processes/raw-smsc.mjs', { folder })
  const { port } = await smsc.request('start', { receipts: false })
  return { load, smsc, port }
}

interface SmppService {
  child: Child<ServiceHandlers>
  url: string
  key: string
}

/** The service as an operator runs it, bound to the SMSC as a transceiver. */
async function startSmppService(
  folder: string,
  port: number,
  node_args: string[] = [],
): Promise<SmppService> {
  const data = join(folder, 'service')
  mkdirSync(data)
  const bind = { host: '127.0.0.1', port, system_id: 'svc', password: 'secret' }
  const provider = {
    name: 'smsc',
    type: 'smpp',
    senders: ['12345'],
    window: WINDOW,
    binds: [bind],
  }
  const child = startChild<ServiceHandlers>('stage/service.mjs', {
    folder: data,
    env: { ...serviceEnvironment(data), SVC_PROVIDERS: JSON.stringify([provider]) },
    node_args,
  })
  const { url, key } = await child.request('start', {
    dispatch: true,
    webhook_url: null,
    webhook_events: [],
    key: null,
  })
  return { child, url, key }
}

/**
 * Sends, and waits until everything is at the SMSC and recorded. @throws Error when a message was lost or sent twice.
 */
async function measure({ load, smsc }: Stage, way: Way): Promise<Round> {
  const before = (await smsc.request('count', null)).submitted
  const [cpu, smscUsage] = [await way.cpu(), await smsc.usage()]
  const total = Math.ceil(way.messages / way.load.messages_each) * way.load.messages_each
  const arriving = smsc.request('reached', before + total)
  const { sent, from_ms, taken_ms } = await load.request('run', {
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

function singleWay(service: SmppService, messages: number): Way {
  const body = { to: '+25570@@@@@@@', channel: 'sms', content: { text: TEXT } }
  return serviceWay(service, messages, '/api/v1/messages/send', body, {
    messages_each: 1,
    connections: CONNECTIONS,
  })
}

function bulkWay(service: SmppService, messages: number): Way {
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
  { child, url, key }: SmppService,
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
  const ratios = ours.map(({ per_s }, i) => per_s / (theirs[i] as Round).per_s)
  const of = (rounds: readonly Round[], field: keyof Round) =>
    median(rounds.map((round) => round[field]))
  const side = (rounds: readonly Round[]) =>
    `${count(of(rounds, 'per_s'))}/s (${rounds.map(({ per_s }) => count(per_s)).join(', ')}; accepted at ${count(of(rounds, 'taken_per_s'))}/s), ${count(of(rounds, 'cpu_us'))} µs of CPU each (SMSC ${count(of(rounds, 'smsc_cpu_us'))})`
  const cpu = of(theirs, 'cpu_us') / of(ours, 'cpu_us')
  return {
    name,
    value: median(ratios),
    unit: 'x',
    note: `by CPU ${count(cpu)}x`,
    raw: `service ${side(ours)}; Kannel ${side(theirs)}; ratios ${ratios.map(count).join(', ')}`,
  }
}
