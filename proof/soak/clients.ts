import { setTimeout } from 'node:timers/promises'
import {
  type Answer,
  type Connection,
  openConnection,
  type RequestParts,
  requestBytes,
  sendAndReset,
} from '../stage/connection.ts'
import type { Violations } from '../stage/violations.ts'
import type { Histogram } from './histogram.ts'

/** A request, its valid statuses, and whether its duration counts as that of a send. */
export interface Call extends RequestParts {
  expect: readonly number[]
  is_send?: boolean
}

export interface Reply {
  status: number
  head: string
  data: Record<string, unknown>
}

/** A service on a busy machine refuses some requests before it does anything for them: a client sends them again. */
const OVERLOADED = 429
const AGAIN_MS = 1_000
const AGAIN_MAX = 5

function isOverloaded({ status }: Answer, expect: readonly number[]): boolean {
  return status === OVERLOADED && !expect.includes(OVERLOADED)
}

/** Shared keep-alive connections. */
export interface Clients {
  /** Null without an answer. */
  request(call: Call): Promise<Reply | null>
  /** Sends bytes on a new connection, and resets it immediately, without reading. */
  reset(bytes: Buffer): Promise<void>
  /** The whole request. */
  bytes(parts: RequestParts): Buffer
  requests(): number
  close(): void
}

/** @param connections their number; requests wait for a free one. */
export async function openClients(
  { url, connections }: { url: string; connections: number },
  { rule }: Violations,
  times: { sends: Histogram; all: Histogram },
): Promise<Clients> {
  const unexpected = rule('every request is answered as expected')
  const unanswered = rule('every request is answered')
  const free: (Connection | null)[] = []
  const waiting: ((connection: Connection | null) => void)[] = []
  let requests = 0

  /** Null after the connection was lost, until it is opened again. */
  function take(): Promise<Connection | null> {
    // The connection with the longest idle time, so that all of them stay in use.
    if (free.length > 0) return Promise.resolve(free.shift() ?? null)
    return new Promise((resolve) => waiting.push(resolve))
  }

  for (let i = 0; i < connections; i++) free.push(await openConnection(url))
  return {
    async request({ expect, is_send, ...parts }) {
      requests += 1
      let connection: Connection | null = null
      const bytes = requestBytes(url, parts)
      try {
        connection = (await take()) ?? (await openConnection(url))
        let from = performance.now()
        let answer = await connection.request(bytes)
        for (let i = 0; isOverloaded(answer, expect) && i < AGAIN_MAX; i++) {
          requests += 1
          await setTimeout(AGAIN_MS)
          from = performance.now()
          answer = await connection.request(bytes)
        }
        const { status, head, body } = answer
        const ms = performance.now() - from
        times.all.add(ms)
        if (is_send) times.sends.add(ms)
        if (!expect.includes(status)) {
          unexpected(`${parts.method} ${parts.path}: ${status} ${body.slice(0, 200)}`)
        }
        const { data = {} } = JSON.parse(body) as { data?: Record<string, unknown> }
        return { status, head, data }
      } catch (error) {
        unanswered(`${parts.method} ${parts.path}: ${(error as Error).message}`)
        connection?.close()
        connection = null
        return null
      } finally {
        const next = waiting.shift()
        if (next) next(connection)
        else free.push(connection)
      }
    },
    reset(bytes) {
      requests += 1
      return sendAndReset(url, bytes)
    },
    bytes: (parts) => requestBytes(url, parts),
    requests: () => requests,
    close() {
      for (const connection of free.splice(0)) connection?.close()
    },
  }
}
