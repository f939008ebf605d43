import { PassThrough, type Readable } from 'node:stream'
import { tooBusy } from '../failures.ts'

/** Far below the five minutes after which browsers and proxies close a silent connection. */
const HEARTBEAT_MS = 15_000
/** How long a browser waits before it connects again. */
const RETRY_MS = 1_000
const STREAMS_MAX = 32
/** A stream with more unread bytes is closed. Its client then connects again and reads everything. */
const UNREAD_MAX_BYTES = 4_194_304

export interface Streams {
  /**
   * Opens a stream of server-sent events, until either side ends the stream. `begin` gets the function that sends an event, and
   * returns a function to call at the end.
   * @throws SvcError if the maximum number of streams is open.
   */
  open(begin: (send: Send) => () => void): Readable
  close(): void
}

/** Sends one event, as JSON. */
export type Send = (event: string, data: unknown) => void

export function createStreams(heartbeat_ms = HEARTBEAT_MS): Streams {
  const streams = new Set<PassThrough>()

  return {
    open(begin) {
      if (streams.size >= STREAMS_MAX) throw tooBusy()
      const stream = new PassThrough()
      const write = (text: string) => {
        if (stream.writableLength > UNREAD_MAX_BYTES) stream.destroy()
        else if (stream.writable) stream.write(text)
      }
      streams.add(stream)
      write(`retry: ${RETRY_MS}\n\n`)
      const heartbeat = setInterval(() => write(': still here\n\n'), heartbeat_ms)
      const end = begin((event, data) =>
        write(`event: ${event}\ndata: ${JSON.stringify(data)}\n\n`),
      )
      stream.once('close', () => {
        streams.delete(stream)
        clearInterval(heartbeat)
        end()
      })
      return stream
    },
    close() {
      for (const stream of streams) stream.end()
    },
  }
}
