import type { ProviderStatus } from '../channels/providers.ts'
import type { Runtime } from '../runtime.ts'
import type { Storage } from '../storage/storage.ts'
import type {
  CreditTotals,
  FailedMessage,
  MessageQueueState,
  MessageTotal,
  QueueState,
  TroubledWebhook,
  WebhookTotals,
} from './overview-store.ts'

/** How the whole service stands, over all workspaces: for its operator. */
export interface Overview {
  at: Date
  messages: MessageTotal[]
  message_queue: MessageQueueState
  delivery_queue: QueueState
  credits: CreditTotals
  webhooks: WebhookTotals
}

/** What goes wrong just now, for the operator to look at. */
export interface Troubles {
  providers: ProviderStatus[]
  webhooks: TroubledWebhook[]
  failures: FailedMessage[]
}

/** What an operator sees of the service. Beside a running server it reads the same. */
export interface Overviews {
  /** Totals and queues; a few reads, however long the history is. */
  overview(): Promise<Overview>
  /** At most `limit` webhooks and `limit` messages, the newest first. */
  troubles(limit: number): Promise<Troubles>
}

export function createOverviews({
  storage,
  runtime,
  providers,
}: {
  storage: Storage
  runtime: Runtime
  providers: () => Promise<ProviderStatus[]>
}): Overviews {
  const reads = storage.read.overview
  return {
    async overview() {
      const at = runtime.now()
      const [messages, message_queue, delivery_queue, credits, webhooks] = await Promise.all([
        reads.messageTotals(),
        reads.messageQueue(at),
        reads.deliveryQueue(at),
        reads.creditTotals(),
        reads.webhookTotals(),
      ])
      return { at, messages, message_queue, delivery_queue, credits, webhooks }
    },
    async troubles(limit) {
      const [states, webhooks, failures] = await Promise.all([
        providers(),
        reads.troubledWebhooks(limit),
        reads.failedMessages(limit),
      ])
      return { providers: states, webhooks, failures }
    },
  }
}
