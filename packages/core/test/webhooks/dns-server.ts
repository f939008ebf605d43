import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import ipaddr from 'ipaddr.js'

const A = 1
const AAAA = 28
const ANSWER = 0x8180
const NOT_FOUND = 0x8183

/** The answer to a query: addresses, none at all, or NXDOMAIN. */
export type DnsAnswer = readonly string[] | 'silence' | 'unknown'

/** A scripted DNS server on this machine. `nth` counts the queries for a name and family before this one. */
export async function startDnsServer(answer: (name: string, nth: number) => DnsAnswer) {
  const socket = createSocket('udp4')
  const counts = new Map<string, number>()
  socket.on('message', (query, { port, address }) => {
    const { name, end } = nameIn(query, 12)
    const type = query.readUInt16BE(end)
    const key = `${name} ${type}`
    const nth = counts.get(key) ?? 0
    counts.set(key, nth + 1)
    const reply = answer(name, nth)
    if (reply === 'silence') return
    const addresses = reply === 'unknown' ? [] : reply.map(ipaddr.parse)
    const kind = type === AAAA ? 'ipv6' : 'ipv4'
    const records = addresses.filter((each) => each.kind() === kind).map(recordOf)
    const head = Buffer.from(query.subarray(0, 12))
    head.writeUInt16BE(reply === 'unknown' ? NOT_FOUND : ANSWER, 2)
    for (const [at, n] of [1, records.length, 0, 0].entries()) head.writeUInt16BE(n, 4 + at * 2)
    socket.send(Buffer.concat([head, query.subarray(12, end + 4), ...records]), port, address)
  })
  socket.bind(0, '127.0.0.1')
  await once(socket, 'listening')
  return {
    address: `127.0.0.1:${socket.address().port}`,
    /** How many queries for the IPv4 addresses of a name came. */
    queries: (name: string) => counts.get(`${name} ${A}`) ?? 0,
    close: () => new Promise<void>((resolve) => socket.close(() => resolve())),
  }
}

function nameIn(query: Buffer, start: number): { name: string; end: number } {
  const labels: string[] = []
  let at = start
  for (let length = query[at] ?? 0; length > 0; length = query[at] ?? 0) {
    labels.push(query.toString('latin1', at + 1, at + 1 + length))
    at += 1 + length
  }
  return { name: labels.join('.'), end: at + 1 }
}

/** A record of the queried name with a TTL of 0. RFC 1035 section 3.2.1. */
function recordOf(address: ipaddr.IPv4 | ipaddr.IPv6): Buffer {
  const data = Buffer.from(address.toByteArray())
  const head = Buffer.alloc(12)
  head.writeUInt16BE(0xc00c, 0)
  head.writeUInt16BE(address.kind() === 'ipv6' ? AAAA : A, 2)
  head.writeUInt16BE(1, 4)
  head.writeUInt32BE(0, 6)
  head.writeUInt16BE(data.length, 10)
  return Buffer.concat([head, data])
}
