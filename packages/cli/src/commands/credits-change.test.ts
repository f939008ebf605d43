import { expect, test } from 'vitest'
import { withRetryHint } from './credits-change.ts'

const away = Object.assign(new Error('connection lost'), { code: 'commit_unknown' })

test.each([
  ['plain', away],
  ['wrapped', new Error('failed', { cause: away })],
])('names the id when the commit is unknown: %s error', async (_, error) => {
  await expect(withRetryHint('a1', () => Promise.reject(error))).rejects.toMatchObject({
    code: 'commit_unknown',
    exit_code: 1,
    message: expect.stringContaining('repeat the command with --id a1, which books it only once'),
  })
})

test('returns the result, and rethrows any other error', async () => {
  expect(await withRetryHint('a1', async () => 7)).toBe(7)
  const refused = Object.assign(new Error('no'), { code: 'validation_error' })
  await expect(withRetryHint('a1', () => Promise.reject(refused))).rejects.toBe(refused)
  await expect(withRetryHint('a1', () => Promise.reject('no'))).rejects.toBe('no')
})
