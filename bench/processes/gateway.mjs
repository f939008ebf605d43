import { Agent, createServer, request } from 'node:http'
import { answer } from './answer.mjs'

// A gateway for messages: answers each request with an id, then reports the delivery to the callback address of the
// message. Requests: `GatewayHandlers`.

/** The pause before a refused callback is repeated. */
const RETRY_MS = 200

const agent = new Agent({ keepAlive: true, maxSockets: 64 })

let taken = 0

answer({
  start: () =>
    new Promise((resolve) => {
      const server = createServer(serve)
      server.listen(0, '127.0.0.1', () =>
        resolve({ url: `http://127.0.0.1:${server.address().port}` }),
      )
    }),
})

function serve(message, response) {
  let text = ''
  message.setEncoding('utf8').on('data', (chunk) => {
    text += chunk
  })
  message.on('end', () => {
    const id = String(++taken)
    const body = JSON.stringify({ id })
    response.writeHead(200, {
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(body),
    })
    response.end(body, () => report(JSON.parse(text).callback, id))
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
