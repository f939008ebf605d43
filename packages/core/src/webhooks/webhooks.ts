import { type Actor, SERVICE } from '../audit/actor.ts'
import { auditRow } from '../audit/entry.ts'
import type { Body, Data } from '../contract/endpoint.ts'
import { SvcError } from '../contract/errors.ts'
import { EVENT_KINDS, EVENTS } from '../contract/events.ts'
import { mintSecret } from '../contract/signature.ts'
import type { webhooks as endpoints, Webhook } from '../contract/webhooks.ts'
import type { Runtime } from '../runtime.ts'
import type { Sealer } from '../secrets/sealer.ts'
import type { Storage, WebhookRow } from '../storage/storage.ts'
import { createWebhookChanges, type WebhookChanges } from './changes.ts'
import { createWebhookDeliveries, type WebhookDeliveries } from './deliveries.ts'
import { deliveriesOfMessage, type MessageDelivery } from './of-message.ts'
import { assertRoomForWebhook, type WebhookQuotas } from './quota.ts'
import { type OpenedWebhook, openWebhook, sealWebhook } from './sealed-webhook.ts'
import { webhookOf } from './shown.ts'
import type { TargetGuard } from './target.ts'

/** The webhooks of workspaces, and what was delivered to them. */
export interface Webhooks extends WebhookChanges, WebhookDeliveries {
  /** @throws SvcError `validation_error` for an address that deliveries may not go to, or one webhook too many. */
  create(
    workspaceId: string,
    request: Body<typeof endpoints.create>,
    actor?: Actor,
  ): Promise<Data<typeof endpoints.create>['webhook']>
  /** Newest first. */
  list(
    workspaceId: string,
    page: { limit: number; offset: number },
  ): Promise<{ webhooks: Webhook[]; total: number }>
  /** @throws SvcError `not_found`, also for another workspace's webhook. */
  get(workspaceId: string, webhookId: string): Promise<Webhook>
  /** Removes the webhook and what waits for it. */
  delete(workspaceId: string, webhookId: string, actor?: Actor): Promise<void>
  /** The deliveries about one message, oldest first; none for another workspace's. */
  ofMessage(workspaceId: string, messageId: string): Promise<MessageDelivery[]>
  /** The kinds of events there are. */
  events(): Data<typeof endpoints.events>['events']
}

export function createWebhooks({
  storage,
  runtime,
  sealer,
  quotas,
  targets,
  onQueued,
}: {
  storage: Storage
  runtime: Runtime
  sealer: Sealer
  quotas: WebhookQuotas
  targets: Pick<TargetGuard, 'check'>
  /** Told of a webhook that somebody wants delivered to now, so that nothing waits to be found. */
  onQueued: (webhookId: string) => void
}): Webhooks {
  const notFound = () => new SvcError('not_found', 'Webhook not found')

  const shown = (row: WebhookRow) => webhookOf(openWebhook(sealer, row, row))

  async function get(workspaceId: string, webhookId: string): Promise<Webhook> {
    const row = await storage.read.webhooks.byId(workspaceId, webhookId)
    if (!row) throw notFound()
    return shown(row)
  }

  return {
    ...createWebhookChanges({ storage, runtime, sealer, quotas, targets, onEnabled: onQueued }),
    ...createWebhookDeliveries({ storage, runtime, onQueued }),
    async create(workspaceId, request, actor = SERVICE) {
      await targets.check(request.url)
      const at = runtime.now()
      const row: OpenedWebhook = {
        id: runtime.id(),
        workspace_id: workspaceId,
        url: request.url,
        description: request.description ?? null,
        events: request.events,
        headers: request.headers ?? {},
        secret: mintSecret(runtime.bytes),
        previous_secret: null,
        previous_secret_ends_at: null,
        accepted_secret: null,
        is_active: true,
        status: 'active',
        disabled_reason: null,
        enabled_at: null,
        consecutive_failures: 0,
        last_success_at: null,
        last_failure_at: null,
        created_at: at,
        updated_at: at,
      }
      await storage.write(async (stores) => {
        await assertRoomForWebhook(stores, workspaceId, { id: null, url: row.url }, quotas)
        await stores.webhooks.insert(sealWebhook(sealer, row, row))
        const created = {
          workspace_id: workspaceId,
          action: 'webhook.created',
          target: { type: 'webhook', id: row.id },
          details: { host: new URL(row.url).host, events: row.events },
        } as const
        await stores.audit.record(auditRow(runtime, actor, created))
      })
      return { ...webhookOf(row), secret: row.secret }
    },
    async list(workspaceId, page) {
      const [rows, total] = await Promise.all([
        storage.read.webhooks.list(workspaceId, page),
        storage.read.webhooks.count(workspaceId),
      ])
      return { webhooks: rows.map(shown), total }
    },
    get,
    async delete(workspaceId, webhookId, actor = SERVICE) {
      await storage.write(async ({ webhooks, audit }) => {
        if (!(await webhooks.remove(workspaceId, webhookId))) throw notFound()
        const deleted = {
          workspace_id: workspaceId,
          action: 'webhook.deleted',
          target: { type: 'webhook', id: webhookId },
        } as const
        await audit.record(auditRow(runtime, actor, deleted))
      })
    },
    ofMessage: (workspaceId, messageId) => deliveriesOfMessage(storage, workspaceId, messageId),
    events: () =>
      EVENT_KINDS.map((name) => ({
        name,
        description: EVENTS[name].description,
        example: { event: name, data: EVENTS[name].example },
      })),
  }
}
