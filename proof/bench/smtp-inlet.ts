import { once } from 'node:events'
import { connect } from 'node:net'
import { between, type Child, type Handlers, startChild } from '../stage/child.ts'
import { startService } from '../stage/service.ts'
import { repliesOf } from '../stage/smtp-replies.ts'
import { onStage, type Stage } from '../stage/stage.ts'
import { timesOf } from './cpu-profile.ts'
import { type BenchOptions, count, type Figure, medianOf, rangeOf } from './figure.ts'
import { against, inTurns, planOf, ratesOf, warmUp } from './rounds.ts'

/** The requests of the bare server's process. */
interface BareHandlers extends Handlers {
  start(_: null): { port: number }
}

/** As in the bench of `accept`. The inlet takes at most 100 connections from one address. */
const CONNECTIONS = 64

/** With few connections, few mails share a flush of the disk. */
const FEW_CONNECTIONS = [16, 1]

/** The inlet closes a connection after this number of mails. */
const CONNECTION_MAILS_MAX = 1_000

const MAIL = [
  'From: Acme <shop@acme.example>',
  'To: asha@example.com',
  'Subject: Your order A1 is ready',
  'Message-ID: <a1@acme.example>',
  'MIME-Version: 1.0',
  'Content-Type: multipart/alternative; boundary=b',
  '',
  '--b',
  'Content-Type: text/plain; charset=utf-8',
  '',
  ...Array<string>(20).fill('It is ready. Come and get it.'),
  '--b',
  'Content-Type: text/html; charset=utf-8',
  '',
  ...Array<string>(20).fill('<p>It is ready. Come and get it.</p>'),
  '--b--',
  '.',
  '',
].join('\r\n')

const COMMANDS = [
  ['MAIL FROM:<shop@acme.example>\r\n', '250'],
  ['RCPT TO:<asha@example.com>\r\n', '250'],
  ['DATA\r\n', '354'],
  [MAIL, '250'],
] as const

/**
 * How the mails travel. On connections that stay open: each command after the reply to the one before, as from a pool of
 * nodemailer; or all commands before the mail at once, as from Postfix. Or with a connection and a login for each mail, as
 * from nodemailer without a pool and from `smtplib`.
 */
const MANNERS = ['one by one', 'pipelined', 'a connection for each mail'] as const
type Manner = (typeof MANNERS)[number]

interface Load {
  manner: Manner
  connections: number
}

/** The parts of the account, by the files of the functions. */
const PARTS = [
  ['garbage collector', /^\(garbage collector\)$/],
  ['sockets and streams', /^node:(?:net|stream|internal\/(?:stream|js_stream|net))/],
  ['SMTP', /^smtp-server\//],
  ['key and rate limits', /compat\/smtp\/admit|core\/src\/api-keys\/|server\/src\/admission\//],
  ['reading the mail', /compat\/smtp\/(?:read-mail|plain-mail|mail-reader)|^postal-mime\//],
  ['checking the request', /compat\/smtp\/request|core\/src\/contract\/|^zod\//],
  // Drizzle's source maps name its files `src/…`.
  ['accept and commit', /^packages\/core\/|^better-sqlite3\/|^src\//],
  ['sessions of the inlet', /compat\/smtp\//],
] as const
const OTHER = 'event loop and others'
/** The time that the profiler takes in the process. */
const PROFILER = ['profiler', /^bench\//] as const

interface Client {
  send(): Promise<void>
  close(): void
}

interface Side {
  port: number
  child: Pick<Child<Handlers>, 'usage' | 'startProfile' | 'takeProfile'>
}

/**
 * Mails a second that the SMTP inlet stores, over those of a bare smtp-server that stores nothing: the same clients, in
 * turns, without TLS. Sending is paused, so that only accepting is measured. Both servers are the built code. After the
 * rounds, one profiled round of each divides the processor time of a mail by part.
 */
export async function run(options: BenchOptions): Promise<Figure[]> {
  return onStage(async (stage) => {
    const service = await startInlet(stage)
    const bare = startChild<BareHandlers>(stage, 'bench/processes/bare-smtp-server.mjs')
    const { port } = await bare.request('start', null)
    const sides = { ours: service, theirs: { port, child: bare } }
    const figures: Figure[] = []
    for (const manner of MANNERS) {
      figures.push(
        await compareSides(sides, service.key, { manner, connections: CONNECTIONS }, options),
      )
    }
    for (const connections of FEW_CONNECTIONS) {
      const load = { manner: 'one by one', connections } as const
      figures.push(await compareSides(sides, service.key, load, options))
    }
    return figures
  })
}

/** A service with an inlet that only accepts. */
async function startInlet(stage: Stage, node_args: string[] = []) {
  const env = { SVC_SMTP_LISTEN: '127.0.0.1:0' }
  const service = await startService(stage, 'svc', { dispatch: true, env, node_args })
  await service.child.request('pause', null)
  return { ...service, port: Number(new URL(service.smtp_url ?? 'smtp://0').port) }
}

async function compareSides(
  sides: Record<'ours' | 'theirs', Side>,
  key: string,
  load: Load,
  { quick }: BenchOptions,
): Promise<Figure> {
  const { rounds, ms } = planOf(quick)
  for (const side of [sides.ours, sides.theirs]) {
    await warmUp(async () => (await roundOf(side, key, load, ms)).mails)
  }
  const { ours, theirs } = await inTurns(
    {
      ours: () => roundOf(sides.ours, key, load, ms),
      theirs: () => roundOf(sides.theirs, key, load, ms),
    },
    rounds,
    { areWarm: true },
  )
  const accounts: string[] = []
  for (const [name, side, measured] of [
    ['inlet', sides.ours, ours],
    ['bare', sides.theirs, theirs],
  ] as const) {
    const cpu_us = medianOf(measured, 'cpu_us')
    const shares = await sharesOf(side, key, load, ms)
    const parts = shares.map(([part, share]) => `${part} ${count(share * cpu_us)}`).join(', ')
    accounts.push(`\n  ${name}, µs of CPU a mail: ${parts}`)
  }
  const { ratios, ...figure } = against(ours, theirs)
  return {
    name: `smtp-inlet, ${nameOf(load)}, against a bare smtp-server`,
    ...figure,
    raw: `${ratesOf(ours, theirs, load.connections)}; ${rounds} rounds, ratios ${rangeOf(ratios)}${accounts.join('')}`,
  }
}

/** The shares of the parts in the event loop's busy time, which includes the wait for the disk, in a profiled round. */
async function sharesOf(
  side: Side,
  key: string,
  load: Load,
  ms: number,
): Promise<[part: string, share: number][]> {
  await side.child.startProfile()
  await roundOf(side, key, load, ms)
  const profile = await side.child.takeProfile()
  const times = timesOf(profile, [PROFILER, ...PARTS], OTHER)
  times.delete(PROFILER[0])
  const parts = [...times].filter(([, part_ms]) => part_ms > 0)
  const all_ms = parts.reduce((sum, [, part_ms]) => sum + part_ms, 0)
  return parts.map(([part, part_ms]) => [part, part_ms / all_ms])
}

/** Loads an inlet of its own, whose process may have arguments, for `ms`. */
export async function loadInlet(
  stage: Stage,
  { node_args, ms }: { node_args: string[]; ms: number },
): Promise<string> {
  const service = await startInlet(stage, node_args)
  const load = { manner: 'one by one', connections: CONNECTIONS } as const
  const { per_s } = await roundOf(service, service.key, load, ms)
  await service.stop()
  return `${count(per_s)} mails a second while profiled`
}

function nameOf({ manner, connections }: Load): string {
  if (connections === CONNECTIONS) return manner
  return `${manner}, ${connections} ${connections === 1 ? 'connection' : 'connections'}`
}

async function openClients(
  port: number,
  key: string,
  { manner, connections }: Load,
): Promise<Client[]> {
  const open =
    manner === 'a connection for each mail'
      ? async () => ({ send: () => sendOnce(port, key), close() {} })
      : () => openClient(port, key, manner)
  return Promise.all(Array.from({ length: connections }, open))
}

/** Sends one mail on a connection of its own, and waits for the end of the connection. */
async function sendOnce(port: number, key: string): Promise<void> {
  const { say, sendOneByOne, closed } = await logIn(port, key)
  await sendOneByOne()
  await say('QUIT\r\n', '221')
  await closed
}

async function openClient(port: number, key: string, manner: Manner): Promise<Client> {
  let connection = await logIn(port, key)
  let sent = 0
  return {
    async send() {
      if (sent === CONNECTION_MAILS_MAX) {
        connection.socket.destroy()
        connection = await logIn(port, key)
        sent = 0
      }
      sent += 1
      await (manner === 'pipelined' ? connection.sendPipelined() : connection.sendOneByOne())
    },
    close: () => connection.socket.destroy(),
  }
}

/** A client that checks each reply, and costs little, because the servers are measured. */
async function logIn(port: number, key: string) {
  const socket = connect({ port, host: '127.0.0.1', noDelay: true })
  const nextReply = repliesOf(socket)
  const closed = once(socket, 'close')
  await once(socket, 'connect')
  async function expectReply(code: string): Promise<void> {
    const reply = await nextReply()
    if (!reply.startsWith(code)) throw new Error(`${reply} in place of ${code}`)
  }
  async function say(line: string, code: string): Promise<void> {
    socket.write(line)
    await expectReply(code)
  }
  const before = COMMANDS.slice(0, -1)
  const together = before.map(([line]) => line).join('')
  await expectReply('220')
  await say('EHLO bench\r\n', '250')
  const login = Buffer.from(`\0bench\0${key}`).toString('base64')
  await say(`AUTH PLAIN ${login}\r\n`, '235')
  return {
    socket,
    closed,
    say,
    async sendOneByOne() {
      for (const [line, code] of COMMANDS) await say(line, code)
    },
    async sendPipelined() {
      socket.write(together)
      for (const [, code] of before) await expectReply(code)
      await say(MAIL, '250')
    },
  }
}

/** Sends mails for `ms`. */
async function roundOf(
  { port, child }: Side,
  key: string,
  load: Load,
  ms: number,
): Promise<{ mails: number; per_s: number; cpu_us: number }> {
  const clients = await openClients(port, key, load)
  const before = await child.usage()
  const from = performance.now()
  let mails = 0
  await Promise.all(
    clients.map(async ({ send }) => {
      while (performance.now() - from < ms) {
        await send()
        mails += 1
      }
    }),
  )
  const seconds = (performance.now() - from) / 1000
  const { cpu_ms } = between(before, await child.usage())
  for (const { close } of clients) close()
  return { mails, per_s: mails / seconds, cpu_us: (cpu_ms * 1_000) / mails }
}
