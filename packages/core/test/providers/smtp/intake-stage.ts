import { once } from 'node:events'
import { connect } from 'node:net'
import type { Listening, MessageRef, Report, Sink } from '../../../src/contract/outside/provider.ts'
import { messageToken } from '../../../src/contract/signing/mail-address-token.ts'
import { type IntakeLimits, listenForMail } from '../../../src/providers/smtp/intake.ts'

export const SECRET = 'a secret of the tests'
export const BOUNCE_DOMAIN = 'bounce.example.test'

let count = 0

/** The ids of a new message. */
export function newRef(): MessageRef {
  count += 1
  const tail = count.toString(16).padStart(12, '0')
  return {
    workspace_id: `01999c7e-8f5c-7000-8a3b-${tail}`,
    message_id: `01999c7e-8f5d-7001-9a3b-${tail}`,
  }
}

/** The envelope sender of a message. */
export function bounceAddress(ref: MessageRef): string {
  return `b+${messageToken(SECRET, 'bounce', ref)}@${BOUNCE_DOMAIN}`
}

/** Keeps all reports. `before` can delay or fail the store. */
export function createSink() {
  const reports: Report[] = []
  const notes: { level: string; text: string; fields: object }[] = []
  const waiting: (() => void)[] = []
  const sink = {
    reports,
    notes,
    /** Runs before each store. */
    before: async (): Promise<void> => {},
    async receive(more: readonly Report[]) {
      await sink.before()
      reports.push(...more)
      for (const wake of waiting.splice(0)) wake()
    },
    note: (level: string, text: string, fields: object) => void notes.push({ level, text, fields }),
    /** Resolves after `count` reports have come. */
    async came(count: number): Promise<Report[]> {
      while (reports.length < count) await new Promise<void>((resolve) => waiting.push(resolve))
      return reports
    },
  }
  return sink satisfies Sink
}

export interface Intake extends Listening {
  port: number
}

export async function openIntake(
  sink: Sink,
  limits?: IntakeLimits,
  more: { max_bytes?: number } = {},
): Promise<Intake> {
  const listening = await listenForMail({
    intake: { host: '127.0.0.1', port: 0, ...more },
    bounce_domain: BOUNCE_DOMAIN,
    secret: SECRET,
    sink,
    ...(limits && { limits }),
  })
  return { ...listening, port: Number(listening.states()[0]?.name.split(':').at(-1)) }
}

/** Talks SMTP line by line, so that a test can send what no mail library sends. */
export async function talkTo(port: number) {
  const socket = connect(port, '127.0.0.1')
  let text = ''
  let isClosed = false
  let wake = () => {}
  socket.on('data', (chunk) => {
    text += chunk
    wake()
  })
  socket.on('error', () => {})
  socket.on('close', () => {
    isClosed = true
    wake()
  })
  const closed = once(socket, 'close')

  /** The next complete answer; an empty one if the connection ended. */
  async function answer(): Promise<string> {
    for (;;) {
      const found = /^(?:\d{3}-[^\n]*\n)*\d{3} [^\n]*\n/.exec(text)
      if (found) {
        text = text.slice(found[0].length)
        return found[0].trim()
      }
      if (isClosed) return ''
      await new Promise<void>((resolve) => {
        wake = resolve
      })
    }
  }

  await answer()
  const command = async (line: string) => {
    socket.write(`${line}\r\n`)
    return answer()
  }
  return {
    command,
    answer,
    write: (raw: string | Uint8Array) => void socket.write(raw),
    /** Sends the commands before a mail, and the mail. Resolves with the last answer. */
    async mail(to: readonly string[], raw: string, from = ''): Promise<string> {
      await command('EHLO sender.example.test')
      await command(`MAIL FROM:<${from}>`)
      for (const each of to) await command(`RCPT TO:<${each}>`)
      const go = await command('DATA')
      if (!go.startsWith('354')) return go
      return command(`${raw.replace(/^\./gm, '..')}\r\n.`)
    },
    closed,
    end: () => void socket.destroy(),
  }
}
