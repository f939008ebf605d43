import { createSocket } from 'node:dgram'
import { once } from 'node:events'

const TXT = 16

/** Texts of a name; `silence`: no answer; `refused`: the server does not serve the name. */
export type TxtAnswer = readonly string[] | 'silence' | 'refused'

/** A DNS server on this machine with TXT records only. A name without a record gets NXDOMAIN. */
export async function startTxtServer() {
  const records = new Map<string, TxtAnswer>()
  const queries: string[] = []
  const socket = createSocket('udp4')
  socket.on('message', (query, { port, address }) => {
    const { name, end } = nameIn(query)
    queries.push(name)
    const answer = records.get(name.toLowerCase()) ?? []
    if (answer === 'silence') return
    const texts = answer === 'refused' ? [] : answer
    const code = answer === 'refused' ? 5 : texts.length === 0 ? 3 : 0
    const head = Buffer.from(query.subarray(0, 12))
    // An answer with recursion, without the truncated flag. RFC 1035, section 4.1.1.
    head.writeUInt16BE(0x8180 | code, 2)
    for (const [at, n] of [1, texts.length, 0, 0].entries()) head.writeUInt16BE(n, 4 + at * 2)
    const body = [head, query.subarray(12, end + 4), ...texts.map(recordOf)]
    socket.send(Buffer.concat(body), port, address)
  })
  socket.bind(0, '127.0.0.1')
  await once(socket, 'listening')
  return {
    address: `127.0.0.1:${socket.address().port}`,
    records,
    queries,
    close: () => new Promise<void>((resolve) => socket.close(() => resolve())),
  }
}

function nameIn(query: Buffer): { name: string; end: number } {
  const labels: string[] = []
  let at = 12
  for (let length = query[at] ?? 0; length > 0; length = query[at] ?? 0) {
    labels.push(query.toString('latin1', at + 1, at + 1 + length))
    at += 1 + length
  }
  return { name: labels.join('.'), end: at + 1 }
}

/** A TXT record of the queried name, in strings of at most 255 bytes. RFC 1035, section 3.3.14. */
function recordOf(text: string): Buffer {
  const strings: Buffer[] = []
  const bytes = Buffer.from(text)
  for (let at = 0; at < bytes.length || at === 0; at += 255) {
    const part = bytes.subarray(at, at + 255)
    strings.push(Buffer.from([part.length]), part)
  }
  const data = Buffer.concat(strings)
  const head = Buffer.alloc(12)
  head.writeUInt16BE(0xc00c, 0)
  head.writeUInt16BE(TXT, 2)
  head.writeUInt16BE(1, 4)
  head.writeUInt32BE(0, 6)
  head.writeUInt16BE(data.length, 10)
  return Buffer.concat([head, data])
}
