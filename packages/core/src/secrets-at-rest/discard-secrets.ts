import { placeOfKey } from '../api-keys/key.ts'
import { mintSecret } from '../contract/signing/signature.ts'
import { placeOfDomainKey } from '../domains/signing-keys.ts'
import type { SecretRow } from '../rows/rows.ts'
import type { Sealed } from '../rows/sealed.ts'
import { LEDGER_SECRET } from '../rules/fold.ts'
import type { Runtime } from '../runtime/runtime.ts'
import { SealedError, type Sealer } from '../secrets/sealer.ts'
import { newSecret, placeOfSecret } from '../secrets/secrets.ts'
import type { Storage, Writes } from '../storage/ports/storage.ts'
import type {
  DomainSecretColumns,
  SigningKeyColumns,
  WebhookChange,
  WebhookSecretColumns,
} from '../storage/ports/stores.ts'
import { openHeaders, placeOfWebhook, sealWebhook } from '../webhooks/sealed-webhook.ts'

/** The number of discarded values whose key is lost. */
export interface DiscardReport {
  /** Secrets of the service, which generates new ones when it needs them. The new key of the ledger signs its openings again. */
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
    async secret({ sealedValues, ledgerOpenings }, { name, value }, found) {
      if (isReadable(() => sealer.open(placeOfSecret(name), value))) return
      if (name === LEDGER_SECRET) {
        // In the same transaction, so that no crash leaves openings that no key has signed.
        const key = newSecret(runtime)
        await sealedValues.changeSecret(name, sealer.seal(placeOfSecret(name), key))
        await ledgerOpenings.signAgain(key)
      } else await sealedValues.removeSecret(name)
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
  { bytes, now }: Pick<Runtime, 'bytes' | 'now'>,
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
    ...(!(hasSecret && hasHeaders) && { ...DISABLED, disabled_at: now() }),
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

/** Options to stop and to observe work on all secrets. */
export interface BatchOptions {
  /** Stops after the current batch; committed batches stay. */
  signal?: AbortSignal | undefined
  onProgress?: ((progress: { done: number; total: number }) => void) | undefined
}

/** The work on each row. */
export interface Rows<Found> {
  secret(stores: Writes, row: SecretRow, found: Found): Promise<void>
  webhook(stores: Writes, row: WebhookSecretColumns, found: Found): Promise<void>
  signingKey(stores: Writes, row: SigningKeyColumns, found: Found): Promise<void>
  domain(stores: Writes, row: DomainSecretColumns, found: Found): Promise<void>
}

/** The number of rows that one transaction locks: encrypting them takes about 2 ms. */
const BATCH = 100

/**
 * Visits every row that may hold secrets; each batch is a transaction.
 * @param begin makes the result of a batch; called again when its transaction is retried.
 * @param add receives the result of a committed batch.
 */
export async function inBatches<Found>(
  storage: Storage,
  rows: Rows<Found>,
  { begin, add }: { begin: () => Found; add: (found: Found) => void },
  { signal, onProgress }: BatchOptions,
): Promise<void> {
  const { secrets, webhooks, api_keys, domains } = await storage.read.sealedValues.countRows()
  const total = secrets + webhooks + api_keys + domains
  let done = 0

  async function walk<Row, Cursor>(
    start: Cursor,
    lock: (stores: Writes, after: Cursor) => Promise<Row[]>,
    work: (stores: Writes, row: Row, found: Found) => Promise<void>,
    cursorOf: (row: Row) => Cursor,
  ): Promise<void> {
    for (let after = start; !signal?.aborted; ) {
      const from = after
      const batch = await storage.write(async (stores) => {
        const found = begin()
        const locked = await lock(stores, from)
        for (const row of locked) await work(stores, row, found)
        return { found, count: locked.length, last: locked.at(-1) }
      })
      add(batch.found)
      // Rows inserted meanwhile are not in the total.
      done = Math.min(total, done + batch.count)
      onProgress?.({ done, total })
      if (batch.count < BATCH || batch.last === undefined) return
      after = cursorOf(batch.last)
    }
  }

  await walk(
    '',
    ({ sealedValues }, after) => sealedValues.lockSecrets(after, BATCH),
    rows.secret,
    ({ name }) => name,
  )
  await walk(
    { workspace_id: '', id: '' },
    ({ sealedValues }, after) => sealedValues.lockWebhooks(after, BATCH),
    rows.webhook,
    ({ workspace_id, id }) => ({ workspace_id, id }),
  )
  await walk(
    { workspace_id: '', id: '' },
    ({ sealedValues }, after) => sealedValues.lockSigningKeys(after, BATCH),
    rows.signingKey,
    ({ workspace_id, id }) => ({ workspace_id, id }),
  )
  await walk(
    { workspace_id: '', id: '' },
    ({ sealedValues }, after) => sealedValues.lockDomains(after, BATCH),
    rows.domain,
    ({ workspace_id, id }) => ({ workspace_id, id }),
  )
}
