import { type Actor, auditRow, SERVICE } from '../audit/entry.ts'
import type { BodyIn, Form } from '../contract/endpoints/endpoint.ts'
import { invalid, SvcError } from '../contract/errors.ts'
import type {
  CallbackReading,
  CallbackRequest,
  Listening,
  Outcome,
  Provider,
  SendJob,
  Traits,
} from '../contract/outside/provider.ts'
import type { Channel } from '../contract/resources/content.ts'
import { namedRecipients } from '../contract/resources/mail-recipients.ts'
import type { messages } from '../contract/resources/messages.ts'
import type { SendRequest } from '../contract/resources/send-request.ts'
import type { ReceiveReports } from '../messages/reports.ts'
import type { InstalledProvider } from '../providers/installed.ts'
import type { PauseRow } from '../rows/rows.ts'
import { heldMinutes } from '../rules/money.ts'
import type { Runtime } from '../runtime/runtime.ts'
import type { Storage } from '../storage/ports/storage.ts'

/** The state of a provider, for operators. */
export interface ProviderStatus {
  name: string
  /** The built-in type; `custom` for a provider of the embedding program. */
  type: string
  channels: readonly Channel[]
  senders: Readonly<Partial<Record<Channel, readonly string[]>>>
  messages_per_second: number | null
  /** The pauses of the whole provider or of senders; empty if nothing is paused. */
  pauses: {
    /** The paused sender; empty for the whole provider. */
    sender: string
    cause: 'operator' | 'misconfigured'
    code: string | null
    reason: string
    /** The time of the next try; null when an operator must end the pause. */
    retry_at: Date | null
    created_at: Date
  }[]
  /** The answers to the calls of this process. */
  recent: RecentOutcomes
  /** Its persistent connections; empty when another process holds them. */
  connections: ReturnType<Listening['states']>
}

/** Whether a provider accepts its settings; `unsupported` when the provider has no request without side effects. */
export type Checked =
  | {
      type: 'ok'
      /**
       * With WhatsApp: why templates are not checked before a charge; null if they are. `unlisted`: the settings name no account
       * to ask, or the provider has no list.
       */
      templates?: string | null
    }
  | { type: 'failed'; text: string }
  | { type: 'unsupported' }

/** Operators' actions on providers, and requests that providers make. */
export interface ProviderDesk<F extends Form = 'given'> {
  /** The state of each provider, in the order in which they are tried. */
  status(): Promise<ProviderStatus[]>
  /**
   * Stops sends through a provider, or from one of its senders, until `resume`; queued messages wait. When the promise
   * resolves, this process begins no such call any more; another server begins none later than 5 s after the pause was
   * stored. Calls that have begun finish: `dispatch.standstill` waits for them. A message of a paused sender that was
   * passed to its provider before counts as begun, also while it waits there for a connection.
   * @throws SvcError `not_found` for an unknown provider; `validation_error` for an unknown sender.
   */
  pause(
    name: string,
    options: { reason: string; sender?: string | undefined },
    actor?: Actor,
  ): Promise<void>
  /** Ends a pause. Returns whether there was a pause. @throws SvcError `not_found`. */
  resume(
    name: string,
    options?: { sender?: string | undefined; reason?: string | undefined },
    actor?: Actor,
  ): Promise<boolean>
  /**
   * Makes a request without side effects with the provider's credentials.
   * @throws SvcError `not_found`.
   */
  check(name: string): Promise<Checked>
  /**
   * Sends one real message through this provider, even when it is paused. Nothing is charged or stored, and later
   * reports about the message are ignored.
   * @throws SvcError `not_found`; `validation_error` when the provider does not serve the channel or the sender.
   */
  send(name: string, trial: BodyIn<typeof messages.send, F>): Promise<Outcome>
  /** The names of providers that call this service, with the maximum size of a body in bytes. */
  callbackLimits(): Map<string, number>
  /**
   * Handles a request from a provider. Its reports are stored when the promise resolves.
   * @throws SvcError `not_found` for an unknown provider, or one that makes no requests.
   */
  callback(name: string, request: CallbackRequest): Promise<CallbackReading>
}

export function createProviderDesk({
  storage,
  runtime,
  providers,
  open,
  connectionsOf,
  record,
  receiveReports,
  onChanged,
}: {
  storage: Storage
  runtime: Runtime
  providers: readonly InstalledProvider[]
  open: (name: string) => Promise<Provider>
  connectionsOf: (name: string) => ReturnType<Listening['states']>
  record: ProviderRecord
  receiveReports: ReceiveReports
  /** Called after a pause began or ended. */
  onChanged: () => Promise<void>
}): ProviderDesk<'decoded'> {
  function known(name: string): InstalledProvider {
    const found = providers.find((provider) => provider.name === name)
    if (found) return found
    const names = providers.map((provider) => provider.name).join(', ')
    const configured = names === '' ? 'none is configured' : `there are: ${names}`
    throw new SvcError('not_found', `There is no provider ${name}; ${configured}`)
  }

  return {
    async status() {
      const pauses = await storage.read.providerPauses.list()
      return providers.map(({ name, type, traits }) => {
        const { channels, senders, messages_per_second } = traits
        return {
          name,
          type,
          channels,
          senders,
          messages_per_second,
          pauses: pauses
            .filter(({ provider }) => provider === name)
            .map(({ provider: _, failures: __, ...pause }) => pause),
          recent: record.of(name),
          connections: connectionsOf(name),
        }
      })
    },
    async pause(name, { reason, sender = '' }, actor = SERVICE) {
      const senders = Object.values(known(name).traits.senders).flat()
      if (sender !== '' && senders.length > 0 && !senders.includes(sender)) {
        throw invalid('sender', `It sends only from: ${senders.join(', ')}`)
      }
      const row: PauseRow = {
        provider: name,
        sender,
        cause: 'operator',
        code: null,
        reason,
        failures: 0,
        retry_at: null,
        created_at: runtime.now(),
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
      await onChanged()
    },
    async resume(name, { sender = '', reason } = {}, actor = SERVICE) {
      known(name)
      const pause = { provider: name, sender }
      const wasPaused = await storage.write(async ({ providerPauses, audit }) => {
        if (!(await providerPauses.remove(pause))) return false
        const resumed = {
          workspace_id: '',
          action: 'provider.resumed',
          target: { type: 'provider', id: name },
          details: { sender: sender || null, ...(reason && { reason }) },
        } as const
        await audit.record(auditRow(runtime, actor, resumed))
        return true
      })
      await onChanged()
      return wasPaused
    },
    async check(name) {
      const { traits } = known(name)
      const provider = await open(name)
      if (!provider.check) return { type: 'unsupported' }
      const text = await provider.check()
      if (text !== null) return { type: 'failed', text }
      if (!traits.channels.includes('whatsapp')) return { type: 'ok' }
      const list = await provider.templates?.()
      if (list === undefined) return { type: 'ok', templates: 'unlisted' }
      return { type: 'ok', templates: list.type === 'listed' ? null : list.reason }
    },
    async send(name, trial) {
      const { traits } = known(name)
      if (!('content' in trial) || 'template' in trial)
        throw invalid('content', 'A trial needs its content')
      const isListening = connectionsOf(name).length > 0
      return tryProvider(await open(name), { traits, isListening, trial, runtime })
    },
    callbackLimits: () =>
      new Map(
        providers.flatMap(({ name, traits: { callback_bytes } }) =>
          callback_bytes === null ? [] : [[name, callback_bytes] as const],
        ),
      ),
    async callback(name, request) {
      // Any client may call this, so the answer must not disclose the names of providers.
      const unknown = () => new SvcError('not_found', 'There is no such provider')
      if (!providers.some((provider) => provider.name === name)) throw unknown()
      const provider = await open(name)
      if (!provider.readCallback) throw unknown()
      const reading = await provider.readCallback(request)
      if (reading.type === 'read') await receiveReports(name, reading.reports)
      runtime.telemetry?.calledBack(name, reading.type)
      return reading
    },
  }
}

/** After this time the message is sent even without a connection. */
const CONNECT_MAX_MS = 12_000
const LOOK_EVERY_MS = 50
const CLOSE_MS = 2_000

/**
 * Sends one real message through a provider. Nothing is charged or stored.
 * @throws SvcError `validation_error` when the provider does not serve the channel or the sender.
 */
async function tryProvider(
  provider: Provider,
  {
    traits,
    isListening,
    trial,
    runtime,
  }: {
    traits: Traits
    /** Whether this process holds the provider's connections already. */
    isListening: boolean
    trial: SendRequest
    runtime: Pick<Runtime, 'id' | 'now'>
  },
): Promise<Outcome> {
  const job = jobOf(trial, traits, runtime)
  const connections = traits.connected && !isListening ? await connected(provider) : null
  try {
    const [outcome] = await provider.send([job])
    if (!outcome) throw new Error('the provider returned no outcome')
    return outcome
  } finally {
    await connections?.close(CLOSE_MS)
  }
}

function jobOf(trial: SendRequest, traits: Traits, runtime: Pick<Runtime, 'id' | 'now'>): SendJob {
  const { channel, content, from } = trial
  const [to, ...others] =
    trial.channel === 'email' ? namedRecipients(trial) : [{ address: trial.to }]
  if (!to || others.length > 0) throw invalid('to', 'A trial is sent to one recipient')
  if (!traits.channels.includes(channel)) {
    throw invalid('channel', `It does not serve ${channel}, only: ${traits.channels.join(', ')}`)
  }
  const senders = traits.senders[channel] ?? []
  if (from !== undefined && channel !== 'email' && senders.length > 0 && !senders.includes(from)) {
    throw invalid('from', `It sends only from: ${senders.join(', ')}`)
  }
  return {
    // These ids belong to no workspace and no message, so later reports change nothing.
    workspace_id: runtime.id(),
    message_id: runtime.id(),
    channel,
    content,
    recipient: to.address,
    sender: from ?? senders[0] ?? null,
    attempt: 1,
    created_at_ms: runtime.now().getTime(),
    max_duration_s: trial.channel === 'voice' ? heldMinutes(trial.content) * 60 : null,
  }
}

/** Connects for this one message. Reports that arrive meanwhile are refused; the provider sends them again to the server. */
async function connected(provider: Provider): Promise<Listening | null> {
  const listening = await provider.listen?.({
    async receive() {
      throw new Error('nothing is received during a trial')
    },
    note() {},
  })
  if (!listening) return null
  const until = performance.now() + CONNECT_MAX_MS
  const isUp = () => listening.states().some(({ state }) => state === 'up')
  while (!isUp() && performance.now() < until) {
    await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS))
  }
  return listening
}

/** What a provider answered lately to the calls of this process. */
export interface RecentOutcomes {
  /** The length of the period, at most 15 minutes: shorter after a start. */
  period_s: number
  accepted: number
  rejected: number
  /** Calls that are tried again. */
  retried: number
  /** Calls after which it is unknown whether the provider has the message. */
  unknown: number
  /** The last answer that was no acceptance, also before the period; null for none. */
  last_error: { code: string; message: string; at: Date } | null
  /** The unknown outcomes since the provider last took or refused a message, also before the period, and the time of the first; null for none. */
  unanswered: { count: number; since: Date } | null
}

/** Counts the outcomes of the calls of this process by minute. */
export interface ProviderRecord {
  note(provider: string, outcomes: readonly Outcome[]): void
  /** Notes that the provider answered late, or knew a message of unknown outcome in a look-up. */
  noteAnswer(provider: string): void
  of(provider: string): RecentOutcomes
}

const MINUTE_MS = 60_000
const MINUTES = 15

type Counts = Record<Outcome['type'], number>

interface Kept {
  /** Each minute with outcomes, the oldest first. */
  minutes: Map<number, Counts>
  last_error: RecentOutcomes['last_error']
  unanswered: RecentOutcomes['unanswered']
}

export function createProviderRecord(runtime: Pick<Runtime, 'now' | 'elapsed'>): ProviderRecord {
  const began_ms = runtime.elapsed()
  const providers = new Map<string, Kept>()
  const minuteNow = () => Math.floor(runtime.elapsed() / MINUTE_MS)

  return {
    note(provider, outcomes) {
      const first = { minutes: new Map(), last_error: null, unanswered: null }
      const kept: Kept = providers.get(provider) ?? first
      providers.set(provider, kept)
      const { minutes } = kept
      const minute = minuteNow()
      const counts = minutes.get(minute) ?? none()
      minutes.set(minute, counts)
      const [oldest] = minutes.keys()
      if (oldest !== undefined && oldest <= minute - MINUTES) minutes.delete(oldest)
      for (const outcome of outcomes) {
        counts[outcome.type] += 1
        if (outcome.type === 'accepted' || outcome.type === 'rejected') kept.unanswered = null
        if (outcome.type === 'accepted') continue
        if (outcome.type === 'ambiguous') {
          const { count, since } = kept.unanswered ?? { count: 0, since: runtime.now() }
          kept.unanswered = { count: count + 1, since }
        }
        const { error_code: code, error_message: message } = outcome
        kept.last_error = { code, message, at: runtime.now() }
      }
    },
    noteAnswer(provider) {
      const kept = providers.get(provider)
      if (kept) kept.unanswered = null
    },
    of(provider) {
      const kept = providers.get(provider)
      const sum = none()
      const minute = minuteNow()
      for (const [at, counts] of kept?.minutes ?? []) {
        if (at <= minute - MINUTES) continue
        for (const type of Object.keys(sum) as Outcome['type'][]) sum[type] += counts[type]
      }
      const { accepted, rejected, retry: retried, ambiguous: unknown } = sum
      const period_s = Math.round(
        Math.min(runtime.elapsed() - began_ms, MINUTES * MINUTE_MS) / 1000,
      )
      return {
        period_s,
        accepted,
        rejected,
        retried,
        unknown,
        last_error: kept?.last_error ?? null,
        unanswered: kept?.unanswered ?? null,
      }
    },
  }
}

function none(): Counts {
  return { accepted: 0, rejected: 0, retry: 0, ambiguous: 0 }
}
