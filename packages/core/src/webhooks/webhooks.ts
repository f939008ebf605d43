import type { Body, Data } from '../contract/endpoint.ts'
import { SvcError } from '../contract/errors.ts'
import { EVENT_KINDS, EVENTS } from '../contract/events.ts'
import { mintSecret } from '../contract/signature.ts'
import type {
  Delivery,
  webhooks as endpoints,
  Subscription,
  Webhook,
} from '../contract/webhooks.ts'
import type { Runtime } from '../runtime.ts'
import type { DeliveryRow, Storage, WebhookRow } from '../storage/storage.ts'
import { checkTarget, type TargetPolicy } from './target.ts'

/** How much of a secret may be shown: enough to tell two apart, nothing to sign with. */
const SECRET_SHOWN_LENGTH = 10

export interface Webhooks {
  /** @throws SvcError `validation_error` for an address that deliveries may not go to. */
  create(
    workspaceId: string,
    request: Body<typeof endpoints.create>,
  ): Promise<Data<typeof endpoints.create>['webhook']>
  /** Newest first. */
  list(
    workspaceId: string,
    page: { limit: number; offset: number },
  ): Promise<{ webhooks: Webhook[]; total: number }>
  /** @throws SvcError `not_found`, also for another workspace's webhook. */
  get(workspaceId: string, webhookId: string): Promise<Webhook>
  /** Removes the webhook and what waits for it. */
  delete(workspaceId: string, webhookId: string): Promise<void>
  /** Newest first. */
  deliveries(
    workspaceId: string,
    webhookId: string,
    page: { limit: number; offset: number },
  ): Promise<{ deliveries: Delivery[]; total: number }>
  /** The kinds of events there are. */
  events(): Data<typeof endpoints.events>['events']
}

export function createWebhooks({
  storage,
  runtime,
  targets,
}: {
  storage: Storage
  runtime: Runtime
  targets: TargetPolicy
}): Webhooks {
  const notFound = () => new SvcError('not_found', 'Webhook not found')

  async function get(workspaceId: string, webhookId: string): Promise<Webhook> {
    const row = await storage.read.webhooks.byId(workspaceId, webhookId)
    if (!row) throw notFound()
    return recordOf(row)
  }

  return {
    async create(workspaceId, request) {
      checkTarget(request.url, targets)
      const at = runtime.now()
      const row: WebhookRow = {
        id: runtime.id(),
        workspace_id: workspaceId,
        url: request.url,
        description: request.description ?? null,
        events: request.events,
        headers: request.headers ?? {},
        secret: mintSecret(runtime.bytes),
        is_active: true,
        status: 'active',
        disabled_reason: null,
        consecutive_failures: 0,
        last_success_at: null,
        last_failure_at: null,
        created_at: at,
        updated_at: at,
      }
      await storage.write(({ webhooks }) => webhooks.insert(row))
      return { ...recordOf(row), secret: row.secret }
    },
    async list(workspaceId, page) {
      const [rows, total] = await Promise.all([
        storage.read.webhooks.list(workspaceId, page),
        storage.read.webhooks.count(workspaceId),
      ])
      return { webhooks: rows.map(recordOf), total }
    },
    get,
    async delete(workspaceId, webhookId) {
      const removed = await storage.write(({ webhooks }) => webhooks.remove(workspaceId, webhookId))
      if (!removed) throw notFound()
    },
    async deliveries(workspaceId, webhookId, page) {
      await get(workspaceId, webhookId)
      const [rows, total] = await Promise.all([
        storage.read.webhooks.deliveries(workspaceId, webhookId, page),
        storage.read.webhooks.countDeliveries(workspaceId, webhookId),
      ])
      return { deliveries: rows.map(deliveryOf), total }
    },
    events: () =>
      EVENT_KINDS.map((name) => ({
        name,
        description: EVENTS[name].description,
        example: { event: name, data: EVENTS[name].example },
      })),
  }
}

function recordOf({ secret, ...row }: WebhookRow): Webhook {
  return {
    ...row,
    events: row.events as Subscription[],
    headers: Object.keys(row.headers),
    secret_prefix: `${secret.slice(0, SECRET_SHOWN_LENGTH)}...`,
  }
}

function deliveryOf(row: DeliveryRow): Delivery {
  return { ...row, event: row.event as Delivery['event'] }
}
