import { placeOfKey } from '../api-keys/sealed-key.ts'
import { mintSecret } from '../contract/signing/signature.ts'
import { placeOfDomainKey } from '../domains/sealed-domain.ts'
import type { Sealed } from '../rows/sealed.ts'
import type { Runtime } from '../runtime/runtime.ts'
import { SealedError, type Sealer } from '../secrets/sealer.ts'
import { placeOfSecret } from '../secrets/secrets.ts'
import type { Storage } from '../storage/ports/storage.ts'
import type { WebhookChange, WebhookSecretColumns } from '../storage/ports/stores.ts'
import { openHeaders, placeOfWebhook, sealWebhook } from '../webhooks/sealed-webhook.ts'
import { type BatchOptions, inBatches, type Rows } from './secrets-batches.ts'

/** The number of discarded values whose key is lost. */
export interface DiscardReport {
  /** Secrets of the service, which generates new ones when it needs them. */
  secrets: number
  /** Changed webhooks. A webhook that lost its current secret or its headers is disabled. */
  webhooks: number
  /** API keys that do not sign any more. */
  api_keys: number
  /** Sending domains that were removed, or that lost their second key. */
  domains: number
}

/** Replaces every value that cannot be decrypted: see `SecretsAtRest.discard`. */
export async function discardUnreadable(
  { storage, runtime, sealer }: { storage: Storage; runtime: Runtime; sealer: Sealer },
  options: BatchOptions,
): Promise<DiscardReport> {
  const report: DiscardReport = { secrets: 0, webhooks: 0, api_keys: 0, domains: 0 }
  const rows: Rows<DiscardReport> = {
    async secret({ sealedValues }, { name, value }, found) {
      if (isReadable(() => sealer.open(placeOfSecret(name), value))) return
      await sealedValues.removeSecret(name)
      found.secrets += 1
    },
    async webhook({ webhooks }, row, found) {
      const change = withoutLost(row, sealer, runtime)
      if (change === null) return
      await webhooks.change(row.workspace_id, row.id, { ...change, updated_at: runtime.now() })
      found.webhooks += 1
    },
    async signingKey({ sealedValues }, row, found) {
      if (isReadable(() => sealer.open(placeOfKey(row), row.sealed_key))) return
      await sealedValues.changeSigningKey(row.workspace_id, row.id, null)
      found.api_keys += 1
    },
    async domain({ sendingDomains }, row, found) {
      const { workspace_id, id, selector, next_selector, next_private_key: next } = row
      const isLost = (selector: string, key: Sealed) =>
        !isReadable(() => sealer.open(placeOfDomainKey(row, selector), key))
      if (isLost(selector, row.private_key)) await sendingDomains.remove(workspace_id, id)
      else if (next_selector !== null && next !== null && isLost(next_selector, next)) {
        await sendingDomains.change(workspace_id, id, WITHOUT_NEXT)
      } else return
      found.domains += 1
    },
  }
  const add = (found: DiscardReport) => {
    report.secrets += found.secrets
    report.webhooks += found.webhooks
    report.api_keys += found.api_keys
    report.domains += found.domains
  }
  await inBatches(
    storage,
    rows,
    { begin: () => ({ secrets: 0, webhooks: 0, api_keys: 0, domains: 0 }), add },
    options,
  )
  return report
}

const WITHOUT_NEXT = { next_selector: null, next_private_key: null, next_public_key: null }

const DISABLED = { is_active: false, status: 'disabled', disabled_reason: 'secret_lost' } as const

/** The change to a webhook with unreadable values; null when all values can be read. */
function withoutLost(
  row: WebhookSecretColumns,
  sealer: Sealer,
  { bytes }: Pick<Runtime, 'bytes'>,
): WebhookChange | null {
  const { secret, previous_secret: previous, headers } = row
  const hasSecret = isReadable(() => sealer.open(placeOfWebhook(row, 'secret'), secret))
  const hasPrevious =
    previous === null ||
    isReadable(() => sealer.open(placeOfWebhook(row, 'previous_secret'), previous))
  const hasHeaders = isReadable(() => openHeaders(sealer, row, headers))
  if (hasSecret && hasPrevious && hasHeaders) return null
  return {
    ...sealWebhook(sealer, row, {
      ...(!hasSecret && { secret: mintSecret(bytes) }),
      ...(!hasHeaders && { headers: {} }),
    }),
    ...(!(hasSecret && hasPrevious) && {
      previous_secret: null,
      previous_secret_ends_at: null,
      accepted_secret: null,
    }),
    ...(!(hasSecret && hasHeaders) && DISABLED),
  }
}

function isReadable(open: () => unknown): boolean {
  try {
    open()
    return true
  } catch (error) {
    if (error instanceof SealedError) return false
    throw error
  }
}
