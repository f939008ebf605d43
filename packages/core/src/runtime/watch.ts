import type { Runtime } from './runtime.ts'

/** Looks for due work in the database, once a second. */
export interface Watch {
  /** Does all work that is due. Resolves when it is done, or if another server does it. */
  look(): Promise<void>
  /** Begins no further work and waits for the work in progress. */
  stop(): Promise<void>
}

const EVERY_MS = 1_000

/** After a round whose work waits for something short, such as the 25 messages of a small step of a broadcast. */
const SOON_MS = 25

/** Only one server of a database works at a time. An error ends the round; the next one tries again. */
export function startWatch({
  name,
  storage,
  runtime: { log },
  gate,
  isDue,
  work,
  failed,
}: {
  /** The name of the work, the same on all servers. */
  name: string
  storage: { alone?<T>(name: string, work: () => Promise<T>): Promise<T | null> }
  runtime: Pick<Runtime, 'log'>
  /** While it is paused, no work begins. Default: work begins at any time. */
  gate?: { readonly is_paused: boolean } | undefined
  isDue: () => Promise<boolean>
  /**
   * Reads what is due again, because another server may have done it until this one begins. Ends early while `isHeld`. Resolves
   * with true if more is to do in less than a second.
   */
  work: (isHeld: () => boolean) => Promise<unknown>
  /** The text of the log for an error. */
  failed: string
}): Watch {
  let stopping = false
  let isLooking = false
  let last: Promise<void> = Promise.resolve()
  /** Whether the last round left work for less than a second later. */
  let isSoon = false
  let soon: NodeJS.Timeout | undefined
  const lookIfFree = () => {
    if (!isLooking) void look()
  }
  const timer = setInterval(lookIfFree, EVERY_MS).unref()
  const isHeld = () => stopping || gate?.is_paused === true

  async function lookNow(): Promise<void> {
    if (isHeld()) return
    isLooking = true
    try {
      const wasSoon = isSoon
      isSoon = false
      if (!wasSoon && !(await isDue())) return
      const round = () => work(isHeld)
      isSoon = (await (storage.alone ? storage.alone(name, round) : round())) === true
      clearTimeout(soon)
      if (isSoon) soon = setTimeout(lookIfFree, SOON_MS).unref()
    } catch (error) {
      log.warn({ err: error }, failed)
    } finally {
      isLooking = false
    }
  }

  /** Rounds run one after another, so that each covers what is due when it is requested. */
  function look(): Promise<void> {
    last = last.then(lookNow)
    return last
  }

  return {
    look,
    async stop() {
      stopping = true
      clearInterval(timer)
      await last
      clearTimeout(soon)
    },
  }
}

/** A round of a step watch ends its waiting after this time. */
const ROUND_MS = 1_000

/** The rows of one round. */
const ROUND_MAX = 1_000

/** Looks once a second for rows whose next step is due, and does the steps of each row in turn until none is due. */
export function startStepWatch<Row extends { workspace_id: string; id: string }>({
  due,
  step,
  waits,
  runtime,
  ...parts
}: Omit<Parameters<typeof startWatch>[0], 'isDue' | 'work' | 'runtime'> & {
  runtime: Pick<Runtime, 'elapsed' | 'log'>
  /** The rows whose next step is due, the longest waiting first. */
  due(limit: number): Promise<Row[]>
  /** Returns whether a further step may follow at once, or `behind` if it may follow in less than a second. */
  step(row: Row): Promise<boolean | 'behind'>
  /** The text of the log for an error of one row. */
  waits: string
}): Watch {
  async function stepAll(isHeld: () => boolean): Promise<boolean> {
    let isBehind = false
    const waiting = new Set<string>()
    let began_ms = runtime.elapsed()
    for (;;) {
      // The steps of one row can last for hours; those that waited are tried again meanwhile.
      if (runtime.elapsed() - began_ms > ROUND_MS) {
        waiting.clear()
        began_ms = runtime.elapsed()
      }
      const found = await due(ROUND_MAX)
      const rows = found.filter(({ id }) => !waiting.has(id))
      let isLast = found.length < ROUND_MAX
      // One step of each in turn, so that a large row does not delay a small one.
      for (const row of rows) {
        if (isHeld()) return false
        const { workspace_id, id } = row
        // An error with one row must not stop the others.
        const result = await step(row).catch((error) => {
          runtime.log.warn({ err: error, workspace_id, id }, waits)
          return false
        })
        if (result === true) isLast = false
        else waiting.add(id)
        if (result === 'behind') isBehind = true
      }
      if (isLast || rows.length === 0) return isBehind
    }
  }

  return startWatch({
    ...parts,
    runtime,
    isDue: async () => (await due(1)).length > 0,
    work: stepAll,
  })
}
