import { expect, test } from 'vitest'
import { withFate } from './credits-entry.ts'

const away = Object.assign(new Error('the database went away'), { code: 'commit_unknown' })

test.each([
  ['as it came', away],
  ['wrapped', new Error('failed', { cause: away })],
])('names the id where nobody knows whether it was booked: %s', async (_, error) => {
  await expect(withFate('a1', () => Promise.reject(error))).rejects.toMatchObject({
    code: 'commit_unknown',
    exit_code: 1,
    message: expect.stringContaining('repeat it with --id a1, which books it once'),
  })
})

test('leaves everything else as it is', async () => {
  expect(await withFate('a1', async () => 7)).toBe(7)
  const refused = Object.assign(new Error('no'), { code: 'validation_error' })
  await expect(withFate('a1', () => Promise.reject(refused))).rejects.toBe(refused)
  await expect(withFate('a1', () => Promise.reject('no'))).rejects.toBe('no')
})
