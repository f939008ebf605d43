import { assertCredentialHolds } from '../api-keys/credential.ts'
import { type View, type Viewer, viewOf } from '../api-keys/viewer.ts'
import { type Actor, type AuditedChange, auditRow, SERVICE } from '../audit/entry.ts'
import type { Body, Data } from '../contract/endpoints/endpoint.ts'
import { invalid } from '../contract/errors.ts'
import { LIMITS } from '../contract/limits.ts'
import type { webhooks as endpoints, Webhook } from '../contract/resources/webhooks.ts'
import { mintSecret } from '../contract/signing/signature.ts'
import type { Runtime } from '../runtime/runtime.ts'
import type { Sealer } from '../secrets/sealer.ts'
import type { Storage } from '../storage/ports/storage.ts'
import { assertRoomForWebhook, type WebhookQuotas } from './quota.ts'
import { type OpenedWebhook, openWebhook, sealWebhook } from './sealed-webhook.ts'
import { webhookOf } from './shown.ts'
import type { TargetGuard } from './target.ts'
import { checkMode, seenWebhook } from './viewed.ts'

/** A record, with what its owner should know of the request. */
export type Warned<T> = T & { warning?: string }

/** What changes a webhook. Each throws SvcError `not_found`, also for a webhook that the viewer does not see. */
export interface WebhookChanges {
  /**
   * Changes the fields given, and answers the whole. What waits for the webhook and is not of a new mode is discarded
   * when it is due.
   * @throws SvcError `validation_error` for an address that deliveries may not go to, or too many go to, and for headers
   *   that are to stay and are not there; `forbidden` for a test key that names another mode than `test`.
   */
  update(
    viewer: Viewer,
    webhookId: string,
    request: Body<typeof endpoints.update>,
    actor?: Actor,
  ): Promise<Warned<Webhook>>
  /** Mints a new secret; the one before it stays valid for a day, one before that not. */
  rotateSecret(
    viewer: Viewer,
    webhookId: string,
    actor?: Actor,
  ): Promise<Data<typeof endpoints.rotate_secret>['webhook']>
  /** Lets a disabled webhook start anew; one that is not disabled stays as it is. */
  enable(viewer: Viewer, webhookId: string, actor?: Actor): Promise<Webhook>
}

const HEADERS_LOST =
  'The headers were removed: their values do not go to another scheme, host or port. Send headers to set them again.'

export function createWebhookChanges({
  storage,
  runtime,
  sealer,
  quotas,
  targets,
  onEnabled,
}: {
  storage: Storage
  runtime: Runtime
  sealer: Sealer
  quotas: WebhookQuotas
  targets: Pick<TargetGuard, 'check'>
  /** Told of a webhook that was enabled. */
  onEnabled: (webhookId: string) => void
}): WebhookChanges {
  /** A transaction may wait for nothing but its stores, so whose it is is asked before the address is. */
  async function find(view: View, webhookId: string): Promise<void> {
    seenWebhook(view, await storage.read.webhooks.byId(view.workspace_id, webhookId))
  }

  /** Changes what `decide` makes of the webhook as it is; nothing where that is nothing. */
  function change(
    view: View,
    webhookId: string,
    decide: (before: OpenedWebhook) => PlainChange,
    audited: Pick<AuditedChange, 'action' | 'details'> & { actor: Actor },
    /** Where it is to go from now on. */
    url?: string,
  ): Promise<OpenedWebhook> {
    const updated_at = runtime.now()
    const { workspace_id } = view
    return storage.write(async (stores) => {
      const { webhooks, audit } = stores
      await assertCredentialHolds(stores, workspace_id, audited.actor)
      if (url !== undefined) {
        await assertRoomForWebhook(stores, workspace_id, { id: webhookId, url }, quotas)
      }
      const row = seenWebhook(view, await webhooks.lock(workspace_id, webhookId))
      const before = openWebhook(sealer, row, row)
      const decided = decide(before)
      if (Object.keys(decided).length === 0) return before
      const sealed = sealWebhook(sealer, before, { ...decided, updated_at })
      await webhooks.change(workspace_id, webhookId, sealed)
      const { actor, ...change } = audited
      const target = { type: 'webhook', id: webhookId }
      await audit.record(auditRow(runtime, actor, { ...change, workspace_id, target }))
      return { ...before, ...decided, updated_at }
    })
  }

  return {
    async update(viewer, webhookId, request, actor = SERVICE) {
      const view = viewOf(viewer)
      if (request.url !== undefined) {
        await find(view, webhookId)
        await targets.check(request.url)
      }
      let losesHeaders = false as boolean
      const changed = await change(
        view,
        webhookId,
        (before) => {
          checkMode(view, request.mode)
          losesHeaders = isElsewhere(request, before) && Object.keys(before.headers).length > 0
          return changeOf(request, before, runtime.now())
        },
        { action: 'webhook.updated', details: { changed: Object.keys(request) }, actor },
        request.url,
      )
      const isLost = losesHeaders && request.headers === undefined
      return { ...webhookOf(changed), ...(isLost && { warning: HEADERS_LOST }) }
    },
    async rotateSecret(viewer, webhookId, actor = SERVICE) {
      const secret = mintSecret(runtime.bytes)
      const overlap_ms = LIMITS.webhook_rotation_overlap_s * 1000
      const previous_secret_ends_at = new Date(runtime.now().getTime() + overlap_ms)
      const changed = await change(
        viewOf(viewer),
        webhookId,
        (before) => ({
          secret,
          previous_secret: before.secret,
          previous_secret_ends_at,
          accepted_secret: null,
        }),
        { action: 'webhook.secret_rotated', actor },
      )
      return { ...webhookOf(changed), secret, previous_secret_ends_at }
    },
    async enable(viewer, webhookId, actor = SERVICE) {
      const audited = { action: 'webhook.enabled', actor } as const
      const enabling = enablingAt(runtime.now())
      const enabled = await change(viewOf(viewer), webhookId, enabling, audited)
      onEnabled(webhookId)
      return webhookOf(enabled)
    },
  }
}

/** What an owner changes of a webhook. */
type PlainChange = Partial<
  Omit<OpenedWebhook, 'id' | 'workspace_id' | 'last_success_at' | 'last_failure_at' | 'created_at'>
>

function changeOf(
  { url, description, events, mode, headers, is_active }: Body<typeof endpoints.update>,
  before: OpenedWebhook,
  at: Date,
): PlainChange {
  return {
    ...(url !== undefined && { url }),
    ...(description !== undefined && { description }),
    ...(events !== undefined && { events: events ?? ['*'] }),
    ...(mode !== undefined && { mode }),
    ...(headers !== undefined && { headers: headersOf(headers, before) }),
    ...(isElsewhere({ url }, before) && { headers: headersElsewhere(headers) }),
    ...(is_active === true && enablingAt(at)(before)),
    ...(is_active === false && disabling(before)),
  }
}

/** Given as names, as a record shows them, headers keep their values: a record can be sent back as it came. */
function headersOf(
  given: Record<string, string> | string[] | null,
  { headers }: OpenedWebhook,
): Record<string, string> {
  if (!Array.isArray(given)) return given ?? {}
  for (const [i, name] of given.entries()) {
    if (Object.hasOwn(headers, name)) continue
    throw invalid(`headers.${i}`, `There is no header ${name} whose value could stay`)
  }
  return Object.fromEntries(Object.entries(headers).filter(([name]) => given.includes(name)))
}

/** Whether a change sends deliveries to another origin: another scheme, host or port. */
function isElsewhere({ url }: { url?: string | undefined }, before: OpenedWebhook): boolean {
  return url !== undefined && new URL(url).origin !== new URL(before.url).origin
}

/** The values of headers are secrets between the workspace and one receiver: another gets only those given with it. */
function headersElsewhere(
  given: Record<string, string> | string[] | null | undefined,
): Record<string, string> {
  if (!Array.isArray(given)) return given ?? {}
  if (given.length === 0) return {}
  throw invalid(
    'headers',
    'The values of headers do not go to another scheme, host or port: give them again, or null',
  )
}

function enablingAt(enabled_at: Date): (before: OpenedWebhook) => PlainChange {
  const change = { is_active: true, status: 'active', disabled_reason: null } as const
  return ({ is_active }) => (is_active ? {} : { ...change, consecutive_failures: 0, enabled_at })
}

function disabling({ is_active }: OpenedWebhook): PlainChange {
  return is_active ? { is_active: false, status: 'disabled', disabled_reason: 'manual' } : {}
}
