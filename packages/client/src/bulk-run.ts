import { SvcError, ValidationError } from './errors.ts'
import type {
  BulkRecipient,
  BulksResource,
  BulksSendBody,
  BulksSendData,
} from './generated/types.ts'
import type { CallOptions } from './transport/call.ts'

/** A recipient of a bulk: an address, or an object with values. */
export type Recipient = string | BulkRecipient

/** The body of `bulks.sendAll`: that of `bulks.send`, with any number of recipients. */
export type BulkRunBody = BulksSendBody extends infer Body
  ? Body extends BulksSendBody
    ? Omit<Body, 'recipients'> & { recipients: Iterable<Recipient> | AsyncIterable<Recipient> }
    : never
  : never

/** Options of `bulks.sendAll`. */
export interface BulkRunOptions extends CallOptions {
  /** The recipients of one request. Default: 1,000, the limit of a service with default settings. */
  chunkSize?: number | undefined
  /**
   * The start of the idempotency keys of the chunks. A run that is repeated with it and the same recipients sends no
   * message twice.
   */
  idempotencyKey?: string | undefined
}

/** The result of one chunk: `bulk`, or the error that refused it. */
export type BulkChunk = {
  /** The position of the chunk's first recipient in the whole run, from 0. `index` in `bulk` counts from it. */
  offset: number
  /** The recipients of the chunk. */
  count: number
} & ({ bulk: BulksSendData; error: null } | { bulk: null; error: SvcError })

/** Methods of `svc.bulks` beyond the endpoints. */
export interface BulksMethods {
  /**
   * Sends to any number of recipients in chunks, one after the other, and yields the result of each. A chunk with faulty
   * recipients does not stop the next one; any other error ends the run after it was yielded. It waits up to 5 minutes
   * when the service limits the rate of bulks. Leave the loop to stop.
   */
  sendAll(body: BulkRunBody, options?: BulkRunOptions): AsyncGenerator<BulkChunk, void, undefined>
}

const CHUNK_SIZE = 1_000

/** Less than the 4 MB of a request, because the content is in each. */
const BODY_MAX_BYTES = 4 * 1024 * 1024 - 4_096

/** The rate limit of bulks has a window of 5 minutes. */
const RETRY_DELAY_MAX_MS = 300_000
const MAX_RETRIES = 5

export async function* sendAll(
  bulks: Pick<BulksResource, 'send'>,
  { recipients, ...message }: BulkRunBody,
  { chunkSize = CHUNK_SIZE, idempotencyKey, ...options }: BulkRunOptions = {},
): AsyncGenerator<BulkChunk, void, undefined> {
  const room = BODY_MAX_BYTES - bytesOf(message)
  const more = { maxRetries: MAX_RETRIES, maxRetryDelay: RETRY_DELAY_MAX_MS, ...options }
  let offset = 0
  for await (const chunk of chunksOf(recipients, chunkSize, room)) {
    const place = { offset, count: chunk.length }
    // A chunk is named by its place, so that the chunks of a repeated run get the same keys.
    const key =
      idempotencyKey === undefined ? {} : { idempotencyKey: `${idempotencyKey}-${offset}` }
    const body = { ...message, recipients: chunk } as BulksSendBody
    try {
      yield { ...place, bulk: await bulks.send(body, { ...more, ...key }), error: null }
    } catch (error) {
      if (!(error instanceof SvcError)) throw error
      yield { ...place, bulk: null, error }
      if (!(error instanceof ValidationError)) return
    }
    offset += chunk.length
  }
}

async function* chunksOf(
  recipients: Iterable<Recipient> | AsyncIterable<Recipient>,
  size: number,
  room: number,
): AsyncGenerator<Recipient[]> {
  let chunk: Recipient[] = []
  let bytes = 0
  for await (const recipient of recipients) {
    const added = bytesOf(recipient) + 1
    if (chunk.length > 0 && (chunk.length >= size || bytes + added > room)) {
      yield chunk
      chunk = []
      bytes = 0
    }
    chunk.push(recipient)
    bytes += added
  }
  if (chunk.length > 0) yield chunk
}

const encoder = new TextEncoder()

function bytesOf(value: unknown): number {
  return encoder.encode(JSON.stringify(value)).length
}
