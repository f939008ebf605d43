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

/** How the whole service stands, over all workspaces: for its operator. */
export interface Overview {
  at: Date
  messages: MessageTotal[]
  message_queue: MessageQueueState
  delivery_queue: QueueState
  credits: CreditTotals
  webhooks: WebhookTotals
  /** Why nothing is sent or delivered; null while it is. */
  pause: DispatchPause | null
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
  /** At most `limit` webhooks and `limit` messages, the newest first; of one channel, if that is asked for. */
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
