import argon2 from 'argon2'
import { expect, it } from 'vitest'
import { createPasswords } from './password.ts'

it('refuses with 429 what does not fit the queue, and works through all that does', async () => {
  // Parameters that cost nothing: the hash brings its own.
  const cheap = await argon2.hash('right', { memoryCost: 1024, timeCost: 2, parallelism: 1 })
  const passwords = createPasswords()
  const guesses = Array.from({ length: 250 }, () => passwords.verify(cheap, 'wrong'))
  const settled = await Promise.allSettled(guesses)
  // Two at once, and 200 behind them.
  expect(settled.filter(({ status }) => status === 'fulfilled')).toHaveLength(202)
  for (const one of settled.slice(202)) {
    expect(one).toMatchObject({
      reason: { status: 429, code: 'rate_limit_exceeded', retry_after_s: 5 },
    })
  }
  expect(await passwords.verify(cheap, 'right')).toBe(true)
})
