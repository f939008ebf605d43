import type { Received } from './webhook-receiver.ts'

/** The deadline of the target. It is shorter than the deadline of the service, so that the service gets an answer. */
const ANSWER_MAX_MS = 10_000

/** The status for the sender when the target does not answer, so that the sender retries. */
export const NO_ANSWER_STATUS = 502

/** Headers that are not forwarded, because they describe one connection. */
const HOP_HEADERS = new Set([
  'host',
  'connection',
  'keep-alive',
  'content-length',
  'transfer-encoding',
  'upgrade',
  'expect',
  'te',
  'trailer',
])

/** Forwards a delivery with its unchanged body and its headers. Returns the status, or null if there is no answer. */
export async function forward(
  url: string,
  { headers, body }: Pick<Received, 'headers' | 'body'>,
): Promise<number | null> {
  const kept = Object.entries(headers).flatMap(([name, value]): [string, string][] =>
    value === undefined || HOP_HEADERS.has(name) ? [] : [[name, String(value)]],
  )
  try {
    const response = await fetch(url, {
      method: 'POST',
      headers: kept,
      body: new Uint8Array(body),
      redirect: 'manual',
      signal: AbortSignal.timeout(ANSWER_MAX_MS),
    })
    await response.arrayBuffer()
    return response.status
  } catch {
    return null
  }
}
