import type { Listening, Provider } from '../contract/outside/provider.ts'
import type { ReceiveReports } from '../messages/reports.ts'
import type { Log } from '../runtime/runtime.ts'

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
