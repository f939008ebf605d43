import type { Channel } from '../contract/resources/content.ts'
import type { Runtime } from '../runtime/runtime.ts'
import type {
  CreditTotals,
  FailedMessage,
  MessageQueueState,
  MessageTotal,
  QueueState,
  TroubledWebhook,
  WebhookTotals,
} from '../storage/ports/overview.ts'
import type { Storage } from '../storage/ports/storage.ts'
import type { DispatchPause } from './dispatch-control.ts'
import type { ProviderStatus } from './provider-desk.ts'

/** Totals and queues over all workspaces, for the operator. */
export interface Overview {
  at: Date
  messages: MessageTotal[]
  message_queue: MessageQueueState
  delivery_queue: QueueState
  credits: CreditTotals
  webhooks: WebhookTotals
  /** The pause of all sending and delivering, or null. */
  pause: DispatchPause | null
}

/** The state of every provider, webhooks in trouble and failed messages, for the operator. */
export interface Troubles {
  providers: ProviderStatus[]
  webhooks: TroubledWebhook[]
  failures: FailedMessage[]
}

/** The operator's views of the service. All data is in the database, so another process than the server may read it. */
export interface Overviews {
  /** Totals and queues. The number of reads does not grow with the history. */
  overview(): Promise<Overview>
  /** All providers, at most `limit` webhooks and `limit` messages, newest first. `channel` filters the messages. */
  troubles(limit: number, options?: { channel?: Channel | undefined }): Promise<Troubles>
}

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
      const [messages, message_queue, delivery_queue, credits, webhooks, paused] =
        await Promise.all([
          reads.messageTotals(),
          reads.messageQueue(at),
          reads.deliveryQueue(at),
          reads.creditTotals(),
          reads.webhookTotals(),
          pause(),
        ])
      return { at, messages, message_queue, delivery_queue, credits, webhooks, pause: paused }
    },
    async troubles(limit, { channel } = {}) {
      const [states, webhooks, failures] = await Promise.all([
        providers(),
        reads.troubledWebhooks(limit),
        reads.failedMessages(limit, channel),
      ])
      return { providers: states, webhooks, failures }
    },
  }
}
