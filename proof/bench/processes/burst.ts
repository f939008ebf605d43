import { answer } from '../../stage/answer.mjs'
import { type Connection, openConnection, requestBytes } from '../../stage/connection.ts'
import { quantile } from '../figure.ts'

/** The requests of a process that opens many connections at once. */
export type BurstHandlers = typeof handlers

const handlers = {
  /** Opens the connections at the same moment; each sends one request after the other for this time. */
  async run({ url, key, connections, ms }: Burst) {
    const from = performance.now()
    const until = from + ms
    const statuses = new Map<number, number>()
    const connected_ms: number[] = []
    const accepted_ms: number[] = []
    const send = async (i: number): Promise<void> => {
      const began = performance.now()
      const connection = await openConnection(url).catch(() => null)
      if (!connection) return
      connected_ms.push(performance.now() - began)
      await repeat(connection, i).catch(() => {})
      connection.close()
    }
    const repeat = async (connection: Connection, i: number): Promise<void> => {
      const request = requestBytes(url, {
        method: 'POST',
        path: '/api/v1/messages/send',
        headers: { 'X-API-Key': key },
        body: { to: `+2557${20_000_000 + i}`, channel: 'sms', content: { text: 'A burst' } },
      })
      while (performance.now() < until) {
        const began = performance.now()
        const { status } = await connection.request(request)
        statuses.set(status, (statuses.get(status) ?? 0) + 1)
        if (status === 201) accepted_ms.push(performance.now() - began)
        // A refused client waits, but at most a second.
        else await new Promise((resolve) => setTimeout(resolve, 1_000))
      }
    }
    await Promise.all(Array.from({ length: connections }, (_, i) => send(i)))
    return {
      accepted: statuses.get(201) ?? 0,
      accepted_per_s: ((statuses.get(201) ?? 0) * 1_000) / (performance.now() - from),
      refused: statuses.get(429) ?? 0,
      connect_p99_ms: quantile(connected_ms, 0.99),
      accept_p99_ms: accepted_ms.length > 0 ? quantile(accepted_ms, 0.99) : 0,
    }
  },
  /** Requests health on new connections, one after the other, for this time. */
  async probe({ url, ms }: { url: string; ms: number }) {
    const until = performance.now() + ms
    const probes_ms: number[] = []
    while (performance.now() < until) {
      const began = performance.now()
      const connection = await openConnection(url)
      const { status } = await connection.request(
        requestBytes(url, { method: 'GET', path: '/health/live' }),
      )
      if (status !== 200) throw new Error(`health answered ${status}`)
      probes_ms.push(performance.now() - began)
      connection.close()
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
    return {
      p50_ms: quantile(probes_ms, 0.5),
      max_ms: Math.max(...probes_ms),
      probes: probes_ms.length,
    }
  },
}

interface Burst {
  url: string
  key: string
  connections: number
  ms: number
}

answer(handlers)
