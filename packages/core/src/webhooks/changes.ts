import { assertCredentialHolds } from '../api-keys/credential.ts'
import { type View, type Viewer, viewOf } from '../api-keys/viewer.ts'
import { type Actor, type AuditedChange, auditRow, SERVICE } from '../audit/entry.ts'
import type { Body, BodyIn, Data, Form } from '../contract/endpoints/endpoint.ts'
import { invalid } from '../contract/errors.ts'
import { LIMITS, type Quotas } from '../contract/limits.ts'
import type { webhooks as endpoints, Webhook } from '../contract/resources/webhooks.ts'
import { mintSecret } from '../contract/signing/signature.ts'
import { gateHostOf } from '../rules/delivery-times.ts'
import type { Runtime } from '../runtime/runtime.ts'
import type { Sealer } from '../secrets/sealer.ts'
import type { Storage, Writes } from '../storage/ports/storage.ts'
import { type OpenedWebhook, openWebhook, sealWebhook } from './sealed-webhook.ts'
import type { TargetGuard } from './target.ts'
import { checkMode, visibleWebhook, webhookOf } from './views.ts'

/** A record, and a warning for its owner about the request. */
export type WithWarning<T> = T & { warning?: string }

/** Changes of a webhook. Each function throws SvcError `not_found`, also for a webhook that the viewer may not see. */
export interface WebhookChanges<F extends Form = 'given'> {
  /**
   * Changes the fields in the request and returns the whole record. Pending deliveries that do not match a new mode are
   * discarded when they are due.
   * @throws SvcError `validation_error` for an address that deliveries may not go to or that has too many webhooks, and
   *   for headers to keep that do not exist; `forbidden` for a test key with another mode than `test`.
   */
  update(
    viewer: Viewer,
    webhookId: string,
    request: BodyIn<typeof endpoints.update, F>,
    actor?: Actor,
  ): Promise<WithWarning<Webhook>>
  /**
   * Creates a new secret. The previous secret stays valid for a day; an older secret ends now.
   * @throws SvcError `validation_error` for a webhook that an API key signs.
   */
  rotateSecret(
    viewer: Viewer,
    webhookId: string,
    actor?: Actor,
  ): Promise<Data<typeof endpoints.rotate_secret>['webhook']>
  /** Enables a disabled webhook and clears its failures. Does not change an enabled webhook. */
  enable(viewer: Viewer, webhookId: string, actor?: Actor): Promise<Webhook>
}

const HEADERS_LOST =
  'The headers were removed: their values do not go to another scheme, host or port. Send headers to set them again.'

const SIGNED_BY_KEY =
  'An API key signs this webhook: create another key that signs, and a webhook with it'

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
  /** Called after a webhook was enabled. */
  onEnabled: (webhookId: string) => void
}): WebhookChanges<'decoded'> {
  /** Called before the check of the address and outside the transaction, which must wait for nothing except its stores. */
  async function assertVisible(view: View, webhookId: string): Promise<void> {
    visibleWebhook(view, await storage.read.webhooks.byId(view.workspace_id, webhookId))
  }

  /** Stores the change that `decide` returns, unless it is empty. */
  function change(
    view: View,
    webhookId: string,
    decide: (before: OpenedWebhook) => PlainChange,
    audited: Pick<AuditedChange, 'action' | 'details'> & { actor: Actor },
    /** The new address. */
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
      const row = visibleWebhook(view, await webhooks.lock(workspace_id, webhookId))
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
        await assertVisible(view, webhookId)
        await targets.check(request.url)
      }
      let losesHeaders = false as boolean
      const changed = await change(
        view,
        webhookId,
        (before) => {
          checkMode(view, request.mode)
          losesHeaders = changesOrigin(request, before) && Object.keys(before.headers).length > 0
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
        ({ secret: previous_secret, api_key_id }) => {
          if (api_key_id !== null) throw invalid('id', SIGNED_BY_KEY)
          return { secret, previous_secret, previous_secret_ends_at, accepted_secret: null }
        },
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

/** A change by the owner of a webhook. */
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
    ...(changesOrigin({ url }, before) && { headers: headersForNewOrigin(headers) }),
    // A 2xx confirmed the old address only.
    ...(url !== undefined &&
      url !== before.url && { gate_host: before.gate_host ?? gateHostOf(url) }),
    ...(url !== undefined &&
      changesOrigin({ url }, before) && { gate_host: gateHostOf(url), waits_until: null }),
    ...(is_active === true && enablingAt(at)(before)),
    ...(is_active === false && disablingAt(at)(before)),
  }
}

/** A list of names keeps the values of these headers. Records contain such lists, so a client can send a record back. */
function headersOf(
  requested: Record<string, string> | string[] | null,
  { headers }: OpenedWebhook,
): Record<string, string> {
  if (!Array.isArray(requested)) return requested ?? {}
  for (const [i, name] of requested.entries()) {
    if (Object.hasOwn(headers, name)) continue
    throw invalid(`headers.${i}`, `There is no header ${name} to keep`)
  }
  return Object.fromEntries(Object.entries(headers).filter(([name]) => requested.includes(name)))
}

/** Whether the new address has another origin: another scheme, host or port. */
function changesOrigin({ url }: { url?: string | undefined }, before: OpenedWebhook): boolean {
  return url !== undefined && new URL(url).origin !== new URL(before.url).origin
}

/** Header values are secrets of one receiver, so a new origin gets only the values in the same request. */
function headersForNewOrigin(
  requested: Record<string, string> | string[] | null | undefined,
): Record<string, string> {
  if (!Array.isArray(requested)) return requested ?? {}
  if (requested.length === 0) return {}
  throw invalid(
    'headers',
    'The values of headers do not go to another scheme, host or port: send them again, or null',
  )
}

function enablingAt(enabled_at: Date): (before: OpenedWebhook) => PlainChange {
  const waits_until = null
  const change = {
    ...({ is_active: true, status: 'active', disabled_reason: null, disabled_at: null } as const),
    ...{ waits_until, failing_since: null, notice: 'no' as const },
  }
  return ({ is_active }) => (is_active ? {} : { ...change, consecutive_failures: 0, enabled_at })
}

function disablingAt(disabled_at: Date): (before: OpenedWebhook) => PlainChange {
  const change = {
    ...({ is_active: false, status: 'disabled', disabled_reason: 'manual' } as const),
    notice: 'no' as const,
  }
  return ({ is_active }) => (is_active ? { ...change, disabled_at } : {})
}

/** The maximum number of webhooks of a workspace, in total and to one host. */
export type WebhookQuotas = Pick<Quotas, 'webhooks' | 'webhooks_per_host'>

/**
 * Checks the quotas in the transaction that adds a webhook or changes its address. Exact if the workspace is locked.
 * @throws SvcError `validation_error` with the remedy.
 */
export async function assertRoomForWebhook(
  { webhooks }: Pick<Writes, 'webhooks'>,
  workspaceId: string,
  /** `id` is null for a new webhook. */
  { id, url }: { id: string | null; url: string },
  { webhooks: max, webhooks_per_host: max_per_host }: WebhookQuotas,
): Promise<void> {
  const targets = await webhooks.targets(workspaceId)
  if (id === null && targets.length >= max) {
    throw invalid(
      '',
      `A workspace may have at most ${max} webhooks. Delete one that is not used any more: DELETE /api/v1/webhooks/:id`,
    )
  }
  const host = hostOf(url)
  const before = targets.find((target) => target.id === id)
  // A webhook that is older than the quota, or was created under a higher quota, can still be changed.
  if (before && hostOf(before.url) === host) return
  const there = targets.filter((target) => target.id !== id && hostOf(target.url) === host)
  if (there.length >= max_per_host) {
    throw invalid(
      'url',
      `At most ${max_per_host} webhooks of a workspace may go to one host, and ${there.length} go to ${host} already. Delete one of them (DELETE /api/v1/webhooks/:id), or let one take several kinds of events.`,
    )
  }
}

/** The normalised host and port: lower case, no final dot, the scheme's port if the URL has none. */
function hostOf(url: string): string {
  const { protocol, hostname, port } = new URL(url)
  return `${hostname.replace(/\.$/, '')}:${port || (protocol === 'https:' ? 443 : 80)}`
}
