import { and, asc, eq, gt, isNotNull, type SQL, sql } from 'drizzle-orm'
import { type Db, rowCount } from '../../rows/dialect.ts'
import type { ApiKeyRow, SecretRow, SendingDomainRow, WebhookRow } from '../../rows/rows.ts'
import { KEY_ID_LENGTH, SEALED_PREFIX, type Sealed } from '../../rows/sealed.ts'
import type { Tables } from '../../rows/tables.ts'

import { isAfter, type StoreDialect } from './queries.ts'

/** The columns of a webhook that contain secrets. */
export type WebhookSecretColumns = Pick<
  WebhookRow,
  'workspace_id' | 'id' | 'secret' | 'previous_secret' | 'accepted_secret' | 'headers'
>

/** An API key that the database has in a form that can be read. */
export type SigningKeyColumns = Pick<ApiKeyRow, 'workspace_id' | 'id'> & { sealed_key: Sealed }

/** The columns of a sending domain that contain private keys, and the selectors to which they are bound. */
export type DomainSecretColumns = Pick<
  SendingDomainRow,
  'workspace_id' | 'id' | 'selector' | 'private_key' | 'next_selector' | 'next_private_key'
>

/** Secrets that the service generated for itself. */
export function secretStore(db: Db, { secrets: t }: Tables) {
  async function byName(name: string): Promise<Sealed | null> {
    const [row] = await db.select({ value: t.value }).from(t).where(eq(t.name, name))
    return row?.value ?? null
  }
  return {
    reads: {
      byName,
    },
    writes: {
      /** Stores the secret, unless a secret with that name exists. Returns the stored secret. */
      async keepFirst(secret: SecretRow): Promise<Sealed> {
        await db.insert(t).values(secret).onConflictDoNothing({ target: t.name })
        return (await byName(secret.name)) ?? secret.value
      },
    },
  }
}

/** All secrets as stored, of every workspace. Like the overview, its queries name no workspace. */
export function sealedValueStore(
  db: Db,
  { secrets, webhooks, api_keys: keys, sending_domains: domains }: Tables,
  { locked }: Pick<StoreDialect, 'locked'>,
) {
  type SealedTable = typeof secrets | typeof webhooks | typeof keys | typeof domains

  // These are literals, not parameters: grouping by an expression needs the same text twice.
  const prefix = sql.raw(`'${SEALED_PREFIX}'`)
  const [from, length] = [SEALED_PREFIX.length + 1, KEY_ID_LENGTH].map((n) => sql.raw(`${n}`))

  /** The id of a value's key; null for plain text. */
  const keyOf = (value: SQL): SQL<string | null> =>
    sql`case when substr(${value}, 1, ${sql.raw(`${SEALED_PREFIX.length}`)}) = ${prefix}
        then substr(${value}, ${from}, ${length}) end`

  function formsOf(table: SealedTable, value: SQL, condition: SQL) {
    const key_id = keyOf(value)
    return db.select({ key_id, count: rowCount }).from(table).where(condition).groupBy(key_id)
  }

  const isSigning = isNotNull(keys.sealed_key)
  const countOf = async (table: SealedTable, which?: SQL) =>
    (await db.select({ n: rowCount }).from(table).where(which))[0]?.n ?? 0

  async function forms(): Promise<{ key_id: string | null; count: number }[]> {
    const headers = sql`cast(${webhooks.headers} as text)`
    const { secret, previous_secret: previous, accepted_secret: accepted } = webhooks
    const { next_private_key: next } = domains
    const found = [
      ...(await formsOf(secrets, sql`${secrets.value}`, sql`true`)),
      ...(await formsOf(webhooks, sql`${secret}`, sql`true`)),
      ...(await formsOf(webhooks, sql`${previous}`, sql`${previous} is not null`)),
      ...(await formsOf(keys, sql`${keys.sealed_key}`, isSigning)),
      // A JSON text starts with a quote.
      ...(await formsOf(webhooks, sql`substr(${headers}, 2)`, sql`${headers} <> '{}'`)),
      ...(await formsOf(domains, sql`${domains.private_key}`, sql`true`)),
      ...(await formsOf(domains, sql`${next}`, sql`${next} is not null`)),
      // This column is never encrypted: it has a fingerprint, or a secret from a version without fingerprints.
      ...(await formsOf(webhooks, sql`''`, sql`substr(${accepted}, 1, 7) <> 'sha256:'`)),
    ]
    const counts = new Map<string | null, number>()
    for (const { key_id, count } of found) counts.set(key_id, (counts.get(key_id) ?? 0) + count)
    return [...counts].map(([key_id, count]) => ({ key_id, count }))
  }

  return {
    reads: {
      /** The number of values for each encryption key; null stands for plain text. */
      forms,
      /** The same for the start, when no request waits: a reader thread would start for it, for 100 ms and 20 MB. */
      formsAtStart: forms,
      /** The number of rows that can contain such values. */
      async countRows(): Promise<{
        secrets: number
        webhooks: number
        api_keys: number
        domains: number
      }> {
        return {
          secrets: await countOf(secrets),
          webhooks: await countOf(webhooks),
          api_keys: await countOf(keys, isSigning),
          domains: await countOf(domains),
        }
      },
    },
    writes: {
      /** The first `limit` secrets of the service whose names sort after `after`, locked until the transaction ends. */
      async lockSecrets(after: string, limit: number): Promise<SecretRow[]> {
        const later = db.select().from(secrets).where(gt(secrets.name, after))
        return locked(later.orderBy(asc(secrets.name)).limit(limit))
      },
      async changeSecret(name: string, value: Sealed): Promise<void> {
        await db.update(secrets).set({ value }).where(eq(secrets.name, name))
      },
      async removeSecret(name: string): Promise<void> {
        await db.delete(secrets).where(eq(secrets.name, name))
      },
      /** The first `limit` webhooks after `after`, sorted by workspace and id, locked until the transaction ends. */
      async lockWebhooks(
        after: { workspace_id: string; id: string },
        limit: number,
      ): Promise<WebhookSecretColumns[]> {
        const { workspace_id, id, secret, previous_secret, accepted_secret, headers } = webhooks
        const later = isAfter([workspace_id, id], [after.workspace_id, after.id])
        const found = db
          .select({ workspace_id, id, secret, previous_secret, accepted_secret, headers })
          .from(webhooks)
          .where(later)
        return locked(found.orderBy(asc(workspace_id), asc(id)).limit(limit))
      },
      async changeWebhook(
        workspaceId: string,
        webhookId: string,
        change: Partial<Omit<WebhookSecretColumns, 'workspace_id' | 'id'>>,
      ): Promise<void> {
        const { workspace_id, id } = webhooks
        const one = and(eq(workspace_id, workspaceId), eq(id, webhookId))
        await db.update(webhooks).set(change).where(one)
      },
      /** The first `limit` API keys that sign after `after`, sorted by workspace and id, locked until the transaction ends. */
      async lockSigningKeys(
        after: { workspace_id: string; id: string },
        limit: number,
      ): Promise<SigningKeyColumns[]> {
        const { workspace_id, id, sealed_key } = keys
        const later = isAfter([workspace_id, id], [after.workspace_id, after.id])
        const found = db
          .select({ workspace_id, id, sealed_key: sql<Sealed>`${sealed_key}` })
          .from(keys)
          .where(and(isSigning, later))
        return locked(found.orderBy(asc(workspace_id), asc(id)).limit(limit))
      },
      /** Sets the encrypted key, or removes it: then the API key does not sign any more. */
      async changeSigningKey(
        workspaceId: string,
        keyId: string,
        sealed_key: Sealed | null,
      ): Promise<void> {
        const { workspace_id, id } = keys
        const one = and(eq(workspace_id, workspaceId), eq(id, keyId))
        await db.update(keys).set({ sealed_key }).where(one)
      },
      /** The first `limit` sending domains after `after`, sorted by workspace and id, locked until the transaction ends. */
      async lockDomains(
        after: { workspace_id: string; id: string },
        limit: number,
      ): Promise<DomainSecretColumns[]> {
        const { workspace_id, id, selector, private_key, next_selector, next_private_key } = domains
        const later = isAfter([workspace_id, id], [after.workspace_id, after.id])
        const found = db
          .select({ workspace_id, id, selector, private_key, next_selector, next_private_key })
          .from(domains)
          .where(later)
        return locked(found.orderBy(asc(workspace_id), asc(id)).limit(limit))
      },
    },
  }
}
