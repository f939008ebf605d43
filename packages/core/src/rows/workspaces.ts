import { sql } from 'drizzle-orm'
import type { QuietHours } from '../contract/resources/workspaces.ts'
import type { Dialect } from './dialect.ts'
import type { Sealed } from './sealed.ts'

export function accountTables(d: Dialect) {
  const workspaces = d.table(
    'workspaces',
    {
      id: d.text().primaryKey(),
      name: d.text().notNull(),
      email: d.text().notNull(),
      /** The address in lower case. It is unique, and the login uses it. */
      email_key: d.text().notNull(),
      email_verified: d.boolean().notNull(),
      password_hash: d.text().notNull(),
      /** A password change raises this number; tokens with a lower version are refused. */
      token_version: d.int().notNull(),
      phone: d.text(),
      country: d.text(),
      sender_name: d.text(),
      /** The name of the person who owns the workspace. */
      owner_name: d.text(),
      /** The credits that may be spent on one-time codes on a day (UTC); null: no limit. */
      verification_daily_credits: d.units(),
      /** The countries to whose numbers one-time codes are sent, as ISO 3166-1 codes; null: all. */
      verification_countries: d.json<string[]>(),
      /** The local times at which messages wait; null: none. */
      quiet_hours: d.json<QuietHours[]>(),
      /** The IANA zone of recipients whose own zone is not known; null: UTC. */
      time_zone: d.text(),
      /** The end of marketing e-mails; null: none. */
      postal_address: d.text(),
      /** The end of marketing SMS; null: none. */
      sms_opt_out_text: d.text(),
      /** Whether the owner gets mails about webhooks that fail. */
      webhook_mails: d.boolean().notNull().default(true),
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
      /** The SHA-256 of the whole key, in hex. Only `sealed_key` has the key itself, and only if the key signs. */
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
      /** The whole key, for a key that signs callbacks. Null for every other key, and after a deactivation. */
      sealed_key: d.text().$type<Sealed>(),
    },
    (t) => [
      d.primaryKey({ columns: [t.workspace_id, t.id] }),
      d.uniqueIndex('api_keys_key_hash').on(t.key_hash),
      // This index counts the active keys fast, even among many deactivated keys.
      d.index('api_keys_active').on(t.workspace_id).where(sql`is_active`),
    ],
  )
  /** Secrets that the service generated, shared by all servers of the database. */
  const secrets = d.table('secrets', {
    name: d.text().primaryKey(),
    value: d.text().$type<Sealed>().notNull(),
    created_at: d.time().notNull(),
  })
  /**
   * Single-use tokens in e-mails; only the hash is stored. Here, in `ended_sessions` and in `login_networks`, `workspace_id`
   * is the id of the login: the workspace for its owner, otherwise the user; in `login_networks` also an operator.
   */
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
  /** Sessions that ended before their token expired. Each is kept until then. */
  const ended_sessions = d.table(
    'ended_sessions',
    {
      workspace_id: d.text().notNull(),
      /** The SHA-256 of the token without its signature, in hex: one signature can be written in several ways. */
      session_hash: d.text().notNull(),
      /** The time at which the token expires. */
      ends_at: d.time().notNull(),
    },
    (t) => [
      d.primaryKey({ columns: [t.workspace_id, t.session_hash] }),
      d.index('ended_sessions_ends').on(t.ends_at),
    ],
  )
  /** The networks from which accounts logged in. Each has its own login bucket, and is removed after a time. */
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
  /** The last mail of each kind to a workspace's owner. It limits the rate of mails. */
  const owner_mails = d.table(
    'owner_mails',
    {
      workspace_id: d.text().notNull(),
      kind: d.text().$type<'low_balance' | 'account_frozen' | 'webhook_failure'>().notNull(),
      mailed_at: d.time().notNull(),
    },
    (t) => [d.primaryKey({ columns: [t.workspace_id, t.kind] })],
  )
  /** The spending of a key with a daily limit on a day (UTC). */
  const api_key_spending = d.table(
    'api_key_spending',
    {
      workspace_id: d.text().notNull(),
      api_key_id: d.text().notNull(),
      /** The date, such as `2026-05-04`. */
      day: d.text().notNull(),
      spent: d.units().notNull(),
    },
    (t) => [d.primaryKey({ columns: [t.workspace_id, t.api_key_id, t.day] })],
  )
  /** The use of a workspace's test keys on the last day (UTC) on which they sent messages. */
  const test_usage = d.table('test_usage', {
    workspace_id: d.text().primaryKey(),
    /** The day, in days since 1970. */
    day: d.int().notNull(),
    messages: d.long().notNull(),
    bytes: d.long().notNull(),
  })
  /** What a workspace spent on one-time codes on the last day (UTC) on which it sent one. */
  const verification_spending = d.table('verification_spending', {
    workspace_id: d.text().primaryKey(),
    /** The day, in days since 1970. */
    day: d.int().notNull(),
    spent: d.units().notNull(),
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
    verification_spending,
  }
}
