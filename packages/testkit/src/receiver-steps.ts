import type { ServerResponse } from 'node:http'

/**
 * What a receiver does with one request: a status; `timeout` never answers; `reset` cuts the
 * connection; `drip` sends one byte a second without end; `redirect` answers 302 to another path;
 * `huge` answers 32 MB.
 */
export type ReceiverStep =
  | number
  | {
      status: number
      /** The `Retry-After` header: whole seconds, or a date. */
      retry_after?: number | string
      headers?: Readonly<Record<string, string>>
      body?: string
      /** Delays the answer, in milliseconds. */
      after_ms?: number
    }
  | 'timeout'
  | 'reset'
  | 'drip'
  | 'redirect'
  | 'huge'

const DRIP_MS = 1000
const HUGE_BYTES = 32 * 1024 * 1024
const PIECE = Buffer.alloc(64 * 1024, '.')

/** Performs the step. Returns the answered status, or null if the step sends no complete answer. */
export function take(step: ReceiverStep, response: ServerResponse): number | null {
  if (typeof step === 'number') return answer({ status: step }, response)
  if (typeof step === 'object') return answer(step, response)
  return NAMED[step](response)
}

const NAMED: Record<Extract<ReceiverStep, string>, (response: ServerResponse) => number | null> = {
  timeout: () => null,
  reset(response) {
    response.socket?.resetAndDestroy()
    return null
  },
  drip(response) {
    response.writeHead(200)
    const timer = setInterval(() => response.write('.'), DRIP_MS)
    response.write('.')
    response.on('close', () => clearInterval(timer))
    return null
  },
  redirect: (response) => answer({ status: 302, headers: { location: '/redirected' } }, response),
  huge(response) {
    response.writeHead(200, { 'content-length': HUGE_BYTES })
    let left = HUGE_BYTES / PIECE.length
    const pour = () => {
      while (left > 0) {
        left--
        if (!response.write(PIECE)) return
      }
      response.end()
    }
    response.on('drain', pour)
    pour()
    return 200
  },
}

function answer(
  { status, retry_after, headers, body, after_ms }: Extract<ReceiverStep, object>,
  response: ServerResponse,
): number {
  const retry = retry_after === undefined ? {} : { 'retry-after': String(retry_after) }
  const send = () => void response.writeHead(status, { ...retry, ...headers }).end(body)
  if (after_ms === undefined) send()
  else {
    const timer = setTimeout(send, after_ms)
    response.on('close', () => clearTimeout(timer))
  }
  return status
}
