import { createServer } from 'node:net'
import { answer, listen } from '../../stage/answer.mjs'

// Receives webhooks at minimal cost, because the sender is measured. `/hang…` is never answered. Requests:
// `SinkHandlers`.

const HEAD_END = Buffer.from('\r\n\r\n')
const OK = Buffer.from('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok')

const counts = new Map()
let received = 0
let waits = []

answer({
  start: async () => ({ port: await listen(createServer(serve)) }),
  /** The number of answered requests, in total and by path. */
  count: () => ({ received, paths: Object.fromEntries(counts) }),
  /** The wait of each request that was answered since the last call, as [path, milliseconds]. */
  waits() {
    const found = waits
    waits = []
    return found
  },
})

function serve(socket) {
  let kept = null
  socket.setNoDelay(true)
  socket.on('error', () => socket.destroy())
  socket.on('data', (chunk) => {
    kept = kept ? Buffer.concat([kept, chunk]) : chunk
    const end = kept.indexOf(HEAD_END)
    if (end < 0) return
    const head = kept.toString('latin1', 0, end)
    const length = Number(/content-length: (\d+)/i.exec(head)?.[1] ?? 0)
    if (kept.length < end + 4 + length) return
    const path = head.slice(5, head.indexOf(' ', 5))
    note(path, kept.toString('utf8', end + 4))
    kept = null
    if (!path.startsWith('/hang')) socket.write(OK)
  })
}

function note(path, body) {
  if (path.startsWith('/hang')) return
  received += 1
  counts.set(path, (counts.get(path) ?? 0) + 1)
  const at = /"occurred_at":"([^"]+)"/.exec(body)?.[1]
  if (at) waits.push([path, Date.now() - Date.parse(at)])
}
