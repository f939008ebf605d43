import type { IncomingMessage } from 'node:http'

/** Past this, or after so long, whoever is still sending is hung up on. */
const BYTES_MAX = 16 * 1024 * 1024
const WAIT_MAX_MS = 5_000

/** Who pauses for so long waits for the answer. */
const SILENCE_MS = 300

/** Reads what is still being sent, for a bounded while, and throws it away; then does the rest, once. */
export function hearOut(request: IncomingMessage, then: () => void): void {
  const until = Date.now() + WAIT_MAX_MS
  let bytes = 0
  let silence: NodeJS.Timeout | undefined
  const done = () => {
    clearTimeout(silence)
    request.off('data', hear).off('end', done).off('close', done)
    then()
  }
  const wait = () => {
    clearTimeout(silence)
    silence = setTimeout(done, SILENCE_MS)
  }
  const hear = (chunk: Buffer) => {
    bytes += chunk.length
    if (bytes > BYTES_MAX || Date.now() > until) done()
    else wait()
  }
  wait()
  request.on('data', hear).once('end', done).once('close', done).resume()
}
