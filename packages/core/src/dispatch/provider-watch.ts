import type { Pauses } from '../channels/pauses.ts'
import { PARKED_PAGE } from '../messages/reports.ts'
import type { DispatchGate } from '../operating/dispatch-gate.ts'
import type { Runtime } from '../runtime/runtime.ts'

export interface ProviderWatch {
  /** Looks now. */
  look(): Promise<void>
  stop(): Promise<void>
}

const EVERY_MS = 1_000

/** So many pages of parked receipts each time: a fast provider tells of more in a second than one page holds. */
const PAGES_MAX = 10

/** Keeps up what is paused, by whatever server or command, and settles receipts that came before what they tell of. */
export function startProviderWatch({
  pauses,
  gate,
  settleParked,
  runtime,
}: {
  pauses: Pauses
  /** Whether anything at all is claimed. */
  gate?: Pick<DispatchGate, 'refresh'>
  /** Says how many it looked at. */
  settleParked: () => Promise<number>
  runtime: Runtime
}): ProviderWatch {
  let looking: Promise<void> | null = null
  const timer = setInterval(() => void look(), EVERY_MS).unref()

  async function settleAll(): Promise<void> {
    for (let page = 0; page < PAGES_MAX; page++) {
      if ((await settleParked()) < PARKED_PAGE) return
    }
  }

  async function lookOnce(): Promise<void> {
    try {
      await gate?.refresh()
      await pauses.refresh()
      await settleAll()
    } catch (error) {
      runtime.log.warn({ err: error }, 'the state of the providers could not be read')
    }
  }

  function look(): Promise<void> {
    looking ??= lookOnce().finally(() => {
      looking = null
    })
    return looking
  }

  return {
    look,
    async stop() {
      clearInterval(timer)
      await looking
    },
  }
}
