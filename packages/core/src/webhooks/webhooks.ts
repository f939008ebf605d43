import { assertCredentialHolds } from '../api-keys/credential.ts'
import { modeOf } from '../api-keys/key.ts'
import { type View, type Viewer, viewOf } from '../api-keys/viewer.ts'
import { type Actor, auditRow, SERVICE } from '../audit/entry.ts'
import type { Body, BodyIn, Data, Form, QueryIn } from '../contract/endpoints/endpoint.ts'
import { pageOf, type Slice, withNext } from '../contract/endpoints/paging.ts'
import { invalid, SvcError } from '../contract/errors.ts'
import { EVENT_KINDS, EVENTS } from '../contract/resources/events.ts'
import type { webhooks as endpoints, Webhook } from '../contract/resources/webhooks.ts'
import { mintSecret } from '../contract/signing/signature.ts'
import type { WebhookRow } from '../rows/rows.ts'
import { gateHostOf } from '../rules/delivery-times.ts'
import type { Runtime } from '../runtime/runtime.ts'
import type { Sealer } from '../secrets/sealer.ts'
import type { Storage } from '../storage/ports/storage.ts'
import {
  assertRoomForWebhook,
  createWebhookChanges,
  type WebhookChanges,
  type WebhookQuotas,
  type WithWarning,
} from './changes.ts'
import {
  createWebhookDeliveries,
  deliveriesOfMessage,
  type MessageDelivery,
  type WebhookDeliveries,
} from './deliveries.ts'

import { healthOf, type WebhookHealthReport } from './health.ts'
import {
  NO_SIGNATURE,
  type OpenedWebhook,
  openWebhook,
  sealWebhook,
  signingKeyOf,
} from './sealed-webhook.ts'

import type { TargetGuard } from './target.ts'
import { checkMode, visibleWebhook, webhookOf } from './views.ts'

/** The webhooks of workspaces and their deliveries. A test key sees webhooks of mode `test` only. */
export interface Webhooks<F extends Form = 'given'>
  extends WebhookChanges<F>,
    WebhookDeliveries<F> {
  /**
   * Creates a webhook and returns it with its secret, which is empty if an API key signs. Default mode: `all`; for a test key `test`.
   * @throws SvcError `validation_error` for an address that deliveries may not go to, a key that does not sign, or if a quota is reached;
   *   `forbidden` for a test key with another mode.
   */
  create(
    viewer: Viewer,
    request: BodyIn<typeof endpoints.create, F>,
    actor?: Actor,
  ): Promise<WithWarning<Data<typeof endpoints.create>['webhook']>>
  /** Returns a page of the webhooks, newest first, and their total number. */
  list(
    viewer: Viewer,
    page: Slice,
  ): Promise<{ webhooks: Webhook[]; total: number; next_after: string | null }>
  /**
   * One webhook without its secret.
   * @throws SvcError `not_found`, also for a webhook that the viewer may not see.
   */
  get(viewer: Viewer, webhookId: string): Promise<Webhook>
  /**
   * How its receiver answers, in a period that ends now. Default period: `24h`.
   * @throws SvcError in the same cases as `get`.
   */
  health(
    viewer: Viewer,
    webhookId: string,
    query?: QueryIn<typeof endpoints.health, F>,
  ): Promise<WebhookHealthReport>
  /** Removes the webhook and its pending deliveries. @throws SvcError in the same cases as `get`. */
  delete(viewer: Viewer, webhookId: string, actor?: Actor): Promise<void>
  /** The deliveries about one message, oldest first; none for a message of another workspace. */
  ofMessage(workspaceId: string, messageId: string): Promise<MessageDelivery[]>
  /** All kinds of events, each with an example. */
  events(): Data<typeof endpoints.events>['events']
}

const UNVERIFIED =
  'The e-mail address of this workspace is not verified: this webhook is disabled when it is.'

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
  /** Called with a webhook whose deliveries are due now. */
  onQueued: (webhookId: string) => void
}): Webhooks<'decoded'> {
  const shown = (row: WebhookRow) => webhookOf(openWebhook(sealer, row, row))

  /** The secret that signs: a new one, or the text of an API key. */
  async function secretOf(
    { workspace_id, livemode }: View,
    { format = 'svc', api_key_id }: Body<typeof endpoints.create>,
  ): Promise<string> {
    if (format !== 'twilio') {
      if (api_key_id === undefined) return mintSecret(runtime.bytes)
      throw invalid('api_key_id', 'api_key_id is for the format twilio')
    }
    if (api_key_id === undefined) {
      throw invalid('api_key_id', 'The format twilio needs api_key_id: the API key that signs')
    }
    const key = await signingKeyOf({ storage, sealer }, { workspace_id, api_key_id }, 'api_key_id')
    // With a live key, events of test messages would reach a receiver as authentic events of live messages.
    if (livemode === false && modeOf(key) !== 'test') {
      throw new SvcError('forbidden', 'A test key manages webhooks that a test key signs only')
    }
    return key
  }

  return {
    ...createWebhookChanges({ storage, runtime, sealer, quotas, targets, onEnabled: onQueued }),
    ...createWebhookDeliveries({ storage, runtime, sealer, onQueued }),
    async create(viewer, request, actor = SERVICE) {
      const view = viewOf(viewer)
      checkMode(view, request.mode)
      await targets.check(request.url)
      const { format = 'svc', api_key_id = null } = request
      const secret = await secretOf(view, request)
      const at = runtime.now()
      const row: OpenedWebhook = {
        id: runtime.id(),
        workspace_id: view.workspace_id,
        url: request.url,
        description: request.description ?? null,
        events: request.events,
        mode: request.mode ?? (view.livemode === false ? 'test' : 'all'),
        headers: request.headers ?? {},
        secret,
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
        failed_attempts: 0,
        failing_since: null,
        notice: 'no',
        disabled_at: null,
        waits_until: null,
        created_at: at,
        updated_at: at,
        format,
        api_key_id,
        callback_origin: null,
        gate_host: gateHostOf(request.url),
      }
      const isVerified = await storage.write(async (stores) => {
        await assertCredentialHolds(stores, row.workspace_id, actor)
        await assertRoomForWebhook(stores, row.workspace_id, { id: null, url: row.url }, quotas)
        if (api_key_id !== null && !(await stores.apiKeys.isActive(row.workspace_id, api_key_id))) {
          throw invalid('api_key_id', NO_SIGNATURE)
        }
        await stores.webhooks.insert(sealWebhook(sealer, row, row))
        const created = {
          workspace_id: row.workspace_id,
          action: 'webhook.created',
          target: { type: 'webhook', id: row.id },
          details: { host: new URL(row.url).host, events: row.events, mode: row.mode },
        } as const
        await stores.audit.record(auditRow(runtime, actor, created))
        return (await stores.workspaces.byId(row.workspace_id))?.email_verified ?? true
      })
      const shownSecret = api_key_id === null ? secret : ''
      return { ...webhookOf(row), secret: shownSecret, ...(!isVerified && { warning: UNVERIFIED }) }
    },
    async list(viewer, page) {
      const { workspace_id, livemode } = viewOf(viewer)
      const filter = livemode === false ? ({ mode: 'test' } as const) : {}
      const [found, total] = await Promise.all([
        storage.read.webhooks.list(workspace_id, { ...withNext(page), ...filter }),
        storage.read.webhooks.count(workspace_id, filter),
      ])
      const { rows, next_after } = pageOf(found, page, ({ id }) => id)
      return { webhooks: rows.map(shown), total, next_after }
    },
    async get(viewer, webhookId) {
      const view = viewOf(viewer)
      const row = await storage.read.webhooks.byId(view.workspace_id, webhookId)
      return shown(visibleWebhook(view, row))
    },
    health: (viewer, webhookId, { period } = { period: '24h' }) =>
      healthOf({ storage, runtime }, viewer, webhookId, period),
    async delete(viewer, webhookId, actor = SERVICE) {
      const view = viewOf(viewer)
      const { workspace_id } = view
      await storage.write(async ({ webhooks, audit }) => {
        visibleWebhook(view, await webhooks.lock(workspace_id, webhookId))
        await webhooks.remove(workspace_id, webhookId)
        const deleted = {
          workspace_id,
          action: 'webhook.deleted',
          target: { type: 'webhook', id: webhookId },
        } as const
        await audit.record(auditRow(runtime, actor, deleted))
      })
    },
    ofMessage: (workspaceId, messageId) =>
      deliveriesOfMessage({ read: storage.read, now: runtime.now() }, workspaceId, messageId),
    events: () =>
      EVENT_KINDS.map((name) => ({
        name,
        description: EVENTS[name].description,
        example: { event: name, data: EVENTS[name].example },
      })),
  }
}
