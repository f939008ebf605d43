import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { between, type Handlers, startChild } from './child.ts'
import { type BenchOptions, count, type Figure, median } from './figure.ts'
import { inFolder, startService } from './service.ts'

/** The requests of the bare server's process. */
interface BareHandlers extends Handlers {
  start(_: null): { port: number }
}

const CONNECTIONS = 32

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

/** A client that waits for each reply, and costs little, because the servers are measured. */
interface Client {
  say(text: string, code: string): Promise<void>
  socket: Socket
}

/**
 * Mails a second that the SMTP inlet stores, over those of a bare smtp-server that stores nothing: the same clients, in
 * turns. Sending is paused, so that only accepting is measured.
 */
export async function run({ quick }: BenchOptions): Promise<Figure[]> {
  const { rounds, ms } = quick ? { rounds: 3, ms: 1_500 } : { rounds: 7, ms: 4_000 }
  return inFolder(async (folder) => {
    const env = { SVC_SMTP_LISTEN: '127.0.0.1:0' }
    const service = await startService(folder, 'svc', { dispatch: true, env })
    await service.child.request('pause', null)
    const bare = startChild<BareHandlers>('bare-smtp-server.mjs', { folder })
    const { port: barePort } = await bare.request('start', null)
    const sides = {
      ours: { port: Number(new URL(service.smtp_url ?? 'smtp://0').port), child: service.child },
      theirs: { port: barePort, child: bare },
    }
    const rates = { ours: [] as number[], theirs: [] as number[] }
    const cpus = { ours: [] as number[], theirs: [] as number[] }
    const clients = {
      ours: await openClients(sides.ours.port, service.key),
      theirs: await openClients(sides.theirs.port, service.key),
    }
    for (let round = 0; round <= rounds; round++) {
      for (const side of ['ours', 'theirs'] as const) {
        const before = await sides[side].child.usage()
        const { mails, seconds } = await roundOf(clients[side], ms)
        const { cpu_ms } = between(before, await sides[side].child.usage())
        // The first round warms up.
        if (round === 0) continue
        rates[side].push(mails / seconds)
        cpus[side].push((cpu_ms * 1_000) / mails)
      }
    }
    for (const { socket } of [...clients.ours, ...clients.theirs]) socket.destroy()
    await bare.end()
    await service.child.end()
    const ratios = rates.ours.map((ours, i) => ours / (rates.theirs[i] as number))
    return [
      {
        name: 'smtp-inlet, mails against a bare smtp-server',
        value: median(ratios),
        unit: 'x',
        note: `by CPU ${count(median(cpus.theirs) / median(cpus.ours))}x`,
        raw: `${count(median(rates.ours))}/s against ${count(median(rates.theirs))}/s over ${CONNECTIONS} connections, ${count(median(cpus.ours))} against ${count(median(cpus.theirs))} µs of CPU a mail; ${rounds} rounds, ratios ${[Math.min(...ratios), Math.max(...ratios)].map(count).join('–')}`,
      },
    ]
  })
}

async function openClients(port: number, key: string): Promise<Client[]> {
  return Promise.all(Array.from({ length: CONNECTIONS }, () => openClient(port, key)))
}

async function openClient(port: number, key: string): Promise<Client> {
  const socket = connect({ port, host: '127.0.0.1', noDelay: true })
  let text = ''
  let heard = () => {}
  socket.setEncoding('latin1').on('data', (chunk) => {
    text += chunk
    heard()
  })
  await once(socket, 'connect')
  const reply = /^\d{3} .*\r\n/m
  async function say(line: string, code: string): Promise<void> {
    if (line !== '') {
      text = ''
      socket.write(line)
    }
    while (!reply.test(text)) {
      await new Promise<void>((resolve) => {
        heard = resolve
      })
    }
    if (!text.startsWith(code)) throw new Error(`${line.slice(0, 20)}: ${text}`)
  }
  await say('', '220')
  await say('EHLO bench\r\n', '250')
  const login = Buffer.from(`\0bench\0${key}`).toString('base64')
  await say(`AUTH PLAIN ${login}\r\n`, '235')
  return { say, socket }
}

async function roundOf(clients: Client[], ms: number): Promise<{ mails: number; seconds: number }> {
  const from = performance.now()
  let mails = 0
  await Promise.all(
    clients.map(async ({ say }) => {
      while (performance.now() - from < ms) {
        await say('MAIL FROM:<shop@acme.example>\r\n', '250')
        await say('RCPT TO:<asha@example.com>\r\n', '250')
        await say('DATA\r\n', '354')
        await say(MAIL, '250')
        mails += 1
      }
    }),
  )
  return { mails, seconds: (performance.now() - from) / 1000 }
}
