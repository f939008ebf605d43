import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'
import { getBytes, sendAndReset, sendBytes } from '../stage/connection.ts'
import { descriptorsMax, descriptorsOf, figuresOf } from '../stage/figures.ts'
import { until } from '../stage/until.ts'
import type { Scenario, Scene } from './scenario.ts'

const FLOOD = { full: 6_000, short: 300 }
const SLOW = { full: 200, short: 10 }
const RESETS = { full: 1_000, short: 100 }
/** How long slow clients stay; the service closes silent ones after 10 s, the others after a minute. */
const SLOW_MS = { full: 90_000, short: 1_000 }
const RSS_MAX_MORE_MIB = 300
/**
 * Descriptors that other work may hold beyond those before: requests and deliveries in flight, up to 40 on a busy machine. A
 * flood and resets that leak would leave 100 or more.
 */
const DESCRIPTORS_MAX_MORE = 60
/** Most load balancers count a longer wait as a failed probe; the tests run where the disk is busy too. */
const HEALTH_MAX_MS = { full: 5_000, short: 60_000 }
const ANSWER_MAX_MS = 60_000
const FLOOD_ANSWERS = ['200', '429']

/** Faults with many clients, slow clients and clients that reset. */
export const CLIENTS: readonly Scenario[] = [
  {
    name: 'flood',
    title: 'thousands of clients connect at once',
    // During a flood other requests may also be refused with 429.
    fails: true,
    missing: () =>
      FLOOD.full < descriptorsMax() ? null : `${FLOOD.full} open files are more than ulimit -n`,
    play: flood,
  },
  {
    name: 'slow-clients',
    title: 'clients send their requests byte by byte, and do not read the answers',
    play: slowClients,
  },
  { name: 'resets', title: 'clients reset their connections early', play: resets },
]

async function flood(scene: Scene): Promise<void> {
  const { service, accounts, violations, short, note } = scene
  const { url, pid } = service()
  const size = FLOOD[short ? 'short' : 'full']
  const before = { descriptors: descriptorsOf(pid), rss: figuresOf(pid).rss_mib }
  const key = accounts[0]?.keys.live ?? ''
  const bytes = getBytes(url, '/api/v1/messages?limit=10', key, { Connection: 'close' })
  const health = watchHealth(scene)
  const statuses = new Map<string, number>()
  await Promise.all(
    Array.from({ length: size }, async () => {
      const outcome = await one(url, bytes)
      statuses.set(outcome, (statuses.get(outcome) ?? 0) + 1)
    }),
  )
  const slowest = await health.stop()
  note(
    `${size} connections: ${[...statuses].map(([outcome, n]) => `${n} × ${outcome}`).join(', ')}; slowest health answer ${Math.round(slowest)} ms`,
  )
  const sound = violations.rule('each connection of a flood is answered with 200 or 429')
  for (const [outcome, n] of statuses) {
    if (!FLOOD_ANSWERS.includes(outcome)) sound(`${n} × ${outcome}`)
  }
  await settles(scene, before)
}

/** One request on its own connection: the status, or the reason of its end. */
function one(url: string, bytes: Buffer): Promise<string> {
  const { hostname, port } = new URL(url)
  return new Promise((resolve) => {
    const socket = connect({ host: hostname, port: Number(port) }, () => socket.write(bytes))
    const limit = setTimeout(
      () =>
        end(
          socket.connecting
            ? `not connected within ${ANSWER_MAX_MS} ms`
            : `nothing within ${ANSWER_MAX_MS} ms`,
        ),
      ANSWER_MAX_MS,
    )
    function end(outcome: string): void {
      clearTimeout(limit)
      resolve(outcome)
      socket.destroy()
    }
    socket.once('data', (chunk) => {
      const text = chunk.toString('latin1')
      const status = text.slice(9, 12)
      end(FLOOD_ANSWERS.includes(status) ? status : `${status} ${text.slice(0, 500)}`)
    })
    socket.on('error', (error: NodeJS.ErrnoException) => end(error.code ?? 'error'))
    socket.on('close', () => end('closed'))
  })
}

/** Requests `/health` twice a second; `stop` returns the duration of the slowest answer. */
function watchHealth({ service, violations, short }: Scene) {
  const { url, pid } = service()
  const max_ms = HEALTH_MAX_MS[short ? 'short' : 'full']
  const late = violations.rule('/health is answered in time')
  const worker = new Worker(new URL('./health-probe.mjs', import.meta.url), {
    workerData: { url, pid, max_ms },
    // Plain JavaScript, without the loaders of this process.
    execArgv: [],
  })
  const seen = once(worker, 'message')
  return {
    async stop(): Promise<number> {
      worker.postMessage('stop')
      const [{ slowest_ms, faults }] = (await seen) as [{ slowest_ms: number; faults: string[] }]
      faults.forEach(late)
      return slowest_ms
    },
  }
}

async function slowClients(scene: Scene): Promise<void> {
  const { service, accounts, violations, short, note, traffic } = scene
  const { url, pid } = service()
  const size = SLOW[short ? 'short' : 'full']
  const before = { descriptors: descriptorsOf(pid), rss: figuresOf(pid).rss_mib }
  const key = accounts[0]?.keys.live ?? ''
  const body = { to: '+255700000001', channel: 'sms', content: { text: 'Slow' } }
  const whole = sendBytes(url, key, body)
  const list = getBytes(url, '/api/v1/messages?limit=100', key)
  const bodyAt = whole.indexOf('\r\n\r\n') + 4
  const sockets: Socket[] = []
  const closed = { head: 0, body: 0, reading: 0 }
  let isOver = false

  /** Sends a part immediately, and then a byte of the rest each second, but never the last one. */
  async function send(kind: keyof typeof closed, bytes: Buffer, at: number): Promise<void> {
    const { hostname, port } = new URL(url)
    const socket = connect({ host: hostname, port: Number(port) })
    sockets.push(socket)
    socket.on('error', () => {})
    socket.on('close', () => {
      if (!isOver) closed[kind] += 1
    })
    socket.write(bytes.subarray(0, at))
    if (kind === 'reading') return void socket.pause()
    socket.resume()
    for (let next = at; next < bytes.length - 1 && !isOver && !socket.destroyed; next++) {
      await pause(1_000)
      socket.write(bytes.subarray(next, next + 1))
    }
  }

  const accepted = traffic.accepted()
  traffic.slowest_ms()
  const health = watchHealth(scene)
  const sending = Array.from({ length: size }, () => [
    send('head', whole, 20),
    send('body', whole, bodyAt + 5),
  ])
  // Many answers on one connection without a reader; few such connections, because each answer is work.
  const readers = Math.ceil(size / 10)
  for (let i = 0; i < readers; i++) {
    sending.push([send('reading', Buffer.concat(Array(50).fill(list)), 50 * list.length)])
  }
  await pause(SLOW_MS[short ? 'short' : 'full'])
  const slowest = await health.stop()
  note(
    `${2 * size + readers} slow clients: ${closed.head} closed in their head, ${closed.body} in their body, ${closed.reading} that did not read; ${traffic.accepted() - accepted} sends of others meanwhile, slowest ${Math.round(traffic.slowest_ms())} ms; slowest health answer ${Math.round(slowest)} ms`,
  )
  const open = violations.rule('a client that takes minutes for one request is closed')
  if (!short && closed.head < size) open(`${size - closed.head} of ${size} in their head`)
  if (!short && closed.body < size) open(`${size - closed.body} of ${size} in their body`)
  const others = violations.rule('slow clients keep no other client from being answered')
  if (traffic.accepted() === accepted) others('nothing was accepted meanwhile')
  isOver = true
  for (const socket of sockets) socket.destroy()
  await Promise.all(sending.flat())
  await settles(scene, before)
}

async function resets(scene: Scene): Promise<void> {
  const { service, accounts, short, chance, note } = scene
  const { url, pid } = service()
  const before = { descriptors: descriptorsOf(pid), rss: figuresOf(pid).rss_mib }
  const key = accounts[0]?.keys.live ?? ''
  const body = { to: '0700', channel: 'sms', content: { text: 'Gone' } }
  const whole = sendBytes(url, key, body)
  const size = RESETS[short ? 'short' : 'full']
  for (let left = size; left > 0; left -= 10) {
    await Promise.all(
      Array.from({ length: 10 }, () =>
        // Half of them after the complete request.
        sendAndReset(
          url,
          whole.subarray(0, chance.between(0, 2 * whole.length)),
          chance.between(0, 3),
        ),
      ),
    )
  }
  note(`${size} connections were reset`)
  await settles(scene, before)
}

/** The resources of clients must be free after their end. */
async function settles(
  { service, violations, note }: Scene,
  before: { descriptors: number; rss: number },
): Promise<void> {
  const { pid } = service()
  const more = () => descriptorsOf(pid) - before.descriptors
  await until(() => more() <= DESCRIPTORS_MAX_MORE, { max_ms: 30_000, every_ms: 100 })
  const left = violations.rule('descriptors of closed clients are closed')
  if (more() > DESCRIPTORS_MAX_MORE) left(`${more()} more than before`)
  const rss = figuresOf(pid).rss_mib - before.rss
  const large = violations.rule(`closed clients leave less than ${RSS_MAX_MORE_MIB} MiB`)
  if (rss > RSS_MAX_MORE_MIB) large(`${Math.round(rss)} MiB`)
  note(`afterwards ${more()} descriptors and ${Math.round(rss)} MiB more than before`)
}
