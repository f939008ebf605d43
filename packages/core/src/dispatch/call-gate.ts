import { uptimeMs } from './lane.ts'

/** A call may begin for this time after the pauses were read. After it, this process may have missed a pause. */
export const FRESH_MS = 5_000

/**
 * Decides in every thread whether a call may begin now, and counts the calls of all threads. Each process reads the pauses every second and writes here what it
 * read; the threads read the same memory. A process that did not read for `FRESH_MS`, because it stood still or lost its
 * database, begins nothing: so `FRESH_MS` after a pause was stored, no server of the database begins a call.
 */
export interface CallGate {
  cells: SharedArrayBuffer
  /** Whether a call to the provider may begin; null: a webhook delivery. */
  mayStart(provider: string | null): boolean
  /** Notes a reading that began at `read_at_ms` (`uptimeMs`). */
  noteDispatch(read_at_ms: number, is_paused: boolean): void
  noteProviders(read_at_ms: number, isPaused: (provider: string) => boolean): void
  /** Counts a request to the provider that has ended, from any thread. */
  noteCall(provider: string, duration_ms: number): void
  /** The requests of all threads: their number and their durations together. Both numbers have 32 bits and wrap. */
  callsOf(provider: string): CallCount
}

export interface CallCount {
  calls: number
  took_ms: number
}

const DISPATCH_UNTIL = 0
const PROVIDERS_UNTIL = 1
const FIRST_PROVIDER = 2

/** @param cells those of the gate in the main thread; without them, nothing was read yet and everything may begin. */
export function createCallGate(names: readonly string[], cells = newCells(names)): CallGate {
  const places_max = FIRST_PROVIDER + names.length
  const values = new Float64Array(cells, 0, places_max)
  /** Of each provider: the number of requests and their milliseconds. */
  const counts = new Int32Array(cells, places_max * Float64Array.BYTES_PER_ELEMENT)
  const places = new Map(names.map((name, i) => [name, FIRST_PROVIDER + i]))
  return {
    cells,
    mayStart(provider) {
      const at_ms = uptimeMs()
      if (at_ms >= (values[DISPATCH_UNTIL] as number)) return false
      if (provider === null) return true
      const place = places.get(provider)
      return at_ms < (values[PROVIDERS_UNTIL] as number) && (!place || values[place] === 0)
    },
    noteDispatch(read_at_ms, is_paused) {
      values[DISPATCH_UNTIL] = is_paused ? 0 : read_at_ms + FRESH_MS
    },
    noteProviders(read_at_ms, isPaused) {
      for (const [name, place] of places) values[place] = isPaused(name) ? 1 : 0
      values[PROVIDERS_UNTIL] = read_at_ms + FRESH_MS
    },
    noteCall(provider, duration_ms) {
      const at = 2 * ((places.get(provider) ?? Number.NaN) - FIRST_PROVIDER)
      if (Number.isNaN(at)) return
      Atomics.add(counts, at, 1)
      Atomics.add(counts, at + 1, Math.round(duration_ms))
    },
    callsOf(provider) {
      const at = 2 * ((places.get(provider) ?? Number.NaN) - FIRST_PROVIDER)
      if (Number.isNaN(at)) return { calls: 0, took_ms: 0 }
      return { calls: Atomics.load(counts, at), took_ms: Atomics.load(counts, at + 1) }
    },
  }
}

function newCells(names: readonly string[]): SharedArrayBuffer {
  const floats = Float64Array.BYTES_PER_ELEMENT * (FIRST_PROVIDER + names.length)
  const counts = 2 * Int32Array.BYTES_PER_ELEMENT * names.length
  const cells = new SharedArrayBuffer(floats + counts)
  new Float64Array(cells, 0, FIRST_PROVIDER).fill(Number.POSITIVE_INFINITY)
  return cells
}
