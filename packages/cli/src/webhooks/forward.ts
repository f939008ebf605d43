import type { Received } from './webhook-receiver.ts'

/** Within the deadline of the service, so that it hears our answer and not silence. */
const ANSWER_MAX_MS = 10_000

/** What the sender is told when nobody answered, so that it tries again. */
export const NO_ANSWER_STATUS = 502

/** What belongs to one connection and not to the message. */
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

/** Hands a delivery on, byte for byte and with its headers; answers the status, or null when nobody gave one. */
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
