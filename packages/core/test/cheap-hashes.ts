import { vi } from 'vitest'

/** Hashes of the real cost took a seventh of the CPU of all tests. */
const CHEAP = { memoryCost: 1024, timeCost: 2, parallelism: 1 }

// argon2 itself with a lower cost, for tests that are not about the cost. A hash names its cost, so `verify` is unchanged.
vi.mock('argon2', async (importOriginal) => {
  const argon2 = await importOriginal<typeof import('argon2')>()
  return {
    ...argon2,
    hash: (password: string) => argon2.hash(password, CHEAP),
    needsRehash: (hash: string) => argon2.needsRehash(hash, CHEAP),
  }
})
