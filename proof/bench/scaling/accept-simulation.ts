import { randomFrom } from '../../stage/random.ts'
import { quantile } from '../figure.ts'

/** The cost of accepting, and the load. Times in milliseconds. */
export interface AcceptLoad {
  seed: number
  servers: number
  /** The maximum of concurrent batches of one server. */
  slots: number
  batch_max: number
  db_cores: number
  /** The time that a batch works on a core, with its account locks held. */
  fixed_ms: number
  per_request_ms: number
  flush_ms: number
  /** Requests a millisecond, of all workspaces, at random moments (Poisson). */
  rate_per_ms: number
  /** The share of the hot workspace; the other requests have different workspaces. */
  hot_share: number
  requests: number
}

/** The results of the requests. */
export interface AcceptOutcome {
  per_s: number
  mean_batch: number
  mean_ms: number
  hot: { p50_ms: number; p99_ms: number }
  others: { p50_ms: number; p99_ms: number }
}

interface Batch {
  server: Server
  requests: { at: number; hot: boolean }[]
}

interface Server {
  waiting: Batch['requests']
  running: number
}

/**
 * Discrete-event simulation of accepting. Requests gather at their server. A batch takes the hot account's lock if it
 * has a request of that workspace, works on a core of the database, and waits for a flush that concurrent commits
 * share; then the lock is released. Locks, cores and batches are first come, first served.
 */
export function simulateAccept(load: AcceptLoad): AcceptOutcome {
  const random = randomFrom(load.seed).next
  const events = createTimeline()
  const servers = Array.from({ length: load.servers }, (): Server => ({ waiting: [], running: 0 }))
  const cores = resource(load.db_cores)
  const lock = resource(1)
  const latencies = { hot: [] as number[], others: [] as number[] }
  let committing: (() => void)[] = []
  let isFlushing = false
  let batches = 0

  function arrive(left: number): void {
    const server = servers[Math.floor(random() * servers.length)] as Server
    server.waiting.push({ at: events.now(), hot: random() < load.hot_share })
    start(server)
    if (left > 1) {
      events.after(-Math.log(1 - random()) / load.rate_per_ms, () => arrive(left - 1))
    }
  }

  function start(server: Server): void {
    if (server.running === load.slots || server.waiting.length === 0) return
    server.running += 1
    const batch = { server, requests: server.waiting.splice(0, load.batch_max) }
    if (batch.requests.some(({ hot }) => hot)) lock.take(() => work(batch, lock.release))
    else work(batch, () => {})
  }

  function work(batch: Batch, unlock: () => void): void {
    cores.take(() =>
      events.after(load.fixed_ms + load.per_request_ms * batch.requests.length, () => {
        cores.release()
        committing.push(() => finish(batch, unlock))
        if (!isFlushing) flush()
      }),
    )
  }

  function flush(): void {
    const done = committing
    committing = []
    isFlushing = done.length > 0
    if (!isFlushing) return
    events.after(load.flush_ms, () => {
      for (const commit of done) commit()
      flush()
    })
  }

  function finish({ server, requests }: Batch, unlock: () => void): void {
    unlock()
    batches += 1
    for (const { at, hot } of requests) latencies[hot ? 'hot' : 'others'].push(events.now() - at)
    server.running -= 1
    start(server)
  }

  arrive(load.requests)
  events.run()
  const all = [...latencies.hot, ...latencies.others]
  return {
    per_s: (all.length / events.now()) * 1000,
    mean_batch: all.length / batches,
    mean_ms: all.reduce((sum, ms) => sum + ms, 0) / all.length,
    hot: spreadOf(latencies.hot),
    others: spreadOf(latencies.others),
  }
}

/** The mean time in the system of M/D/1 (Pollaczek–Khinchine): the expected result for a single queue. */
export function meanOfSingleQueue(rate_per_ms: number, service_ms: number): number {
  const used = rate_per_ms * service_ms
  return service_ms + (used * service_ms) / (2 * (1 - used))
}

function spreadOf(latencies: number[]): { p50_ms: number; p99_ms: number } {
  if (latencies.length === 0) return { p50_ms: 0, p99_ms: 0 }
  return { p50_ms: quantile(latencies, 0.5), p99_ms: quantile(latencies, 0.99) }
}

/** The number of concurrent holders; the others wait in their order. */
function resource(units: number) {
  const waiting: (() => void)[] = []
  let free = units
  return {
    take(then: () => void): void {
      if (free === 0) {
        waiting.push(then)
        return
      }
      free -= 1
      then()
    },
    release(): void {
      const next = waiting.shift()
      if (next) next()
      else free += 1
    },
  }
}

interface Planned {
  at: number
  order: number
  run: () => void
}

/** Simulated time: runs planned actions in the order of their times, then of their planning. */
function createTimeline() {
  const heap: Planned[] = []
  let now = 0
  let planned = 0

  const isBefore = (one: Planned, other: Planned) =>
    one.at === other.at ? one.order < other.order : one.at < other.at
  const at = (i: number) => heap[i] as Planned

  function swap(i: number, j: number): void {
    ;[heap[i], heap[j]] = [at(j), at(i)]
  }

  function pop(): Planned | undefined {
    if (heap.length > 1) swap(0, heap.length - 1)
    const top = heap.pop()
    for (let i = 0; ; ) {
      let least = i
      for (const child of [2 * i + 1, 2 * i + 2]) {
        if (child < heap.length && isBefore(at(child), at(least))) least = child
      }
      if (least === i) return top
      swap(i, least)
      i = least
    }
  }

  return {
    now: () => now,
    after(delay: number, run: () => void): void {
      heap.push({ at: now + delay, order: planned++, run })
      for (let i = heap.length - 1; i > 0; ) {
        const parent = (i - 1) >> 1
        if (!isBefore(at(i), at(parent))) return
        swap(i, parent)
        i = parent
      }
    },
    run(): void {
      for (let next = pop(); next; next = pop()) {
        now = next.at
        next.run()
      }
    },
  }
}
