import { and, asc, eq, gt, isNotNull, type SQL, sql } from 'drizzle-orm'
import { type Db, rowCount } from '../../rows/dialect.ts'
import { KEY_ID_LENGTH, SEALED_PREFIX, type Sealed } from '../../rows/sealed.ts'
import type { Tables } from '../../rows/tables.ts'
import type {
  SealedValueReads,
  SealedValueWrites,
  SecretReads,
  SecretWrites,
} from '../ports/secrets.ts'
import type { StoreDialect } from './dialect.ts'
import { isAfter } from './pages.ts'

export function secretStore(db: Db, { secrets: t }: Tables): SecretReads & SecretWrites {
  async function byName(name: string): Promise<Sealed | null> {
    const [row] = await db.select({ value: t.value }).from(t).where(eq(t.name, name))
    return row?.value ?? null
  }
  return {
    byName,
    async keepFirst(secret) {
      await db.insert(t).values(secret).onConflictDoNothing({ target: t.name })
      return (await byName(secret.name)) ?? secret.value
    },
  }
}

/** All secrets as stored, of every workspace. Like the overview, its queries name no workspace. */
export function sealedValueStore(
  db: Db,
  { secrets, webhooks, api_keys: keys, sending_domains: domains }: Tables,
  { locked }: Pick<StoreDialect, 'locked'>,
): SealedValueReads & SealedValueWrites {
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

  return {
    async forms() {
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
    },
    async countRows() {
      return {
        secrets: await countOf(secrets),
        webhooks: await countOf(webhooks),
        api_keys: await countOf(keys, isSigning),
        domains: await countOf(domains),
      }
    },
    async lockSecrets(after, limit) {
      const later = db.select().from(secrets).where(gt(secrets.name, after))
      return locked(later.orderBy(asc(secrets.name)).limit(limit))
    },
    async changeSecret(name, value) {
      await db.update(secrets).set({ value }).where(eq(secrets.name, name))
    },
    async removeSecret(name) {
      await db.delete(secrets).where(eq(secrets.name, name))
    },
    async lockWebhooks(after, limit) {
      const { workspace_id, id, secret, previous_secret, accepted_secret, headers } = webhooks
      const later = isAfter([workspace_id, id], [after.workspace_id, after.id])
      const found = db
        .select({ workspace_id, id, secret, previous_secret, accepted_secret, headers })
        .from(webhooks)
        .where(later)
      return locked(found.orderBy(asc(workspace_id), asc(id)).limit(limit))
    },
    async changeWebhook(workspaceId, webhookId, change) {
      const { workspace_id, id } = webhooks
      const one = and(eq(workspace_id, workspaceId), eq(id, webhookId))
      await db.update(webhooks).set(change).where(one)
    },
    async lockSigningKeys(after, limit) {
      const { workspace_id, id, sealed_key } = keys
      const later = isAfter([workspace_id, id], [after.workspace_id, after.id])
      const found = db
        .select({ workspace_id, id, sealed_key: sql<Sealed>`${sealed_key}` })
        .from(keys)
        .where(and(isSigning, later))
      return locked(found.orderBy(asc(workspace_id), asc(id)).limit(limit))
    },
    async changeSigningKey(workspaceId, keyId, sealed_key) {
      const { workspace_id, id } = keys
      const one = and(eq(workspace_id, workspaceId), eq(id, keyId))
      await db.update(keys).set({ sealed_key }).where(one)
    },
    async lockDomains(after, limit) {
      const { workspace_id, id, selector, private_key, next_selector, next_private_key } = domains
      const later = isAfter([workspace_id, id], [after.workspace_id, after.id])
      const found = db
        .select({ workspace_id, id, selector, private_key, next_selector, next_private_key })
        .from(domains)
        .where(later)
      return locked(found.orderBy(asc(workspace_id), asc(id)).limit(limit))
    },
  }
}
