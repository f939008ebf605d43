import { type Actor, SERVICE } from '../audit/actor.ts'
import { auditRow } from '../audit/entry.ts'
import { invalid, SvcError } from '../contract/errors.ts'
import type {
  CallbackReading,
  CallbackRequest,
  Listening,
  Outcome,
  Provider,
} from '../contract/outside/provider.ts'
import type { Channel } from '../contract/resources/content.ts'
import type { SendRequest } from '../contract/resources/send-request.ts'
import type { ReceiveReports } from '../messages/reports.ts'
import { type ProviderSettings, traitsOf } from '../providers/registry.ts'
import type { PauseRow } from '../rows/rows.ts'
import type { Runtime } from '../runtime/runtime.ts'
import type { Storage } from '../storage/ports/storage.ts'
import { tryProvider } from './try-provider.ts'

/** How a provider stands, for operators. */
export interface ProviderStatus {
  name: string
  type: string
  channels: readonly Channel[]
  senders: Readonly<Partial<Record<Channel, readonly string[]>>>
  messages_per_second: number | null
  /** What is paused, the whole provider or some senders; empty where all goes. */
  pauses: {
    /** Empty for the whole provider. */
    sender: string
    cause: 'operator' | 'misconfigured'
    code: string | null
    reason: string
    /** When the provider is tried again; null where an operator must resume it. */
    retry_at: Date | null
    created_at: Date
  }[]
  /** Its connections, where it holds some and this process has them. */
  connections: ReturnType<Listening['states']>
}

/** Whether a provider takes its settings; `unaskable` where there is nothing harmless to ask it. */
export type Checked = { type: 'well' } | { type: 'wrong'; text: string } | { type: 'unaskable' }

/** What operators and the providers themselves do with providers. */
export interface ProviderDesk {
  status(): Promise<ProviderStatus[]>
  /**
   * Nothing more is sent through it, or from one of its senders, until it is resumed; what is queued waits.
   * @throws SvcError `not_found`; `validation_error` for a sender that it has not.
   */
  pause(
    name: string,
    options: { reason: string; sender?: string | undefined },
    actor?: Actor,
  ): Promise<void>
  /** Answers whether it was paused. @throws SvcError `not_found`. */
  resume(name: string, options?: { sender?: string | undefined }, actor?: Actor): Promise<boolean>
  /**
   * Asks the provider something harmless with its credentials.
   * @throws SvcError `not_found`.
   */
  check(name: string): Promise<Checked>
  /**
   * Sends one real message through this provider alone, whether or not it is paused, and outside the books: nothing is
   * charged and no record is kept. What the provider tells of it later is of no message.
   * @throws SvcError `not_found`; `validation_error` where it serves no such channel or sender.
   */
  send(name: string, trial: SendRequest): Promise<Outcome>
  /** The providers that make requests to this service, and how many bytes the body of one may have. */
  callbackLimits(): Map<string, number>
  /**
   * Takes a request that a provider made. What it tells is stored when this resolves.
   * @throws SvcError `not_found` for a name that nobody has, or that calls nothing.
   */
  callback(name: string, request: CallbackRequest): Promise<CallbackReading>
}

export function createProviderDesk({
  storage,
  runtime,
  providers,
  open,
  connectionsOf,
  receiveReports,
  onResumed,
}: {
  storage: Storage
  runtime: Runtime
  providers: readonly ProviderSettings[]
  open: (name: string) => Promise<Provider>
  connectionsOf: (name: string) => ReturnType<Listening['states']>
  receiveReports: ReceiveReports
  onResumed: () => void
}): ProviderDesk {
  function known(name: string): ProviderSettings {
    const found = providers.find((provider) => provider.name === name)
    if (found) return found
    const names = providers.map((provider) => provider.name).join(', ')
    const there = names === '' ? 'none is configured' : `there are: ${names}`
    throw new SvcError('not_found', `There is no provider ${name}; ${there}`)
  }

  return {
    async status() {
      const pauses = await storage.read.providerPauses.list()
      return providers.map((settings) => {
        const { channels, senders, messages_per_second } = traitsOf(settings)
        const name: string = settings.name
        return {
          name,
          type: settings.type,
          channels,
          senders,
          messages_per_second,
          pauses: pauses
            .filter(({ provider }) => provider === name)
            .map(({ provider: _, failures: __, ...pause }) => pause),
          connections: connectionsOf(name),
        }
      })
    },
    async pause(name, { reason, sender = '' }, actor = SERVICE) {
      const senders = Object.values(traitsOf(known(name)).senders).flat()
      if (sender !== '' && senders.length > 0 && !senders.includes(sender)) {
        throw invalid('sender', `It does not send from there, but from: ${senders.join(', ')}`)
      }
      const created_at = runtime.now()
      const row: PauseRow = {
        provider: name,
        sender,
        cause: 'operator',
        code: null,
        reason,
        failures: 0,
        retry_at: null,
        created_at,
      }
      await storage.write(async ({ providerPauses, audit }) => {
        await providerPauses.put(row)
        const paused = {
          workspace_id: '',
          action: 'provider.paused',
          target: { type: 'provider', id: name },
          details: { sender: sender || null, reason },
        } as const
        await audit.record(auditRow(runtime, actor, paused))
      })
    },
    async resume(name, { sender = '' } = {}, actor = SERVICE) {
      known(name)
      const pause = { provider: name, sender }
      const wasPaused = await storage.write(async ({ providerPauses, audit }) => {
        if (!(await providerPauses.remove(pause))) return false
        const resumed = {
          workspace_id: '',
          action: 'provider.resumed',
          target: { type: 'provider', id: name },
          details: { sender: sender || null },
        } as const
        await audit.record(auditRow(runtime, actor, resumed))
        return true
      })
      onResumed()
      return wasPaused
    },
    async check(name) {
      known(name)
      const provider = await open(name)
      if (!provider.check) return { type: 'unaskable' }
      const text = await provider.check()
      return text === null ? { type: 'well' } : { type: 'wrong', text }
    },
    async send(name, trial) {
      const traits = traitsOf(known(name))
      const isListening = connectionsOf(name).length > 0
      return tryProvider(await open(name), { traits, isListening, trial, runtime })
    },
    callbackLimits: () =>
      new Map(
        providers.flatMap((settings) => {
          const { callback_bytes } = traitsOf(settings)
          return callback_bytes === null ? [] : [[settings.name, callback_bytes] as const]
        }),
      ),
    async callback(name, request) {
      // Strangers are not told which there are.
      const unknown = () => new SvcError('not_found', 'There is no such provider')
      if (!providers.some((provider) => provider.name === name)) throw unknown()
      const provider = await open(name)
      if (!provider.readCallback) throw unknown()
      const reading = provider.readCallback(request)
      if (reading.type === 'read') await receiveReports(name, reading.reports)
      runtime.telemetry?.calledBack(name, reading.type)
      return reading
    },
  }
}
