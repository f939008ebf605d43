import type { AssignedRole } from '../contract/endpoints/roles.ts'
import type { SavedFilterValues } from '../contract/resources/messages.ts'
import type { Dialect } from './dialect.ts'

/**
 * The people who work in a workspace besides its owner. The owner's address and password stay in `workspaces`, where servers
 * of the version before read and write them during an upgrade. A login is thus a workspace or a user, and its id is unique
 * over both tables.
 */
export function memberTables(d: Dialect) {
  /** Logins that own no workspace. Each address is verified, because an invitation or the OIDC provider proved it. */
  const users = d.table(
    'users',
    {
      id: d.text().primaryKey(),
      email: d.text().notNull(),
      /** The address in lower case. No workspace has the same. */
      email_key: d.text().notNull(),
      name: d.text(),
      /** Null for a user who signs in with OIDC only. */
      password_hash: d.text(),
      /** A new password raises this number; tokens with a lower version are refused. */
      token_version: d.int().notNull(),
      created_at: d.time().notNull(),
      updated_at: d.time().notNull(),
    },
    (t) => [d.uniqueIndex('users_email_key').on(t.email_key)],
  )
  /** The roles of logins in workspaces that they do not own. */
  const members = d.table(
    'members',
    {
      workspace_id: d.text().notNull(),
      /** A user, or a workspace whose owner is a member here. */
      user_id: d.text().notNull(),
      role: d.text().$type<AssignedRole>().notNull(),
      created_at: d.time().notNull(),
      updated_at: d.time().notNull(),
      /** The login that sent the invitation, and when; null for a member of the OIDC provider, and of a time before both existed. */
      invited_by: d.text(),
      invited_at: d.time(),
    },
    (t) => [
      d.primaryKey({ columns: [t.workspace_id, t.user_id] }),
      d.index('members_user').on(t.user_id),
    ],
  )
  /** Filters of messages that a person saved in a workspace. They name no recipient. */
  const saved_filters = d.table(
    'saved_filters',
    {
      workspace_id: d.text().notNull(),
      /** A member, or the workspace for its owner. */
      user_id: d.text().notNull(),
      id: d.text().notNull(),
      name: d.text().notNull(),
      filter: d.json<SavedFilterValues>().notNull(),
    },
    (t) => [d.primaryKey({ columns: [t.workspace_id, t.user_id, t.id] })],
  )
  /** Open invitations; an accepted or withdrawn one is removed. */
  const invitations = d.table(
    'invitations',
    {
      workspace_id: d.text().notNull(),
      id: d.text().notNull(),
      email: d.text().notNull(),
      email_key: d.text().notNull(),
      role: d.text().$type<AssignedRole>().notNull(),
      /** The SHA-256 of the token in the mail, in hex. */
      token_hash: d.text().notNull(),
      expires_at: d.time().notNull(),
      created_at: d.time().notNull(),
      /** The login whose session sent it; null for another actor, and for a time before this column. */
      invited_by: d.text(),
    },
    (t) => [
      d.primaryKey({ columns: [t.workspace_id, t.id] }),
      d.uniqueIndex('invitations_address').on(t.workspace_id, t.email_key),
      d.uniqueIndex('invitations_token_hash').on(t.token_hash),
      d.index('invitations_email_key').on(t.email_key),
      d.index('invitations_expires').on(t.expires_at),
    ],
  )
  /** Sessions for the list of a login. A session is valid without a row here; `ended_sessions` says that it ended. */
  const sessions = d.table(
    'sessions',
    {
      user_id: d.text().notNull(),
      id: d.text().notNull(),
      session_hash: d.text().notNull(),
      workspace_id: d.text().notNull(),
      created_at: d.time().notNull(),
      last_seen_at: d.time().notNull(),
      /** An IPv4 /24 or an IPv6 /48. */
      network: d.text(),
      /** The beginning of the header `User-Agent`. */
      agent: d.text(),
      ends_at: d.time().notNull(),
    },
    (t) => [
      d.primaryKey({ columns: [t.user_id, t.id] }),
      d.uniqueIndex('sessions_hash').on(t.user_id, t.session_hash),
      d.index('sessions_ends').on(t.ends_at),
    ],
  )
  /** The logins that an OIDC provider knows. */
  const oidc_identities = d.table(
    'oidc_identities',
    {
      issuer: d.text().notNull(),
      subject: d.text().notNull(),
      user_id: d.text().notNull(),
      created_at: d.time().notNull(),
    },
    (t) => [
      d.primaryKey({ columns: [t.issuer, t.subject] }),
      d.index('oidc_identities_user').on(t.user_id),
    ],
  )
  /** What logins need beside the password. `operators` has the same columns. */
  const second_factors = d.table('second_factors', {
    user_id: d.text().primaryKey(),
    /** The name of the secret of the authenticator app in `secrets`; null for none. */
    totp_secret: d.text(),
    /** Since when a sign-in needs a code; null until the first code is confirmed. */
    totp_since: d.time(),
    /** The step of the last code that was used: each code is valid once. */
    totp_step: d.long(),
    /** The SHA-256 of the recovery codes that are left, in hex. */
    recovery_hashes: d.json<string[]>(),
  })
  /** The passkeys of logins and operators. */
  const passkeys = d.table(
    'passkeys',
    {
      /** The id that the device gave, in base64url. */
      credential_id: d.text().primaryKey(),
      /** A login or an operator. */
      holder_id: d.text().notNull(),
      id: d.text().notNull(),
      name: d.text().notNull(),
      /** In COSE, base64url. */
      public_key: d.text().notNull(),
      /** The number of signatures that the device counted; 0 for a device that counts none. */
      counter: d.long().notNull(),
      /** Whether a sign-in needs the password too: it changed since the last sign-in with both. */
      needs_password: d.boolean().notNull(),
      created_at: d.time().notNull(),
      last_used_at: d.time(),
    },
    (t) => [d.index('passkeys_holder').on(t.holder_id)],
  )
  /** The challenges that browsers did not answer yet. A row is removed when it is used. */
  const passkey_challenges = d.table(
    'passkey_challenges',
    {
      /** The SHA-256 of the challenge in base64url, in hex. */
      challenge_hash: d.text().primaryKey(),
      /** The person who adds a passkey; null for a sign-in. */
      holder_id: d.text(),
      expires_at: d.time().notNull(),
    },
    (t) => [d.index('passkey_challenges_expires').on(t.expires_at)],
  )
  return {
    ...{ users, members, saved_filters, invitations, sessions, oidc_identities },
    ...{ second_factors, passkeys, passkey_challenges },
  }
}
