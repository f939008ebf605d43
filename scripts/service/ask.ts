import { get } from 'node:http'

/** An answer to a GET, and how long it took. */
export interface Asked {
  status: number
  headers: Record<string, string | string[] | undefined>
  text: string
  ms: number
}

/**
 * GETs on a connection of its own: one that is kept might be closed by the server just when it is used again. Null when
 * there was no answer, or none in time.
 */
export function ask(url: string, max_ms = 10_000): Promise<Asked | null> {
  const from = performance.now()
  return new Promise((resolve) => {
    const request = get(url, { agent: false }, (response) => {
      const parts: string[] = []
      response.setEncoding('utf8').on('data', (text: string) => parts.push(text))
      response.on('error', () => resolve(null))
      response.on('end', () => {
        clearTimeout(limit)
        const { statusCode = 0, headers } = response
        resolve({ status: statusCode, headers, text: parts.join(''), ms: performance.now() - from })
      })
    })
    const limit = setTimeout(() => {
      resolve(null)
      request.destroy()
    }, max_ms)
    request.on('error', () => {
      clearTimeout(limit)
      resolve(null)
    })
  })
}
