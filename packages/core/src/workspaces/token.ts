import { hash } from 'node:crypto'
import { invalid, type SvcError } from '../contract/errors.ts'
import { LIMITS } from '../contract/limits.ts'
import type { AccountTokenRow } from '../rows/rows.ts'
import type { Runtime } from '../runtime/runtime.ts'

/** The purpose of a token in a mail. It is not derived from the row, so that the public types need no type of a table. */
export type TokenPurpose = 'verify_email' | 'reset_password'

const LIFETIME_S: Record<TokenPurpose, number> = {
  verify_email: LIMITS.verify_token_lifetime_s,
  reset_password: LIMITS.reset_token_lifetime_s,
}

/** Mints a token of 32 random bytes in base64url for a mail, and the row that stores its hash. Contract section 2. */
export function mintToken(
  { bytes, now }: Pick<Runtime, 'bytes' | 'now'>,
  workspaceId: string,
  purpose: TokenPurpose,
): { token: string; row: AccountTokenRow } {
  const token = bytes(LIMITS.token_bytes).toString('base64url')
  const at = now()
  const row: AccountTokenRow = {
    token_hash: hashToken(token),
    workspace_id: workspaceId,
    purpose,
    expires_at: new Date(at.getTime() + LIFETIME_S[purpose] * 1000),
    created_at: at,
  }
  return { token, row }
}

/** The stored form of a token. A fast hash suffices for a secret of 256 random bits. */
export function hashToken(token: string): string {
  return hash('sha256', token)
}

/** The error for a token that is unknown, used, expired or replaced by a newer token. */
export function badToken(): SvcError {
  return invalid('token', 'Invalid or expired token')
}
