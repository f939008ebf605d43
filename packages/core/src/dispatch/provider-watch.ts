import type { Listening, Provider } from '../contract/outside/provider.ts'
import { PARKED_PAGE, type ReceiveReports } from '../messages/reports.ts'
import type { Log, Runtime } from '../runtime/runtime.ts'

/** Reports of providers that do not arrive over HTTP. */
export interface Listeners {
  /** The states of a provider's connections, for operators. */
  statesOf(provider: string): ReturnType<Listening['states']>
  close(grace_ms: number): Promise<void>
}

/**
 * Starts listening for all of these providers.
 * @throws Error if a provider cannot listen, for example because its port is in use; then no provider listens.
 */
export async function startListening({
  providers,
  open,
  receiveReports,
  log,
}: {
  providers: readonly string[]
  open: (name: string) => Promise<Provider>
  receiveReports: ReceiveReports
  log: Log
}): Promise<Listeners> {
  const listening = new Map<string, Listening>()

  async function close(grace_ms: number): Promise<void> {
    await Promise.allSettled([...listening.values()].map((one) => one.close(grace_ms)))
  }

  try {
    for (const name of providers) {
      const provider = await open(name)
      if (!provider.listen) continue
      const listens = await provider.listen({
        receive: (reports) => receiveReports(name, reports),
        note: (level, text, fields) => log[level]({ ...fields, provider: name }, text),
      })
      listening.set(name, listens)
    }
  } catch (error) {
    await close(0)
    throw error
  }
  return { statesOf: (provider) => listening.get(provider)?.states() ?? [], close }
}

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
