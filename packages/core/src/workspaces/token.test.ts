import { expect, it } from 'vitest'
import { testRuntime } from '../../test/fixtures.ts'
import { hashToken, mintToken } from './token.ts'

it.each([
  ['verify_email', '2026-05-05T09:00:00.000Z'],
  ['reset_password', '2026-05-04T09:30:00.000Z'],
] as const)(
  'a token to %s is 32 random bytes, stored as a hash, and expires at %s',
  (purpose, ends) => {
    const clock = testRuntime('tokens')
    const { token, row } = mintToken(clock, 'w1', purpose)
    expect(Buffer.from(token, 'base64url')).toHaveLength(32)
    expect(mintToken(clock, 'w1', purpose).token).not.toBe(token)
    expect(row).toEqual({
      token_hash: hashToken(token),
      workspace_id: 'w1',
      purpose,
      expires_at: new Date(ends),
      created_at: clock.now(),
    })
    expect(JSON.stringify(row)).not.toContain(token)
  },
)
