import type { PlatformRequest } from '../platform.ts'
import { bytesOf, concat } from './bytes.ts'

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

/** The part of a Node request that the handler needs, with the properties that parsers and platforms set. */
export interface NodeRequestLike {
  readonly method?: string | undefined
  readonly url?: string | undefined
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly readableDidRead?: boolean
  readonly readableEnded?: boolean
  readonly destroyed?: boolean
  readonly body?: unknown
  readonly rawBody?: unknown
  on(event: string, listener: (chunk: Uint8Array) => void): unknown
}

/**
 * Returns the bytes of a Node request. The request may be unread, or read by a parser that keeps
 * bytes, text or `rawBody`.
 */
export async function readNodeBody(request: NodeRequestLike, bytes_max: number): Promise<RawBody> {
  for (const kept of [request.rawBody, request.body]) {
    if (typeof kept === 'string' || kept instanceof Uint8Array) return bounded(kept, bytes_max)
  }
  if (request.readableDidRead) return ALREADY_PARSED
  if (request.destroyed) return CUT_SHORT
  if (Number(request.headers['content-length']) > bytes_max) return TOO_LARGE
  const chunks: Uint8Array[] = []
  let bytes = 0
  // `for await` would destroy the connection when it ends, and the answer still needs it.
  return new Promise((resolve) => {
    request.on('data', (chunk) => {
      bytes += chunk.length
      if (bytes > bytes_max) resolve(TOO_LARGE)
      else chunks.push(chunk)
    })
    request.on('end', () => resolve(concat(chunks)))
    request.on('error', () => resolve(CUT_SHORT))
    request.on('close', () => resolve(CUT_SHORT))
  })
}

/** The part of a `Request` that is read. */
interface FetchRequest {
  readonly bodyUsed: boolean
  readonly headers: { get(name: string): string | null }
  readonly body: {
    readonly locked: boolean
    getReader(): {
      read(): Promise<{ done: boolean; value?: Uint8Array }>
      cancel(): Promise<void>
    }
  } | null
}

/** Returns the bytes of a Fetch request. */
export async function readFetchBody(
  platformRequest: PlatformRequest,
  bytes_max: number,
): Promise<RawBody> {
  const request = platformRequest as unknown as FetchRequest
  if (request.bodyUsed || request.body?.locked) return ALREADY_PARSED
  if (Number(request.headers.get('content-length')) > bytes_max) return TOO_LARGE
  if (!request.body) return ''
  const reader = request.body.getReader()
  const chunks: Uint8Array[] = []
  let bytes = 0
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (done || !value) return concat(chunks)
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
  return bytesOf(body).length > bytes_max ? TOO_LARGE : body
}
