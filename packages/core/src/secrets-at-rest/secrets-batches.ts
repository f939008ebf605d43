import type { SecretRow } from '../rows/rows.ts'
import type { Storage, Writes } from '../storage/ports/storage.ts'
import type {
  DomainSecretColumns,
  SigningKeyColumns,
  WebhookSecretColumns,
} from '../storage/ports/stores.ts'

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
