import { Buffer } from 'node:buffer'
import type { IncomingMessage } from 'node:http'

/** Why the bytes of a body are not available. */
export interface BodyFailure {
  readonly failure: 'too_large' | 'already_parsed' | 'cut_short'
}

/** The exact bytes of a body, or why they are not available. */
export type RawBody = Uint8Array | string | BodyFailure

const TOO_LARGE: BodyFailure = { failure: 'too_large' }
const CUT_SHORT: BodyFailure = { failure: 'cut_short' }

/** A parser consumed the bytes without keeping them. */
export const ALREADY_PARSED: BodyFailure = { failure: 'already_parsed' }

/** The properties that body parsers and cloud platforms set on a request. */
export type ParsedRequest = IncomingMessage & { body?: unknown; rawBody?: unknown }

/**
 * Returns the bytes of a Node request. The request may be unread, or read by a parser that keeps
 * bytes, text or `rawBody`.
 */
export async function readNodeBody(request: ParsedRequest, bytes_max: number): Promise<RawBody> {
  for (const kept of [request.rawBody, request.body]) {
    if (typeof kept === 'string' || kept instanceof Uint8Array) return bounded(kept, bytes_max)
  }
  if (request.readableDidRead) return ALREADY_PARSED
  if (request.destroyed) return CUT_SHORT
  if (Number(request.headers['content-length']) > bytes_max) return TOO_LARGE
  const chunks: Buffer[] = []
  let bytes = 0
  // `for await` would destroy the connection when it ends, and the answer still needs it.
  return new Promise((resolve) => {
    request.on('data', (chunk: Buffer) => {
      bytes += chunk.length
      if (bytes > bytes_max) resolve(TOO_LARGE)
      else chunks.push(chunk)
    })
    request.on('end', () => resolve(Buffer.concat(chunks)))
    request.on('error', () => resolve(CUT_SHORT))
    request.on('close', () => resolve(CUT_SHORT))
  })
}

/** Returns the bytes of a Fetch request. */
export async function readFetchBody(request: Request, bytes_max: number): Promise<RawBody> {
  if (request.bodyUsed || request.body?.locked) return ALREADY_PARSED
  if (Number(request.headers.get('content-length')) > bytes_max) return TOO_LARGE
  if (!request.body) return ''
  const reader: ReadableStreamDefaultReader<Uint8Array> = request.body.getReader()
  const chunks: Uint8Array[] = []
  let bytes = 0
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (done) return Buffer.concat(chunks)
      bytes += value.length
      if (bytes > bytes_max) {
        await reader.cancel()
        return TOO_LARGE
      }
      chunks.push(value)
    }
  } catch {
    return CUT_SHORT
  }
}

/** Returns `body`, or `TOO_LARGE` if it has more than `bytes_max` bytes. */
export function bounded(body: string | Uint8Array, bytes_max: number): RawBody {
  return Buffer.byteLength(body) > bytes_max ? TOO_LARGE : body
}
