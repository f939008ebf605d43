import type { Received } from './webhook-receiver.ts'

/** Shorter than the deadline of the service, so that the service gets an answer. */
const ANSWER_MAX_MS = 10_000

/** The answer to the sender when the target does not answer, so that the sender retries. */
export const NO_ANSWER_STATUS = 502

/** Headers of one connection, which are not forwarded. */
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

/** Forwards a delivery unchanged with its headers; returns the status, or null without an answer. */
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
