import { describe, expect, it } from 'vitest'
import type { KeyIdentity } from '../api-keys/api-keys.ts'
import { SvcError } from '../contract/errors.ts'
import { units } from '../contract/fields/units.ts'
import type { VerificationRow } from '../rows/rows.ts'
import type { Storage } from '../storage/ports/storage.ts'
import { startedOf } from './records.ts'
import { withTestCode } from './send-code.ts'

describe('the code in the answer to a test key', () => {
  it('never turns an accepted request into a refusal when the database is away', async () => {
    const away = new SvcError('rate_limit_exceeded', 'Too many requests. Please try again later.')
    const storage = { read: { verifications: { byId: () => Promise.reject(away) } } }
    const row = { id: 'v', sent_at: [], fallback: null, messages: [] } as unknown as VerificationRow
    const answer = { data: startedOf(row, units(0)), replayed: false }
    const reading = withTestCode(
      {
        storage: storage as unknown as Pick<Storage, 'read'>,
        key: { get: async () => '' } as never,
      },
      { workspace_id: 'w', api_key_id: 'k', mode: 'test' } as KeyIdentity,
      answer,
    )
    const error = await reading.catch((fault) => fault)
    expect(error).not.toBeInstanceOf(SvcError)
    expect(error).toMatchObject({
      message: 'the code was accepted, but it cannot be read',
      cause: away,
    })
  })
})
