import { once } from 'node:events'
import { connect } from 'node:net'
import { between, type Child, type Handlers, startChild } from './child.ts'
import { type BenchOptions, count, type Figure, median } from './figure.ts'
import { planOf } from './rounds.ts'
import { inFolder, startService } from './service.ts'

/** The requests of the bare server's process. */
interface BareHandlers extends Handlers {
  start(_: null): { port: number }
}

/** As in the bench of `accept`. */
const CONNECTIONS = 64

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

/** How the commands of a mail travel: each after the reply to the one before, as from nodemailer; or, as from Postfix, all before the mail at once. */
type Manner = 'one by one' | 'pipelined'

interface Client {
  send(): Promise<void>
  close(): void
}

interface Side {
  port: number
  child: Pick<Child<Handlers>, 'usage'>
}

/**
 * Mails a second that the SMTP inlet stores, over those of a bare smtp-server that stores nothing: the same clients, in
 * turns, without TLS. Sending is paused, so that only accepting is measured. Both servers are the built code.
 */
export async function run(options: BenchOptions): Promise<Figure[]> {
  return inFolder(async (folder) => {
    const env = { SVC_SMTP_LISTEN: '127.0.0.1:0' }
    const service = await startService(folder, 'svc', { dispatch: true, env })
    await service.child.request('pause', null)
    const bare = startChild<BareHandlers>('bare-smtp-server.mjs', { folder })
    const { port } = await bare.request('start', null)
    const sides = {
      ours: { port: portOf(service.smtp_url), child: service.child },
      theirs: { port, child: bare },
    }
    const figures: Figure[] = []
    for (const manner of ['one by one', 'pipelined'] as const) {
      figures.push(await compareSides(sides, service.key, manner, options))
    }
    await bare.end()
    await service.child.end()
    return figures
  })
}

async function compareSides(
  sides: Record<'ours' | 'theirs', Side>,
  key: string,
  manner: Manner,
  { quick }: BenchOptions,
): Promise<Figure> {
  const { rounds, ms } = planOf(quick)
  const rates = { ours: [] as number[], theirs: [] as number[] }
  const cpus = { ours: [] as number[], theirs: [] as number[] }
  for (let round = 0; round <= rounds; round++) {
    for (const side of ['ours', 'theirs'] as const) {
      const { port, child } = sides[side]
      // A connection of the inlet takes 1,000 mails, so each round has its own.
      const clients = await openClients(port, key, manner)
      const before = await child.usage()
      const { mails, seconds } = await roundOf(clients, ms)
      const { cpu_ms } = between(before, await child.usage())
      for (const client of clients) client.close()
      // The first round warms up.
      if (round === 0) continue
      rates[side].push(mails / seconds)
      cpus[side].push((cpu_ms * 1_000) / mails)
    }
  }
  const ratios = rates.ours.map((ours, i) => ours / (rates.theirs[i] as number))
  return {
    name: `smtp-inlet, ${manner}, against a bare smtp-server`,
    value: median(ratios),
    unit: 'x',
    note: `by CPU ${count(median(cpus.theirs) / median(cpus.ours))}x`,
    raw: `${count(median(rates.ours))}/s against ${count(median(rates.theirs))}/s over ${CONNECTIONS} connections, ${count(median(cpus.ours))} against ${count(median(cpus.theirs))} µs of CPU a mail; ${rounds} rounds, ratios ${[Math.min(...ratios), Math.max(...ratios)].map(count).join('–')}`,
  }
}

/** Loads an inlet of its own, whose process may have arguments, for `ms`. */
export async function loadInlet(
  folder: string,
  { node_args, ms }: { node_args: string[]; ms: number },
): Promise<string> {
  const env = { SVC_SMTP_LISTEN: '127.0.0.1:0' }
  const { child, key, smtp_url } = await startService(folder, 'svc', {
    dispatch: true,
    env,
    node_args,
  })
  await child.request('pause', null)
  const clients = await openClients(portOf(smtp_url), key, 'one by one')
  const { mails, seconds } = await roundOf(clients, ms)
  for (const client of clients) client.close()
  await child.request('stop', null)
  await child.end()
  return `${count(mails / seconds)} mails a second while profiled`
}

async function openClients(port: number, key: string, manner: Manner): Promise<Client[]> {
  return Promise.all(Array.from({ length: CONNECTIONS }, () => openClient(port, key, manner)))
}

/** A client that checks each reply, and costs little, because the servers are measured. */
async function openClient(port: number, key: string, manner: Manner): Promise<Client> {
  const socket = connect({ port, host: '127.0.0.1', noDelay: true })
  const replies: string[] = []
  let rest = ''
  let onReply = () => {}
  socket.setEncoding('latin1').on('data', (chunk) => {
    const lines = (rest + chunk).split('\r\n')
    rest = lines.pop() ?? ''
    // The last line of a reply has a space after its code.
    replies.push(...lines.filter((line) => line[3] === ' '))
    onReply()
  })
  await once(socket, 'connect')
  async function expectReply(code: string): Promise<void> {
    while (replies.length === 0) {
      await new Promise<void>((resolve) => {
        onReply = resolve
      })
    }
    const reply = replies.shift() ?? ''
    if (!reply.startsWith(code)) throw new Error(`${reply} in place of ${code}`)
  }
  async function say(line: string, code: string): Promise<void> {
    socket.write(line)
    await expectReply(code)
  }
  async function sendOneByOne(): Promise<void> {
    for (const [line, code] of COMMANDS) await say(line, code)
  }
  const before = COMMANDS.slice(0, -1)
  const together = before.map(([line]) => line).join('')
  async function sendPipelined(): Promise<void> {
    socket.write(together)
    for (const [, code] of before) await expectReply(code)
    await say(MAIL, '250')
  }
  await expectReply('220')
  await say('EHLO bench\r\n', '250')
  const login = Buffer.from(`\0bench\0${key}`).toString('base64')
  await say(`AUTH PLAIN ${login}\r\n`, '235')
  const send = manner === 'pipelined' ? sendPipelined : sendOneByOne
  return { send, close: () => socket.destroy() }
}

async function roundOf(clients: Client[], ms: number): Promise<{ mails: number; seconds: number }> {
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
  return { mails, seconds: (performance.now() - from) / 1000 }
}

function portOf(url: string | null): number {
  return Number(new URL(url ?? 'smtp://0').port)
}
