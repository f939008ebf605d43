import type { Dialect } from './dialect.ts'

/** The people who operate the service. They are members of no workspace, so these keys name none. */
export function operatorTables(d: Dialect) {
  const operators = d.table(
    'operators',
    {
      id: d.text().primaryKey(),
      /** An e-mail address or another name, with which the operator signs in. */
      name: d.text().notNull(),
      /** The name in lower case. It is unique. */
      name_key: d.text().notNull(),
      password_hash: d.text().notNull(),
      /** The end of the access; null for none. */
      expires_at: d.time(),
      last_sign_in_at: d.time(),
      /** The name of the secret of the authenticator app in `secrets`; null for none. */
      totp_secret: d.text(),
      /** Since when a sign-in needs a code; null until the first code is confirmed. */
      totp_since: d.time(),
      /** The step of the last code that was used: each code is valid once. */
      totp_step: d.long(),
      /** The SHA-256 of the recovery codes that are left, in hex. */
      recovery_hashes: d.json<string[]>(),
      created_at: d.time().notNull(),
    },
    (t) => [d.uniqueIndex('operators_name_key').on(t.name_key)],
  )
  /** The sessions of operators in the console. A session ends when its row is removed. */
  const operator_sessions = d.table(
    'operator_sessions',
    {
      /** The SHA-256 of the token, in hex. */
      token_hash: d.text().primaryKey(),
      operator_id: d.text().notNull(),
      created_at: d.time().notNull(),
      ends_at: d.time().notNull(),
      /** Exact to about 5 minutes; null for the time of the beginning. */
      last_seen_at: d.time(),
    },
    (t) => [d.index('operator_sessions_operator').on(t.operator_id, t.created_at)],
  )
  return { operators, operator_sessions }
}
