import { get } from 'node:http'

/** An answer to a GET, and its duration. */
export interface Asked {
  /** 0 without an answer in time; `text` then has the reason. */
  status: number
  headers: Record<string, string | string[] | undefined>
  text: string
  ms: number
}

/** GETs on a new connection: the server might close a kept one at the moment of its use. */
export function ask(url: string, max_ms = 10_000): Promise<Asked> {
  const from = performance.now()
  return new Promise((resolve) => {
    const request = get(url, { agent: false }, (response) => {
      const parts: string[] = []
      response.setEncoding('utf8').on('data', (text: string) => parts.push(text))
      response.on('error', ({ message }) => end(0, message))
      response.on('end', () => end(response.statusCode ?? 0, parts.join(''), response.headers))
    })
    function end(status: number, text: string, headers: Asked['headers'] = {}): void {
      clearTimeout(limit)
      resolve({ status, headers, text, ms: performance.now() - from })
    }
    const limit = setTimeout(() => {
      const state = request.socket?.connecting === false ? 'connected' : 'not connected'
      end(0, `no answer within ${max_ms} ms, ${state}`)
      request.destroy()
    }, max_ms)
    request.on('error', ({ message }) => end(0, message))
  })
}
