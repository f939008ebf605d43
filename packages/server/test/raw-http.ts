import { connect, type Socket } from 'node:net'
import { within } from './within.ts'

/** What came back over a socket until the other side closed it. */
export interface RawAnswer {
  /** Everything, as it came. */
  text: string
  /** The statuses of the answers in it, in their order. */
  statuses: number[]
  /** How long the other side kept the connection open. */
  took_ms: number
}

/** Writes bytes to a server, as they are, and reads until it closes the connection. */
export async function speak(
  url: string,
  write: (socket: Socket) => void,
  { max_ms = 5_000 }: { max_ms?: number } = {},
): Promise<RawAnswer> {
  const { hostname, port } = new URL(url)
  const began = performance.now()
  const socket = connect({ host: hostname, port: Number(port) })
  const chunks: Buffer[] = []
  socket.on('data', (chunk) => chunks.push(chunk))
  const closed = new Promise<void>((resolve) => {
    socket.on('close', () => resolve())
    // A reset counts as closed: what came before is what counts.
    socket.on('error', () => {})
  })
  socket.on('connect', () => write(socket))
  try {
    await within(max_ms, 'the server to close the connection', closed)
  } finally {
    socket.destroy()
  }
  const text = Buffer.concat(chunks).toString('latin1')
  const statuses = [...text.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status]) => Number(status))
  return { text, statuses, took_ms: performance.now() - began }
}

/** The bytes of a request whose connection shall be closed after the answer. */
export function requestText(
  line: string,
  headers: readonly string[] = [],
  body: string = '',
): string {
  return [line, 'Host: svc', 'Connection: close', ...headers, '', body].join('\r\n')
}
