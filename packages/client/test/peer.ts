import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { afterEach } from 'vitest'

/** A received request. */
export interface Seen {
  method: string
  url: string
  headers: IncomingHttpHeaders
  body: string
}

/** How the peer answers: a status with JSON or a text, or a function. */
export type Step =
  | { status: number; body?: unknown; headers?: Record<string, string> }
  | ((response: ServerResponse) => void)

export const CREATED_AT = '2026-05-04T09:30:00.000Z'
export const ID = '01934f5e-8c00-7a3b-9d2e-5f6a7b8c9d01'

/** The answer to an accepted send. */
export const SENT: Step = {
  status: 201,
  body: {
    success: true,
    data: { message_id: ID, status: 'queued', credits_used: 0.1, created_at: CREATED_AT },
  },
}

/** A refusal of the API. */
export function refusal(status: number, error: string, message: string, more: object = {}) {
  return { status, body: { success: false, error, message, ...more } }
}

/** Starts a server for each test that answers by its script; the last step repeats. */
export function usePeer() {
  const closing: (() => void)[] = []
  afterEach(() => {
    for (const close of closing.splice(0)) close()
  })
  return async (...steps: Step[]): Promise<{ url: string; seen: Seen[]; close(): void }> => {
    const seen: Seen[] = []
    const server = createServer(async (request, response) => {
      const { method = '', url = '', headers } = request
      seen.push({ method, url, headers, body: await text(request) })
      const step = steps[Math.min(seen.length, steps.length) - 1] as Step
      if (typeof step === 'function') return step(response)
      const { status, body, headers: more = {} } = step
      const content = typeof body === 'string' ? body : JSON.stringify(body)
      response.writeHead(status, { 'x-request-id': `r${seen.length}`, ...more }).end(content)
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const { port } = server.address() as AddressInfo
    const close = () => {
      server.close()
      server.closeAllConnections()
    }
    closing.push(close)
    return { url: `http://127.0.0.1:${port}`, seen, close }
  }
}
