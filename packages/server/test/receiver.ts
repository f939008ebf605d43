import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'

/** A received delivery. */
export interface Arrival {
  method: string
  /** The path and the query. */
  path: string
  headers: IncomingHttpHeaders
  body: Buffer
}

/** A receiver of webhooks on a loopback address: keeps deliveries, and answers 200 with `text`, or with the result of `answer`. */
export async function openReceiver({
  answer = () => 200,
  text = 'thanks',
  type,
}: {
  answer?: (arrival: Arrival) => number
  text?: string | (() => string)
  /** The media type of the answers. */
  type?: string
} = {}) {
  const arrivals: Arrival[] = []
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    const { method = '', url: path = '', headers } = request
    const arrival = { method, path, headers, body: Buffer.concat(chunks) }
    arrivals.push(arrival)
    response.statusCode = answer(arrival)
    if (type !== undefined) response.setHeader('content-type', type)
    response.end(typeof text === 'string' ? text : text())
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    arrivals,
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`,
    async close(): Promise<void> {
      const closed = once(server, 'close')
      server.close()
      server.closeAllConnections()
      await closed
    },
  }
}
