import type { Pauses } from '../channels/pauses.ts'
import type { Runtime } from '../runtime.ts'

export interface ProviderWatch {
  /** Looks now. */
  look(): Promise<void>
  stop(): Promise<void>
}

const EVERY_MS = 1_000

/** Keeps up what is paused, by whatever server or command, and settles receipts that came before what they tell of. */
export function startProviderWatch({
  pauses,
  settleParked,
  runtime,
}: {
  pauses: Pauses
  settleParked: () => Promise<unknown>
  runtime: Runtime
}): ProviderWatch {
  let looking: Promise<void> | null = null
  const timer = setInterval(() => void look(), EVERY_MS).unref()

  async function lookOnce(): Promise<void> {
    try {
      await pauses.refresh()
      await settleParked()
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
