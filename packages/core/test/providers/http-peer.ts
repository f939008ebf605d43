import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import {
  type AddressInfo,
  createServer as createTcpServer,
  type Server,
  type Socket,
} from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createServer as createTlsServer } from 'node:tls'
import { gzipSync } from 'node:zlib'
import { DEADLINES_MS } from '@svc/testkit/provider'

/** A request that the peer has read to its end. */
export interface PeerRequest {
  /** Counted from 1, over all connections. */
  id: number
  method: string
  /** With the query. */
  path: string
  headers: Record<string, string>
  body: string
  /** Whether the peer accepted the message, with any answer. Outcomes are compared with this. */
  accepted: boolean
}

/** The reaction of the peer to a request that it has read. It may set `request.accepted`. */
export type HttpPlay = (request: PeerRequest, socket: Socket) => void

export interface HttpPeer {
  /** Without a slash at the end. */
  url: string
  requests: readonly PeerRequest[]
  /** The reactions to the next requests, in order; afterwards `otherwise`. */
  next(...plays: HttpPlay[]): void
  otherwise(play: HttpPlay): void
  /** How many connections are open. */
  connections(): number
  /** Refuses connections from now on and ends the open ones. */
  refuse(): Promise<void>
  /** Accepts connections again, on the same port. */
  listen(): Promise<void>
  close(): Promise<void>
}

/** A scripted peer on loopback, byte by byte: no HTTP server would send most of these answers. */
export async function openHttpPeer({ tls }: { tls?: Certificate } = {}): Promise<HttpPeer> {
  const requests: PeerRequest[] = []
  const plays: HttpPlay[] = []
  const sockets = new Set<Socket>()
  let fallback: HttpPlay = taken
  const onSocket = (socket: Socket) => {
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
    // Some tests close the connection.
    socket.on('error', () => {})
    readRequests(socket, (raw) => {
      const request = { id: requests.length + 1, accepted: false, ...raw }
      requests.push(request)
      const play = plays.shift() ?? fallback
      play(request, socket)
    })
  }
  const server = tls ? createTlsServer(tls, onSocket) : createTcpServer(onSocket)
  server.on('tlsClientError', () => {})
  const port = await listenOn(server, 0)
  const refuse = async () => {
    const closed = new Promise((resolve) => server.close(resolve))
    for (const socket of sockets) socket.destroy()
    await closed
  }
  return {
    url: `${tls ? 'https://localhost' : 'http://127.0.0.1'}:${port}`,
    requests,
    next: (...more) => {
      plays.push(...more)
    },
    otherwise: (play) => {
      fallback = play
    },
    connections: () => sockets.size,
    refuse,
    listen: async () => {
      await listenOn(server, port)
    },
    close: refuse,
  }
}

function listenOn(server: Server, port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, '127.0.0.1', () => resolve((server.address() as AddressInfo).port))
  })
}

/** A URL with a port on which no server listens. */
export async function refusedUrl(): Promise<string> {
  const peer = await openHttpPeer()
  await peer.close()
  return peer.url
}

type RawRequest = Omit<PeerRequest, 'id' | 'accepted'>

/** Bodies must have a `content-length`, as ours do. */
function readRequests(socket: Socket, onRequest: (request: RawRequest) => void): void {
  let held = Buffer.alloc(0)
  socket.on('data', (chunk) => {
    held = Buffer.concat([held, chunk])
    for (;;) {
      const end = held.indexOf('\r\n\r\n')
      if (end === -1) return
      const [first = '', ...lines] = held.subarray(0, end).toString('latin1').split('\r\n')
      const headers = Object.fromEntries(lines.map(headerOf))
      const length = Number(headers['content-length'] ?? 0)
      if (held.length < end + 4 + length) return
      const [method = '', path = ''] = first.split(' ')
      const body = held.subarray(end + 4, end + 4 + length).toString('utf8')
      held = held.subarray(end + 4 + length)
      onRequest({ method, path, headers, body })
    }
  })
}

function headerOf(line: string): [string, string] {
  const colon = line.indexOf(':')
  return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()]
}

function written(status: number, body: string | Buffer, headers: Record<string, string>): Buffer {
  const lines = Object.entries(headers).map(([name, text]) => `${name}: ${text}\r\n`)
  return Buffer.concat([
    Buffer.from(`HTTP/1.1 ${status} Peer\r\n${lines.join('')}\r\n`),
    Buffer.from(body),
  ])
}

/** A complete, valid answer; a body that is not a text is sent as JSON. */
export function answer(
  status: number,
  body: unknown = {},
  headers: Record<string, string> = {},
): HttpPlay {
  return (_, socket) => {
    const text = typeof body === 'string' ? body : JSON.stringify(body)
    socket.write(
      written(status, text, {
        'content-type': 'application/json',
        'content-length': String(Buffer.byteLength(text)),
        ...headers,
      }),
    )
  }
}

/** Accepts the message, then reacts with `play`. */
export function accepting(play: HttpPlay): HttpPlay {
  return (request, socket) => {
    request.accepted = true
    play(request, socket)
  }
}

/** Accepts the message: 200 with an id. */
export const taken: HttpPlay = accepting((request, socket) => {
  answer(200, { id: idOf(request), status: 'ok' })(request, socket)
})

/** The id that `taken` returns for this request. */
export function idOf({ id }: PeerRequest): string {
  return `peer-${id}`
}

const MB = 1024 * 1024
const DRIP_MS = 20

function drip(socket: Socket, bytes: Buffer): void {
  let at = 0
  const timer = setInterval(() => {
    socket.write(bytes.subarray(at, at + 1))
    at += 1
    if (at >= bytes.length) clearInterval(timer)
  }, DRIP_MS)
  socket.on('close', () => clearInterval(timer))
}

const LONG = { 'content-type': 'application/json', 'content-length': String(10 * MB) }

function reset(socket: Socket): void {
  socket.resetAndDestroy()
}

/** Calls `then` once the bytes are written. */
function writeThen(socket: Socket, bytes: Buffer, then: (socket: Socket) => void): void {
  socket.write(bytes, () => then(socket))
}

/** Every fault after a request was read that leaves it without a complete answer. Source: reliability, section 2.4. */
export const NO_ANSWER = {
  hang: () => {},
  close: (_, socket) => {
    socket.end()
  },
  reset: (_, socket) => reset(socket),
  slow_headers: (_, socket) => drip(socket, written(200, '', { 'x-long': 'a'.repeat(10_000) })),
  slow_body: (_, socket) => drip(socket, written(200, 'a'.repeat(10_000), LONG)),
  headers_alone: (_, socket) => {
    socket.write(written(200, '', LONG))
  },
  close_in_headers: (_, socket) => {
    socket.end('HTTP/1.1 200 OK\r\ncontent-le')
  },
  close_in_body: (_, socket) => {
    socket.end(written(200, '{"id":"x"', LONG))
  },
  reset_in_body: (_, socket) => writeThen(socket, written(200, '{"id":"x"', LONG), reset),
  close_in_chunk: (_, socket) => {
    socket.end('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n10\r\n{"id":')
  },
  two_lengths: (_, socket) => {
    socket.write('HTTP/1.1 200 OK\r\ncontent-length: 2\r\ncontent-length: 9\r\n\r\n{}')
  },
  bad_chunk: (_, socket) => {
    socket.write('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n{}\r\n')
  },
  not_http: (_, socket) => {
    socket.write('220 mail.example.test ESMTP\r\n')
  },
  huge_headers: (_, socket) => {
    socket.write(written(200, '', { 'x-long': 'a'.repeat(100_000) }))
  },
  unrequested_upgrade: (_, socket) => {
    socket.write('HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n')
  },
} satisfies Record<string, HttpPlay>

/** Those that only a deadline ends. */
const ENDLESS = ['hang', 'slow_headers', 'slow_body', 'headers_alone']

/** The deadline for a peer with this fault. */
export function deadlineMsFor(name: string): number {
  return ENDLESS.includes(name) ? DEADLINES_MS.brief : DEADLINES_MS.patient
}

/** Complete but unusual answers. Source: reliability, section 2.4. */
export const ODD_ANSWERS = {
  truncated_json: answer(200, '{"id":"x"'),
  empty: answer(200, ''),
  wrong_content_type: answer(200, { id: 'x' }, { 'content-type': 'text/html' }),
  no_json: answer(200, '<html>fine</html>', { 'content-type': 'text/html' }),
  error_payload: answer(200, { error: { code: 'E1', message: 'no' } }),
  huge_body: answer(200, `{"id":"x","pad":"${'a'.repeat(10 * MB)}"}`),
  gzip_bomb: (_, socket) => {
    const body = gzipSync(Buffer.alloc(20 * MB, 32))
    const headers = { ...LONG, 'content-length': String(body.length), 'content-encoding': 'gzip' }
    socket.write(written(200, body, headers))
  },
  redirect: ({ path }, socket) => {
    socket.write(written(307, '', { location: `${path}?again`, 'content-length': '0' }))
  },
  extra_response: (request, socket) => {
    answer(200, { id: 'x' })(request, socket)
    answer(200, { id: 'poison' })(request, socket)
  },
} satisfies Record<string, HttpPlay>

/** Key and certificate, PEM. */
export interface Certificate {
  key: string
  cert: string
}

/** A new self-signed certificate for this host name. */
export function certificateFor(host: string): Certificate {
  const folder = mkdtempSync(join(tmpdir(), 'svc-peer-'))
  try {
    const [key, cert] = [join(folder, 'key.pem'), join(folder, 'cert.pem')]
    const curve = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes']
    const name = ['-subj', `/CN=${host}`, '-addext', `subjectAltName=DNS:${host}`]
    const files = ['-keyout', key, '-out', cert, '-days', '2']
    execFileSync('openssl', ['req', '-x509', ...curve, ...name, ...files], { stdio: 'pipe' })
    return { key: readFileSync(key, 'utf8'), cert: readFileSync(cert, 'utf8') }
  } finally {
    rmSync(folder, { recursive: true })
  }
}
