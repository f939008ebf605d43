import type { IncomingMessage } from 'node:http'

/** Draining ends after this many bytes, or after this time. */
const BYTES_MAX = 16 * 1024 * 1024
const WAIT_MAX_MS = 5_000

/** If a client pauses for this time, it probably waits for the answer. */
const PAUSE_MS = 300

/** Reads and discards the rest of a body, within bounds; then calls `done` once. */
export function drainBody(request: IncomingMessage, done: () => void): void {
  const until = Date.now() + WAIT_MAX_MS
  let bytes = 0
  let pause: NodeJS.Timeout | undefined
  const finish = () => {
    clearTimeout(pause)
    request.off('data', discard).off('end', finish).off('close', finish)
    done()
  }
  const wait = () => {
    clearTimeout(pause)
    pause = setTimeout(finish, PAUSE_MS)
  }
  const discard = (chunk: Buffer) => {
    bytes += chunk.length
    if (bytes > BYTES_MAX || Date.now() > until) finish()
    else wait()
  }
  wait()
  request.on('data', discard).once('end', finish).once('close', finish).resume()
}
