import { connect } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import type { Account } from '../stage/accounts.ts'
import { type Connection, openConnection, requestBytes, sendBytes } from '../stage/connection.ts'
import type { Random } from '../stage/random.ts'
import { repliesOf } from '../stage/smtp-replies.ts'
import type { Operation, Operations, Try } from './operations.ts'

/** Callers that send, whether a server answers or not. */
export interface Traffic {
  /** The addresses of the service: none when it is dead, several when it has several servers. */
  aim(urls: readonly string[]): void
  /** The number of accepted messages so far, by any server or by one. */
  accepted(url?: string): number
  /** The duration of the slowest answer since the last call, in ms. */
  slowest_ms(): number
  /**
   * Starts no new operations, repeats those with an unknown result once, and resolves when all callers have finished.
   */
  finish(): Promise<void>
}

export interface TrafficOptions {
  operations: Operations
  accounts: readonly Account[]
  random: Random
  connections: number
  /** The pause of a caller after each answer, in ms; default: none. */
  rest_ms?: number
  /** The number of messages that reached their final status so far. */
  finished: () => number
  /** The maximum of messages in flight: enough to hit some with a kill, few enough to finish soon at the end. */
  backlog_max: number
  /** The SMTP inlet of a server; default: no server has one, and mails are sent as requests. */
  inletOf?: (url: string) => string | null
  /** Called for each 201 when it arrives. */
  onAccepted?: (message_id: string, operation: Operation) => void
}

/** The percentage of operations without an answer that are repeated. */
const RETRY_PERCENT = 75
/** The percentage of operations that are sent twice at once, or again after their 201. */
const TWICE_PERCENT = 6

const WAIT_MS = 5

export function startTraffic(options: TrafficOptions): Traffic {
  const { operations, accounts, random, connections, finished, backlog_max, onAccepted } = options
  const { inletOf = () => null, rest_ms = 0 } = options
  const again: Operation[] = []
  let urls: readonly string[] = []
  let isFinishing = false
  let accepted = 0
  const acceptedBy = new Map<string, number>()
  let slowest_ms = 0

  function choose(): Operation | null {
    const repeated = again.shift()
    if (repeated) return repeated
    if (isFinishing || accepted - finished() > backlog_max) return null
    const operation = operations.next()
    if (operation.idempotency_key && random.percent(TWICE_PERCENT)) again.push(operation)
    return operation
  }

  function note(operation: Operation, result: Try, target: string): void {
    if (result.outcome === 'ok' && !result.replayed) {
      accepted += 1
      acceptedBy.set(target, (acceptedBy.get(target) ?? 0) + 1)
    }
    if (result.outcome === 'ok') onAccepted?.(result.message_id, operation)
    operation.tries.push(result)
    if (operation.idempotency_key === null) return
    if (result.outcome === 'info' ? random.percent(RETRY_PERCENT) : random.percent(1)) {
      again.push(operation)
    }
  }

  async function talk(connection: Connection, target: string): Promise<void> {
    while (urls.includes(target)) {
      const operation = choose()
      if (!operation) {
        if (isFinishing) return
        await pause(WAIT_MS)
        continue
      }
      const account = accounts[operation.account] as Account
      const inlet = operation.door === 'smtp' ? inletOf(target) : null
      const from = performance.now()
      const sending = inlet
        ? sendMail(inlet, mailOf(operation, account)).then((reply) => tryOfMail(operation, reply))
        : connection.request(bytesOf(operation, account, target)).then(tryOf)
      const result = await sending.catch((): Try => ({ outcome: 'info' }))
      slowest_ms = Math.max(slowest_ms, performance.now() - from)
      note(operation, result, target)
      if (result.outcome === 'info') return
      if (rest_ms > 0) await pause(rest_ms)
    }
  }

  /**
   * Every second caller goes to the next server, if there is one, after a request without an answer. The others stay: else all callers
   * would be at the server that is the first to answer again, and no request would show when another one does.
   */
  async function caller(_: unknown, number: number): Promise<void> {
    const [first, step] = [Math.floor(number / 2), number % 2]
    for (let tries = first; !isFinishing || (urls.length > 0 && again.length > 0); tries += step) {
      const target = urls[tries % urls.length]
      const connection = target && (await openConnection(target).catch(() => null))
      if (target && connection) {
        await talk(connection, target)
        connection.close()
      }
      await pause(WAIT_MS)
    }
  }

  const callers = Array.from({ length: connections }, caller)
  return {
    aim(targets) {
      urls = targets
    },
    accepted: (url) => (url === undefined ? accepted : (acceptedBy.get(url) ?? 0)),
    slowest_ms() {
      const taken = slowest_ms
      slowest_ms = 0
      return taken
    },
    async finish() {
      isFinishing = true
      await Promise.all(callers)
    },
  }
}

function bytesOf(operation: Operation, account: Account, url: string): Buffer {
  const { number, mode, recipient, idempotency_key } = operation
  const { channel, to } = recipient
  const text = `Message ${number}`
  const body = {
    to,
    channel,
    content: channel === 'sms' ? { text } : { subject: text, text },
    metadata: { op: number },
  }
  const headers = idempotency_key ? { 'Idempotency-Key': idempotency_key } : {}
  if (operation.door !== 'codes') return sendBytes(url, account.keys[mode], body, headers)
  return requestBytes(url, {
    method: 'POST',
    path: '/api/v1/verifications',
    headers: { 'X-API-Key': account.keys[mode], ...headers },
    body: { to, channel, metadata: { op: number } },
  })
}

function mailOf(operation: Operation, account: Account): Mail {
  const { number, mode, recipient, idempotency_key } = operation
  const text = `Message ${number}`
  return {
    key: account.keys[mode],
    to: recipient.channel === 'sms' ? `${recipient.to}@sms.sandbox.svc` : recipient.to,
    headers: {
      From: 'Acme <shop@acme.example>',
      To: 'undisclosed-recipients:;',
      Subject: text,
      // As from a client: each attempt has another one.
      'Message-ID': `<${number}.${operation.tries.length}@acme.example>`,
      'X-Svc-Metadata': JSON.stringify({ op: number }),
      ...(idempotency_key && { 'X-Svc-Idempotency-Key': idempotency_key }),
    },
    text,
  }
}

/** The meaning of a reply, with the status that the API gives for the same reason. */
function tryOfMail({ tries }: Operation, reply: string): Try {
  const [, message_id] = /^250 2\.6\.0 Queued as (\S+)$/.exec(reply) ?? []
  if (message_id) {
    const replayed = tries.some((each) => each.outcome === 'ok')
    return { outcome: 'ok', message_id, replayed }
  }
  if (/^(?:550 5\.1\.3|501) /.test(reply)) return { outcome: 'fail', status: 400, text: reply }
  if (reply.startsWith('451 4.3.0')) return { outcome: 'info', status: 500, text: reply }
  if (/^45\d /.test(reply)) return { outcome: 'fail', status: 429, text: reply }
  if (reply.startsWith('421')) return { outcome: 'info' }
  return { outcome: 'fail', status: Number(reply.slice(0, 3)), text: reply }
}

function tryOf({ status, head, body }: { status: number; head: string; body: string }): Try {
  // An internal error leaves open how much of the work was done.
  if (status >= 500) return { outcome: 'info', status, text: body }
  if (status !== 201) return { outcome: 'fail', status, text: body }
  const { data } = JSON.parse(body) as { data: { message_id: string } }
  const replayed = /\r\nidempotent-replayed: true/i.test(head)
  return { outcome: 'ok', message_id: data.message_id, replayed }
}

/** A mail for the SMTP inlet, and the key of its login. */
interface Mail {
  key: string
  to: string
  headers: Record<string, string>
  text: string
}

/**
 * Sends a mail on a connection of its own, and returns the reply that decided about it: the one to the mail, or the first
 * refusal. @throws Error when the connection ends before: the server may have stored the mail or not.
 */
async function sendMail(url: string, { key, to, headers, text }: Mail): Promise<string> {
  const { hostname, port } = new URL(url)
  const socket = connect({ host: hostname, port: Number(port), noDelay: true })
  try {
    const nextReply = repliesOf(socket)
    const login = Buffer.from(`\0crash\0${key}`).toString('base64')
    const head = Object.entries(headers).map(([name, value]) => `${name}: ${value}`)
    const steps = [
      ['', '220'],
      ['EHLO crash\r\n', '250'],
      [`AUTH PLAIN ${login}\r\n`, '235'],
      ['MAIL FROM:<shop@acme.example>\r\n', '250'],
      [`RCPT TO:<${to}>\r\n`, '250'],
      ['DATA\r\n', '354'],
    ] as const
    for (const [line, code] of steps) {
      if (line) socket.write(line)
      const reply = await nextReply()
      if (!reply.startsWith(code)) return reply
    }
    socket.write(`${head.join('\r\n')}\r\n\r\n${text}\r\n.\r\n`)
    return await nextReply()
  } finally {
    socket.destroy()
  }
}
