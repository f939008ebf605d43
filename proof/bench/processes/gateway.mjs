import { Agent, createServer, request } from 'node:http'
import { answer, listen } from '../../stage/answer.mjs'

// A gateway for messages: answers each request with an id, then reports the delivery to the callback address of the
// message, if it has one. Requests: `GatewayHandlers`.

/** The pause before a refused callback is repeated. */
const RETRY_MS = 200

const agent = new Agent({ keepAlive: true, maxSockets: 64 })

let requests = 0
let answered = 0
let latency_ms = 0
const recipients = new Set()

answer({
  async start(input) {
    latency_ms = input.latency_ms
    return { url: `http://127.0.0.1:${await listen(createServer(serve))}` }
  },
  taken: () => ({ requests, answered, different: recipients.size }),
})

function serve(message, response) {
  let text = ''
  message.setEncoding('utf8').on('data', (chunk) => {
    text += chunk
  })
  message.on('end', () => {
    const id = String(++requests)
    const { to, callback } = JSON.parse(text)
    if (latency_ms > 0) recipients.add(to)
    const body = JSON.stringify({ id })
    const respond = () => {
      response.writeHead(200, {
        'content-type': 'application/json',
        'content-length': Buffer.byteLength(body),
      })
      response.end(body, () => {
        answered += 1
        if (callback) report(callback, id)
      })
    }
    if (latency_ms > 0) setTimeout(respond, latency_ms)
    else respond()
  })
}

function report(url, id) {
  const body = JSON.stringify({ id, state: 'DELIVERED' })
  const headers = {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(body),
  }
  const again = () => setTimeout(() => report(url, id), RETRY_MS)
  const post = request(url, { method: 'POST', agent, headers }, (response) => {
    response.resume()
    if (response.statusCode >= 300) again()
  })
  post.once('error', again)
  post.end(body)
}
