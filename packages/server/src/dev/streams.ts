import { PassThrough } from 'node:stream'
import type { FastifyReply } from 'fastify'
import { tooBusy } from '../failures.ts'

/** Under the five minutes after which browsers and proxies give up on a silent connection, by far. */
const HEARTBEAT_MS = 15_000
/** After a lost connection a browser comes back after this. */
const RETRY_MS = 1_000
const STREAMS_MAX = 32
/** Who does not read what was sent is cut off, and comes back for the whole of it. */
const UNREAD_MAX_BYTES = 4_194_304

export interface Streams {
  /**
   * Answers with a stream of server-sent events, until either side ends it. `begin` gets what sends an event, and
   * answers what to do at the end.
   * @throws SvcError when there are as many already as are served at once.
   */
  open(reply: FastifyReply, begin: (send: Send) => () => void): FastifyReply
  close(): void
}

/** Sends one event, as JSON. */
export type Send = (event: string, data: unknown) => void

export function createStreams(heartbeat_ms = HEARTBEAT_MS): Streams {
  const streams = new Set<PassThrough>()

  return {
    open(reply, begin) {
      if (streams.size >= STREAMS_MAX) throw tooBusy()
      const stream = new PassThrough()
      const write = (text: string) => {
        if (stream.writableLength > UNREAD_MAX_BYTES) stream.destroy()
        else if (stream.writable) stream.write(text)
      }
      streams.add(stream)
      write(`retry: ${RETRY_MS}\n\n`)
      const beating = setInterval(() => write(': still here\n\n'), heartbeat_ms)
      const end = begin((event, data) =>
        write(`event: ${event}\ndata: ${JSON.stringify(data)}\n\n`),
      )
      stream.once('close', () => {
        streams.delete(stream)
        clearInterval(beating)
        end()
      })
      return reply.header('content-type', 'text/event-stream; charset=utf-8').send(stream)
    },
    close() {
      for (const stream of streams) stream.end()
    },
  }
}
