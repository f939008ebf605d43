import { connect } from 'node:net'

/** An answer: the status, the raw header lines and the body. */
export interface Answer {
  status: number
  head: string
  body: string
}

/** One keep-alive connection that carries one request at a time. */
export interface Connection {
  /** @throws Error when the connection ends before the complete answer: the server may have acted or not. */
  request(bytes: Buffer): Promise<Answer>
  close(): void
}

/** The parts of a request that is sent as prepared bytes. */
export interface RequestParts {
  method: 'GET' | 'POST' | 'PUT' | 'DELETE'
  path: string
  headers?: Record<string, string>
  /** A form, or a value that is sent as JSON. */
  body?: unknown
}

/** A complete HTTP/1.1 request as bytes. Preparing it once keeps the client cheaper than any measured server. */
export function requestBytes(
  url: string,
  { method, path, headers = {}, body }: RequestParts,
): Buffer {
  const isForm = body instanceof URLSearchParams
  const text = body === undefined ? '' : isForm ? body.toString() : JSON.stringify(body)
  const type = isForm ? 'application/x-www-form-urlencoded' : 'application/json'
  const lines = [
    `${method} ${path} HTTP/1.1`,
    `Host: ${new URL(url).host}`,
    ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
    ...(text === '' ? [] : [`Content-Type: ${type}`, `Content-Length: ${Buffer.byteLength(text)}`]),
  ]
  return Buffer.from(`${lines.join('\r\n')}\r\n\r\n${text}`)
}

/** The request that sends a message. */
export function sendBytes(
  url: string,
  key: string,
  body: unknown,
  headers: Record<string, string> = {},
): Buffer {
  const path = '/api/v1/messages/send'
  return requestBytes(url, {
    method: 'POST',
    path,
    headers: { 'X-API-Key': key, ...headers },
    body,
  })
}

/** The request of a path, with a key if there is one. */
export function getBytes(
  url: string,
  path: string,
  key?: string,
  headers: Record<string, string> = {},
): Buffer {
  const all = { ...(key !== undefined && { 'X-API-Key': key }), ...headers }
  return requestBytes(url, { method: 'GET', path, headers: all })
}

/** Sends bytes on a new connection, and resets it `wait_ms` later, without reading. */
export function sendAndReset(url: string, bytes: Buffer, wait_ms = 0): Promise<void> {
  const { hostname, port } = new URL(url)
  const socket = connect({ host: hostname, port: Number(port), noDelay: true })
  socket.on('error', () => {})
  return new Promise((resolve) => {
    socket.once('close', () => resolve())
    socket.once('connect', () => {
      socket.write(bytes, () => setTimeout(() => socket.resetAndDestroy(), wait_ms))
    })
  })
}

/** @throws Error when no server listens there. */
export async function openConnection(url: string): Promise<Connection> {
  const { hostname, port } = new URL(url)
  const socket = connect({ host: hostname, port: Number(port), noDelay: true })
  let waiting: { resolve: (answer: Answer) => void; reject: (error: Error) => void } | null = null
  let received: Buffer | null = null
  let ended: Error | null = null

  function end(error: Error): void {
    ended ??= error
    waiting?.reject(ended)
    waiting = null
  }

  socket.on('data', (chunk) => {
    received = received ? Buffer.concat([received, chunk]) : chunk
    const answer = answerIn(received)
    if (!answer || !waiting) return
    const { resolve } = waiting
    waiting = null
    received = null
    resolve(answer)
  })
  await new Promise<void>((resolve, reject) => {
    socket.once('connect', resolve)
    socket.once('error', reject)
  })
  socket.on('error', end)
  socket.on('close', () => end(new Error('the connection was closed')))

  return {
    request(bytes) {
      return new Promise((resolve, reject) => {
        if (ended) return reject(ended)
        waiting = { resolve, reject }
        socket.write(bytes)
      })
    },
    close: () => socket.destroy(),
  }
}

/** The answer in these bytes, or null while some are missing. */
function answerIn(bytes: Buffer): Answer | null {
  const headEnd = bytes.indexOf('\r\n\r\n')
  if (headEnd === -1) return null
  const head = bytes.toString('latin1', 0, headEnd)
  const length = /\r\ncontent-length: *(\d+)/i.exec(head)?.[1]
  if (length === undefined) throw new Error('only answers with a Content-Length are supported')
  const end = headEnd + 4 + Number(length)
  if (bytes.length < end) return null
  return { status: Number(head.slice(9, 12)), head, body: bytes.toString('utf8', headEnd + 4, end) }
}
