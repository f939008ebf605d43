import { PARKED_PAGE } from '../messages/reports.ts'
import type { Runtime } from '../runtime/runtime.ts'

export interface ProviderWatch {
  /** Runs one round now. */
  look(): Promise<void>
  stop(): Promise<void>
}

const EVERY_MS = 1_000

/** The maximum pages of parked receipts in one round: a fast provider reports more in a second than one page holds. */
const PAGES_MAX = 10

/**
 * Every second, reads the pauses again, because other servers and commands may have changed them, and settles the parked
 * receipts. These receipts arrived before the provider's id of their message was stored.
 */
export function startProviderWatch({
  readPauses,
  settleParked,
  runtime,
}: {
  /** Reads the pauses of dispatch and of providers. */
  readPauses: () => Promise<void>
  /** Settles one page and returns the number of receipts in it. */
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
      await readPauses()
      await settleAll()
    } catch (error) {
      runtime.log.warn({ err: error }, 'the states of the providers could not be read')
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
