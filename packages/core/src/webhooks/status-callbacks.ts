import type { KeyIdentity } from '../api-keys/api-keys.ts'
import { invalid, SvcError } from '../contract/errors.ts'
import { httpUrl } from '../contract/fields/fields.ts'
import { LIMITS } from '../contract/limits.ts'
import type { StatusCallback, StatusCallbackRequest } from '../rows/messages.ts'
import type { WebhookRow } from '../rows/rows.ts'
import { gateHostOf } from '../rules/delivery-times.ts'
import type { Runtime } from '../runtime/runtime.ts'
import type { Sealer } from '../secrets/sealer.ts'
import type { Storage } from '../storage/ports/storage.ts'
import { NO_SIGNATURE, type OpenedWebhook, sealWebhook, signingKeyOf } from './sealed-webhook.ts'

import type { TargetGuard } from './target.ts'

/**
 * Returns the status callback of a new message. The webhook of its origin is created for the first message that names the
 * origin; a webhook that its receiver disabled is enabled again after an hour.
 * @throws SvcError `validation_error` for an address that deliveries may not go to, for a key that does not sign, and for
 *   one origin more than `LIMITS.status_callback_origins`.
 */
export type StatusCallbacks = (
  identity: KeyIdentity,
  request: StatusCallbackRequest,
) => Promise<StatusCallback>

/** The time for which a webhook is used without a look-up. */
const KNOWN_MS = 60_000

/** The maximum number of known webhooks. At this number all are forgotten before the next is added. */
const KNOWN_MAX = 10_000

/** The time after which a webhook that its receiver disabled gets callbacks again. */
const DISABLED_MS = 3_600_000

const PATH = 'status_callback'

export function createStatusCallbacks({
  storage,
  runtime,
  sealer,
  targets,
}: {
  storage: Storage
  runtime: Runtime
  sealer: Sealer
  targets: Pick<TargetGuard, 'check'>
}): StatusCallbacks {
  const known = new Map<string, { webhook_id: string; until_ms: number }>()

  async function webhookOf(identity: KeyIdentity, url: string, origin: string): Promise<string> {
    await targets.check(url).catch((error: unknown) => {
      throw error instanceof SvcError ? invalid(PATH, error.message.replace(/^url /, '')) : error
    })
    const { workspace_id, api_key_id } = identity
    const of = { api_key_id, callback_origin: origin }
    const found = await storage.read.webhooks.byCallbackOrigin(workspace_id, of)
    if (found && !isDueAgain(found, runtime.now())) return found.id
    const secret = await signingKeyOf({ storage, sealer }, identity, PATH)
    const row = newWebhook(runtime, { workspace_id, ...of, secret })
    return storage.write(async (stores) => {
      const { workspaces, apiKeys, webhooks } = stores
      await workspaces.lock(workspace_id)
      if (!(await apiKeys.isActive(workspace_id, api_key_id))) throw invalid(PATH, NO_SIGNATURE)
      const [again] = (await webhooks.lockSignedBy(workspace_id, api_key_id)).filter(
        ({ callback_origin }) => callback_origin === origin,
      )
      if (again) {
        if (isDueAgain(again, row.created_at))
          await webhooks.change(workspace_id, again.id, enabledAt(row.created_at))
        return again.id
      }
      if ((await webhooks.countCallbacks(workspace_id)) >= LIMITS.status_callback_origins) {
        throw invalid(
          PATH,
          `The status callbacks of a workspace may go to at most ${LIMITS.status_callback_origins} origins`,
        )
      }
      await webhooks.insert(sealWebhook(sealer, row, row))
      return row.id
    })
  }

  return async (identity, request) => {
    const read = httpUrl.safeParse(request.url)
    if (!read.success) throw invalid(PATH, read.error.issues[0]?.message ?? 'Invalid URL')
    const url = read.data
    const { origin } = new URL(url)
    const key = `${identity.workspace_id}\n${identity.api_key_id}\n${origin}`
    const now_ms = runtime.elapsed()
    const before = known.get(key)
    if (before && before.until_ms > now_ms) {
      return { ...request, webhook_id: before.webhook_id, url }
    }
    const webhook_id = await webhookOf(identity, url, origin)
    if (known.size >= KNOWN_MAX) known.clear()
    known.set(key, { webhook_id, until_ms: now_ms + KNOWN_MS })
    return { ...request, webhook_id, url }
  }
}

function enabledAt(at: Date) {
  return {
    is_active: true,
    status: 'active' as const,
    disabled_reason: null,
    disabled_at: null,
    failing_since: null,
    notice: 'no' as const,
    consecutive_failures: 0,
    enabled_at: at,
    updated_at: at,
  }
}

function isDueAgain({ is_active, disabled_reason, updated_at }: WebhookRow, at: Date): boolean {
  if (is_active || (disabled_reason !== 'gone' && disabled_reason !== 'failing')) return false
  return at.getTime() - updated_at.getTime() >= DISABLED_MS
}

function newWebhook(
  runtime: Runtime,
  of: { workspace_id: string; api_key_id: string; callback_origin: string; secret: string },
): OpenedWebhook {
  const at = runtime.now()
  return {
    id: runtime.id(),
    ...of,
    url: of.callback_origin,
    description: null,
    events: [],
    mode: 'all',
    headers: {},
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
    format: 'twilio',
    gate_host: gateHostOf(of.callback_origin),
  }
}
