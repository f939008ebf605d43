import type { Channel } from '../contract/resources/content.ts'
import type { DispatchPause } from '../control/dispatch-control.ts'
import type { ProviderStatus } from '../control/provider-desk.ts'
import { SANDBOX } from '../providers/installed.ts'
import { EMPTY_PART, type QueuePart } from '../rows/operating.ts'
import { codeWindows } from '../rules/verify.ts'
import type { Runtime } from '../runtime/runtime.ts'
import type { Storage } from '../storage/ports/storage.ts'
import type {
  CreditTotals,
  FailedMessage,
  MessageQueueState,
  MessageTotal,
  QueueState,
  QueueStates,
  TroubledWebhook,
  UnknownMessage,
  WebhookTotals,
} from '../storage/ports/stores.ts'
import { withState } from '../verifications/pauses.ts'

/** Totals and queues over all workspaces, for the operator. */
export interface Overview {
  at: Date
  messages: MessageTotal[]
  message_queue: MessageQueueState
  delivery_queue: QueueState
  credits: CreditTotals
  webhooks: WebhookTotals
  /** The messages that wait for each provider, and those in flight to it. */
  provider_queues: ProviderQueue[]
  /** The pause of all sending and delivering, or null. */
  pause: DispatchPause | null
  /** The countries to which workspaces send no codes; at most 1,000 are counted. */
  paused_countries: number
}

/**
 * The messages that wait for a provider, and those in flight to it. A message without an attempt counts for the provider that
 * is tried first. At most 10,000 messages are counted.
 */
export interface ProviderQueue extends Omit<QueuePart, 'channel' | 'livemode' | 'provider'> {
  provider: string
}

/** The state of every provider, webhooks in trouble, failed messages and paused countries, for the operator. */
export interface Troubles {
  providers: ProviderStatus[]
  webhooks: TroubledWebhook[]
  failures: FailedMessage[]
  paused_countries: PausedCountry[]
}

/** A country to which a workspace sends no codes, because too few were approved: the counts say how few. */
export interface PausedCountry {
  workspace_id: string
  country: string
  paused_at: Date
  sent: number
  approved: number
  /** Whether codes are still refused; false: the pause has ended. */
  is_active: boolean
}

/** The queues in detail, and the messages with an unknown outcome. */
export interface Queues {
  at: Date
  messages: QueueStates
  deliveries: QueueStates
  unknown: UnknownMessage[]
}

/** The operator's views of the service. All data is in the database, so another process than the server may read it. */
export interface Overviews {
  /** Totals and queues. The number of reads does not grow with the history. */
  overview(): Promise<Overview>
  /** All providers, at most `limit` webhooks, messages and paused countries each, newest first. `channel` filters the messages. */
  troubles(limit: number, options?: { channel?: Channel | undefined }): Promise<Troubles>
  /** The states of both queues, and at most `limit` messages with an unknown outcome, the oldest first. */
  queues(limit: number): Promise<Queues>
}

/** An operator who sees this number of paused countries needs no exact number. */
const PAUSES_MAX = 1_000

export function createOverviews({
  storage,
  runtime,
  providers,
  pause,
}: {
  storage: Storage
  runtime: Runtime
  providers: () => Promise<ProviderStatus[]>
  pause: () => Promise<DispatchPause | null>
}): Overviews {
  const reads = storage.read.overview
  return {
    async overview() {
      const at = runtime.now()
      const [
        messages,
        message_queue,
        delivery_queue,
        credits,
        webhooks,
        paused,
        parts,
        states,
        pauses,
      ] = await Promise.all([
        reads.messageTotals(),
        reads.messageQueue(at),
        reads.deliveryQueue(at),
        reads.creditTotals(),
        reads.webhookTotals(),
        pause(),
        reads.queueParts(at),
        providers(),
        storage.read.verifications.pausesOfAll(codeWindows(at).recent, PAUSES_MAX),
      ])
      const countries = await withState(storage, pauses, at)
      const provider_queues = queuesOf(parts, states)
      const queues = { message_queue, delivery_queue, provider_queues }
      return {
        at,
        messages,
        ...queues,
        credits,
        webhooks,
        pause: paused,
        paused_countries: countries.filter(({ is_active }) => is_active).length,
      }
    },
    async troubles(limit, { channel } = {}) {
      const now = runtime.now()
      const [states, webhooks, failures, pauses] = await Promise.all([
        providers(),
        reads.troubledWebhooks(limit),
        reads.failedMessages(limit, channel),
        storage.read.verifications.pausesOfAll(codeWindows(now).recent, limit),
      ])
      const paused_countries = await withState(storage, pauses, now)
      return { providers: states, webhooks, failures, paused_countries }
    },
    async queues(limit) {
      const at = runtime.now()
      const [messages, deliveries, unknown] = await Promise.all([
        reads.messageQueueStates(at),
        reads.deliveryQueueStates(at),
        reads.unknownMessages(limit),
      ])
      return { at, messages, deliveries, unknown }
    },
  }
}

/** The parts of the queue by provider: those of the settings in their order, and others that have messages. */
function queuesOf(parts: readonly QueuePart[], states: readonly ProviderStatus[]): ProviderQueue[] {
  const queues = new Map<string, ProviderQueue>()
  const queueOf = (provider: string): ProviderQueue => {
    const queue = queues.get(provider) ?? { provider, ...EMPTY_PART }
    queues.set(provider, queue)
    return queue
  }
  for (const { name } of states) queueOf(name)
  for (const { channel, livemode, provider, ...part } of parts) {
    const first = livemode ? states.find(({ channels }) => channels.includes(channel)) : undefined
    const queue = queueOf(provider ?? first?.name ?? SANDBOX.name)
    for (const name of ['waiting', 'calls', 'unknown'] as const) queue[name] += part[name]
    for (const name of ['oldest_waiting_at', 'oldest_call_at', 'oldest_unknown_at'] as const) {
      queue[name] = earliest(queue[name], part[name])
    }
  }
  return [...queues.values()]
}

function earliest(a: Date | null, b: Date | null): Date | null {
  if (a === null || b === null) return a ?? b
  return a < b ? a : b
}
