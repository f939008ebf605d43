import type { IncomingMessage } from 'node:http'

const MB = 1024 * 1024

/** The maximum number of bytes that the unfinished bodies of one client, and of all clients, may hold. */
const BOUNDS = { client: 8 * MB, all: 64 * MB }

interface Unfinished {
  request: IncomingMessage
  client: string
  bytes: number
}

/**
 * Bounds the memory that bodies hold while they arrive, on routes that refuse no request for load. When a new body
 * would exceed the bounds of its client or of all clients, the connections with the oldest bodies are closed: the body
 * of a working client arrives within milliseconds, so the oldest body has stalled.
 */
export function createUnfinishedBodies(bounds = BOUNDS): {
  /** Reserves room for a body of at most `bytes`, until it has arrived or its connection is closed. */
  reserve(request: IncomingMessage, client: string, bytes: number): void
} {
  // In the order of arrival, oldest first.
  const unfinished = new Set<Unfinished>()

  function cutBeyond(max: number, isCounted: (one: Unfinished) => boolean): void {
    const counted = [...unfinished].filter(isCounted)
    let held = counted.reduce((sum, { bytes }) => sum + bytes, 0)
    for (const one of counted) {
      if (held <= max) return
      held -= one.bytes
      unfinished.delete(one)
      one.request.destroy()
    }
  }

  return {
    reserve(request, client, bytes) {
      const one = { request, client, bytes }
      const finish = () => unfinished.delete(one)
      request.once('end', finish).once('close', finish)
      cutBeyond(bounds.client - bytes, (other) => other.client === client)
      cutBeyond(bounds.all - bytes, () => true)
      unfinished.add(one)
    },
  }
}
