import { answer } from '../../stage/answer.mjs'
import {
  type Connection,
  openConnection,
  type RequestParts,
  requestBytes,
} from '../../stage/connection.ts'

/** The placeholder for a recipient's own digits; the bytes between two of them belong to one message. */
const MARK = '@@@@@@@'

/** The requests of a process that generates load. */
export type SmsLoadHandlers = typeof handlers

/** The number of messages, in requests of one kind. */
export interface SmsLoad {
  url: string
  /** With `@@@@@@@` in place of a message's own seven digits. */
  request: RequestParts
  status: number
  messages_each: number
  connections: number
  messages: number
}

let next_number = 1

const handlers = {
  /** Sends at the rate of the answers, one request at a time on each connection; all messages differ. */
  async run({ url, request, status, messages_each, connections, messages }: SmsLoad) {
    const open = await Promise.all(Array.from({ length: connections }, () => openConnection(url)))
    let left = Math.ceil(messages / messages_each)
    const sent = left * messages_each
    const from_ms = now()
    async function send(connection: Connection): Promise<void> {
      const template = templateOf(url, request, messages_each)
      while (left > 0) {
        left -= 1
        const { status: answered, body } = await connection.request(template())
        if (answered !== status) throw new Error(`answered ${answered}: ${body.slice(0, 500)}`)
      }
    }
    await Promise.all(open.map(send))
    for (const connection of open) connection.close()
    return { sent, from_ms, taken_ms: now() }
  },
}

/** The bytes of a request with new digits. The buffer is reused, because there is one request at a time. */
function templateOf(url: string, request: RequestParts, messages_each: number): () => Buffer {
  const bytes = requestBytes(url, request)
  const marks: number[] = []
  for (let at = bytes.indexOf(MARK); at >= 0; at = bytes.indexOf(MARK, at + 1)) marks.push(at)
  const each = marks.length / messages_each
  return () => {
    marks.forEach((at, i) => {
      bytes.write(
        String(next_number + Math.floor(i / each)).padStart(MARK.length, '0'),
        at,
        'latin1',
      )
    })
    next_number += messages_each
    return bytes
  }
}

/** The machine's clock, comparable with the times of other processes. */
function now(): number {
  return performance.timeOrigin + performance.now()
}

answer(handlers)
