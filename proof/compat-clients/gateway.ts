import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

/** A gateway that takes calls and reports each as ended. The sandbox carries no calls. */
export interface Gateway {
  /** The setting `SVC_PROVIDERS` of a service that calls through the gateway. */
  providers: string
  close(): Promise<void>
}

const SENDER = '+14155550190'

/** How often a refused report is repeated: the service may not have stored the answer yet. */
const REPORTS_MAX = 20
const REPORT_WAIT_MS = 200

export async function openGateway(): Promise<Gateway> {
  let taken = 0
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const { callback } = JSON.parse(Buffer.concat(chunks).toString()) as { callback: string }
    taken += 1
    const id = String(taken)
    response.setHeader('content-type', 'application/json')
    response.end(JSON.stringify({ id }))
    await report(callback, id)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const gateway = {
    name: 'calls',
    type: 'http',
    channels: ['voice'],
    senders: { voice: [SENDER] },
    idempotent: true,
    send: {
      url: `http://127.0.0.1:${port}/calls`,
      body: { to: '{{to}}', text: '{{text}}', callback: '{{callback_url}}' },
    },
    answer: { id: '/id' },
    callback: {
      receipts: {
        provider_message_id: '/id',
        status: '/state',
        statuses: { ENDED: 'delivered' },
      },
    },
  }
  return {
    providers: JSON.stringify([gateway]),
    async close() {
      const closed = once(server, 'close')
      server.close()
      server.closeAllConnections()
      await closed
    },
  }
}

async function report(url: string, id: string): Promise<void> {
  const headers = { 'content-type': 'application/json' }
  const body = JSON.stringify({ id, state: 'ENDED' })
  for (let n = 0; n < REPORTS_MAX; n++) {
    await new Promise((resolve) => setTimeout(resolve, REPORT_WAIT_MS))
    const { ok } = await fetch(url, { method: 'POST', headers, body })
    if (ok) return
  }
  throw new Error('the service refuses the report of a call')
}
