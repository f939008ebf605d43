import { createHmac } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { text } from 'node:stream/consumers'

const STATUSES = { accept: 200, reject: 400, throttle: 429, unavailable: 503 }

/** The ways in which this Acme can treat a message. */
export const FATES = [...Object.keys(STATUSES), 'hang_after_read', 'drop_after_read']

/** The headers of a report of Acme. */
export function signed(body, report_secret) {
  return { 'x-acme-signature': createHmac('sha256', report_secret).update(body).digest('hex') }
}

/** Starts an Acme on this machine for the tests. `fates` says how it treats a recipient; default: it accepts. */
export async function startAcme({ api_key, fates = new Map() }) {
  const messages = []
  let valid_key = api_key
  const server = createServer(async (request, response) => {
    const message = JSON.parse(await text(request))
    const { authorization, 'idempotency-key': identity } = request.headers
    if (authorization !== `Bearer ${valid_key}`) return response.writeHead(401).end()
    const fate = fates.get(message.to)
    const status = STATUSES[fate] ?? 200
    const id = `acme-${messages.length + 1}`
    messages.push({ ...message, id, identity, accepted: status === 200 })
    if (fate === 'drop_after_read') return request.socket.destroy()
    if (fate === 'hang_after_read') return
    response.writeHead(status).end(JSON.stringify({ id }))
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${server.address().port}`,
    messages,
    changeKey() {
      valid_key = 'another'
    },
    stop() {
      server.close()
      server.closeAllConnections()
    },
  }
}
