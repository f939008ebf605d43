import argon2 from 'argon2'
import { expect, it } from 'vitest'
import { useRealHashes } from '../../test/cheap-hashes.ts'
import { createPasswords } from './password.ts'

useRealHashes()

it('hashes with the cost that OWASP recommends, and finds a hash of another cost outdated', async () => {
  const { hash, verify, isOutdated } = createPasswords()
  const made = await hash('right')
  expect(made).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$/)
  expect([await verify(made, 'right'), await verify(made, 'wrong')]).toEqual([true, false])
  const cheap = await argon2.hash('right', { memoryCost: 1024, timeCost: 2, parallelism: 1 })
  expect([await isOutdated(made), await isOutdated(cheap)]).toEqual([false, true])
})

it('verifies queued passwords, and refuses with 429 when the queue is full', async () => {
  // The hash holds its own cheap parameters.
  const cheap = await argon2.hash('right', { memoryCost: 1024, timeCost: 2, parallelism: 1 })
  const passwords = createPasswords()
  const guesses = Array.from({ length: 250 }, () => passwords.verify(cheap, 'wrong'))
  const settled = await Promise.allSettled(guesses)
  // Two run at once, and 200 wait.
  expect(settled.filter(({ status }) => status === 'fulfilled')).toHaveLength(202)
  for (const one of settled.slice(202)) {
    expect(one).toMatchObject({
      reason: { status: 429, code: 'rate_limit_exceeded', retry_after_s: 5 },
    })
  }
  expect(await passwords.verify(cheap, 'right')).toBe(true)
})
