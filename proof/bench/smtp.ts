import { randomUUID } from 'node:crypto'
import { createRequire } from 'node:module'
import type { Provider, SendJob } from '../../packages/core/src/contract/outside/provider.ts'
import { settings } from '../../packages/core/src/providers/smtp/settings.ts'
import { openSmtp } from '../../packages/core/src/providers/smtp/smtp.ts'
import { type Handlers, startChild } from '../stage/child.ts'
import { onStage } from '../stage/stage.ts'
import { type BenchOptions, type Figure, rangeOf } from './figure.ts'
import { against, inTurns, ratesOf } from './rounds.ts'

/** The requests of the mail server's process. */
interface MailSinkHandlers extends Handlers {
  start(_: null): { port: number }
  taken(_: null): number
}

interface MailLibrary {
  createTransport(options: object): { sendMail(mail: object): Promise<unknown>; close(): void }
}
const core = createRequire(new URL('../../packages/core/package.json', import.meta.url))
const { createTransport }: MailLibrary = core('nodemailer')

const CONNECTIONS = 10
/** In the form of the dispatcher. */
const BATCH = 64
const BATCHES_AT_ONCE = 4

const content = {
  subject: 'Your order A1 is ready',
  text: 'It is ready. Come and get it.\n'.repeat(20),
  html: '<p>It is ready. Come and get it.</p>\n'.repeat(20),
}

type SendBatch = () => Promise<void>

/**
 * Mails a second through the provider, over those through the mail library alone: one process, one server, in turns.
 */
export async function run({ quick }: BenchOptions): Promise<Figure[]> {
  const { rounds, batches } = quick ? { rounds: 3, batches: 16 } : { rounds: 9, batches: 64 }
  return onStage(async (stage) => {
    const sink = startChild<MailSinkHandlers>(stage, 'bench/processes/mail-sink.mjs')
    const { port } = await sink.request('start', null)
    const provider = openProvider(port)
    stage.atEnd(() => provider.close?.())
    const bare = createTransport({
      host: '127.0.0.1',
      port,
      pool: true,
      maxConnections: CONNECTIONS,
      ignoreTLS: true,
    })
    stage.atEnd(() => bare.close())
    const round = (send: SendBatch) => async () => {
      const before = await sink.request('taken', null)
      const result = await roundOf(send, batches)
      const taken = (await sink.request('taken', null)) - before
      if (taken !== batches * BATCH) throw new Error(`${taken} of ${batches * BATCH} mails arrived`)
      return result
    }
    const sides = {
      ours: round(() => sendOurs(provider)),
      theirs: round(async () => {
        await Promise.all(Array.from({ length: BATCH }, () => bare.sendMail(bareMail())))
      }),
    }
    const { ours, theirs } = await inTurns(sides, rounds)
    const { ratios, ...figure } = against(ours, theirs)
    const raw = `${ratesOf(ours, theirs, CONNECTIONS)}; ${rounds} rounds, ratios ${rangeOf(ratios)}`
    return [{ name: 'smtp, mails against nodemailer', ...figure, raw }]
  })
}

function openProvider(port: number): Provider {
  return openSmtp(
    settings.parse({
      type: 'smtp',
      name: 'smtp',
      url: `smtp://127.0.0.1:${port}`,
      mail_domain: 'mail.example',
      bounce_domain: 'bounce.mail.example',
      connections: CONNECTIONS,
    }),
    { public_url: 'https://svc.example', callback_url: '', secret: 'bench' },
  )
}

function bareMail() {
  return {
    from: { name: 'Acme', address: 'acme@mail.example' },
    to: { name: '', address: 'asha@rcpt.example' },
    ...content,
  }
}

async function sendOurs(provider: Provider): Promise<void> {
  const outcomes = await provider.send(Array.from({ length: BATCH }, job))
  const lost = outcomes.find(({ type }) => type !== 'accepted')
  if (lost) throw new Error(`a mail was not accepted: ${JSON.stringify(lost)}`)
}

const workspace_id = randomUUID()

function job(): SendJob {
  return {
    workspace_id,
    message_id: randomUUID(),
    channel: 'email',
    sender: 'Acme',
    recipient: 'asha@rcpt.example',
    content,
    attempt: 1,
    created_at_ms: Date.now(),
    max_duration_s: null,
  }
}

/** Mails a second, and microseconds of CPU of this process for each. */
async function roundOf(send: SendBatch, batches: number) {
  let left = batches
  const cpuFrom = process.cpuUsage()
  const from = performance.now()
  await Promise.all(
    Array.from({ length: BATCHES_AT_ONCE }, async () => {
      while (left > 0) {
        left -= 1
        await send()
      }
    }),
  )
  const seconds = (performance.now() - from) / 1000
  const { user, system } = process.cpuUsage(cpuFrom)
  const mails = batches * BATCH
  return { per_s: mails / seconds, cpu_us: (user + system) / mails }
}
