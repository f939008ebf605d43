import { connect, type Socket } from 'node:net'
import { within } from './within.ts'

/** The bytes that a socket received until the server closed it. */
export interface RawAnswer {
  /** All bytes as text. */
  text: string
  /** The statuses of the answers, in their order. */
  statuses: number[]
}

/** Writes bytes to a server unchanged, and reads until the server closes the connection. */
export async function speak(
  url: string,
  write: (socket: Socket) => void,
  { max_ms = 5_000 }: { max_ms?: number } = {},
): Promise<RawAnswer> {
  const { hostname, port } = new URL(url)
  const socket = connect({ host: hostname, port: Number(port) })
  const chunks: Buffer[] = []
  socket.on('data', (chunk) => chunks.push(chunk))
  const closed = new Promise<void>((resolve) => {
    socket.on('close', () => resolve())
    // A reset counts as closed; the bytes before it remain.
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
  return { text, statuses }
}

/** The bytes of a request that asks for `Connection: close`. */
export function requestText(
  line: string,
  headers: readonly string[] = [],
  body: string = '',
): string {
  return [line, 'Host: svc', 'Connection: close', ...headers, '', body].join('\r\n')
}
