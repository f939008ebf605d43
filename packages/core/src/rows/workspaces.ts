import { sql } from 'drizzle-orm'
import type { Dialect } from './dialect.ts'
import type { Sealed } from './sealed.ts'

export function accountTables(d: Dialect) {
  const workspaces = d.table(
    'workspaces',
    {
      id: d.text().primaryKey(),
      name: d.text().notNull(),
      email: d.text().notNull(),
      /** The address in lower case: what uniqueness and login compare. */
      email_key: d.text().notNull(),
      email_verified: d.boolean().notNull(),
      password_hash: d.text().notNull(),
      /** Raised by a password change; tokens issued before carry a lower one and are refused. */
      token_version: d.int().notNull(),
      phone: d.text(),
      country: d.text(),
      sender_name: d.text(),
      created_at: d.time().notNull(),
      updated_at: d.time().notNull(),
    },
    (t) => [d.uniqueIndex('workspaces_email_key').on(t.email_key)],
  )
  const api_keys = d.table(
    'api_keys',
    {
      id: d.text().notNull(),
      workspace_id: d.text().notNull(),
      name: d.text().notNull(),
      /** SHA-256 of the whole key, hex. The key itself is never stored. */
      key_hash: d.text().notNull(),
      key_prefix: d.text().notNull(),
      mode: d.text().$type<'live' | 'test'>().notNull(),
      scopes: d.json<string[]>().notNull(),
      is_active: d.boolean().notNull(),
      expires_at: d.time(),
      allowed_ips: d.json<string[]>(),
      daily_credit_limit: d.units(),
      last_used_at: d.time(),
      created_at: d.time().notNull(),
    },
    (t) => [
      d.primaryKey({ columns: [t.workspace_id, t.id] }),
      d.uniqueIndex('api_keys_key_hash').on(t.key_hash),
      // Of keys, that were made and deactivated without end, the active ones are counted at once.
      d.index('api_keys_active').on(t.workspace_id).where(sql`is_active`),
    ],
  )
  /** What the service generated for itself, so that every server of the database has the same. */
  const secrets = d.table('secrets', {
    name: d.text().primaryKey(),
    value: d.text().$type<Sealed>().notNull(),
    created_at: d.time().notNull(),
  })
  /** What a mail lets its reader do once: only the hash is kept. */
  const account_tokens = d.table(
    'account_tokens',
    {
      token_hash: d.text().primaryKey(),
      workspace_id: d.text().notNull(),
      purpose: d.text().$type<'verify_email' | 'reset_password'>().notNull(),
      expires_at: d.time().notNull(),
      created_at: d.time().notNull(),
    },
    (t) => [
      d.index('account_tokens_workspace').on(t.workspace_id, t.purpose),
      d.index('account_tokens_expires').on(t.expires_at),
    ],
  )
  /** Sessions that a logout ended: kept until the token would have expired by itself. */
  const ended_sessions = d.table(
    'ended_sessions',
    {
      workspace_id: d.text().notNull(),
      /** SHA-256 of the token without its signature, hex: one signature can be written in several ways. */
      session_hash: d.text().notNull(),
      /** When the token expires. */
      ends_at: d.time().notNull(),
    },
    (t) => [
      d.primaryKey({ columns: [t.workspace_id, t.session_hash] }),
      d.index('ended_sessions_ends').on(t.ends_at),
    ],
  )
  /** Where an account logged in from, no finer than a network and forgotten after a while: each has its own login bucket. */
  const login_networks = d.table(
    'login_networks',
    {
      workspace_id: d.text().notNull(),
      /** An IPv4 /24 or an IPv6 /48. */
      network: d.text().notNull(),
      last_login_at: d.time().notNull(),
    },
    (t) => [
      d.primaryKey({ columns: [t.workspace_id, t.network] }),
      d.index('login_networks_last_login').on(t.last_login_at),
    ],
  )
  /** When the owner of a workspace was last mailed about it: bounds how often that happens. */
  const owner_mails = d.table(
    'owner_mails',
    {
      workspace_id: d.text().notNull(),
      kind: d.text().$type<'low_balance' | 'account_frozen'>().notNull(),
      mailed_at: d.time().notNull(),
    },
    (t) => [d.primaryKey({ columns: [t.workspace_id, t.kind] })],
  )
  /** What a key with a daily limit has spent on a day (UTC). */
  const api_key_spending = d.table(
    'api_key_spending',
    {
      workspace_id: d.text().notNull(),
      api_key_id: d.text().notNull(),
      /** `2026-05-04`. */
      day: d.text().notNull(),
      spent: d.units().notNull(),
    },
    (t) => [d.primaryKey({ columns: [t.workspace_id, t.api_key_id, t.day] })],
  )
  /** What a workspace's test keys, which spend nothing, used on the last day (UTC) on which they sent something. */
  const test_usage = d.table('test_usage', {
    workspace_id: d.text().primaryKey(),
    /** In days since 1970. */
    day: d.int().notNull(),
    messages: d.long().notNull(),
    bytes: d.long().notNull(),
  })
  return {
    workspaces,
    api_keys,
    secrets,
    account_tokens,
    ended_sessions,
    login_networks,
    owner_mails,
    api_key_spending,
    test_usage,
  }
}
