interface Planned {
  at: number
  order: number
  run: () => void
}

/** Simulated time: runs planned actions in the order of their times, then of their planning. */
export function createTimeline() {
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
