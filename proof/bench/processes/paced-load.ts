import { answer } from '../../stage/answer.mjs'
import { openConnection, requestBytes } from '../../stage/connection.ts'
import { quantile } from '../figure.ts'

/** The requests of a process that sends at a steady rate. */
export type PacedLoadHandlers = typeof handlers

/** A message, and the epoch milliseconds of its 201. */
interface Accepted {
  id: string
  at_ms: number
}

/** Shared connections: enough that no request waits for one. */
const CONNECTIONS = 64

const handlers = {
  /**
   * Sends at this rate for this time, without waiting for answers. A duration starts when its request was due, so
   * that a delay by earlier requests counts.
   */
  async run({ url, key, per_s, ms }: { url: string; key: string; per_s: number; ms: number }) {
    const open = await Promise.all(Array.from({ length: CONNECTIONS }, () => openConnection(url)))
    const lines = open.map(() => Promise.resolve())
    const latencies_ms: number[] = []
    const accepted: Accepted[] = []
    const total = Math.floor((per_s * ms) / 1_000)
    const from = performance.now()
    for (let i = 0; i < total; i++) {
      const due = from + (i * 1_000) / per_s
      const wait = due - performance.now()
      if (wait > 0) await new Promise((resolve) => setTimeout(resolve, wait))
      const turn = i % CONNECTIONS
      lines[turn] = (lines[turn] as Promise<void>).then(async () => {
        const request = sendRequest(url, key, i)
        const { status, body } = await (open[turn] as (typeof open)[number]).request(request)
        if (status !== 201) throw new Error(`answered ${status}: ${body}`)
        const at = performance.now()
        latencies_ms.push(at - due)
        const { data } = JSON.parse(body) as { data: { message_id: string } }
        accepted.push({ id: data.message_id, at_ms: performance.timeOrigin + at })
      })
    }
    await Promise.all(lines)
    for (const connection of open) connection.close()
    return {
      sent: latencies_ms.length,
      p50_ms: quantile(latencies_ms, 0.5),
      p99_ms: quantile(latencies_ms, 0.99),
      max_ms: Math.max(...latencies_ms),
      accepted,
    }
  },
}

function sendRequest(url: string, key: string, i: number): Buffer {
  return requestBytes(url, {
    method: 'POST',
    path: '/api/v1/messages/send',
    headers: { 'X-API-Key': key },
    body: {
      to: `+2557${String(10_000_000 + i)}`,
      channel: 'sms',
      content: { text: `Your code is ${100_000 + i}. It expires in ten minutes.` },
    },
  })
}

answer(handlers)
