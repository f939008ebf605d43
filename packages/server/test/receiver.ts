import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'

/** A received delivery. */
export interface Arrival {
  headers: IncomingHttpHeaders
  body: Buffer
}

/** A receiver of webhooks on a loopback address: keeps deliveries, and answers 200 with `text`, or with the result of `answer`. */
export async function openReceiver({
  answer = () => 200,
  text = 'thanks',
}: {
  answer?: (arrival: Arrival) => number
  text?: string
} = {}) {
  const arrivals: Arrival[] = []
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    const arrival = { headers: request.headers, body: Buffer.concat(chunks) }
    arrivals.push(arrival)
    response.statusCode = answer(arrival)
    response.end(text)
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
