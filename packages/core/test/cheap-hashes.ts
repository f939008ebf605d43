import { vi } from 'vitest'

/** Hashes of the real cost took a seventh of the CPU of all tests. */
const CHEAP = { memoryCost: 1024, timeCost: 2, parallelism: 1 }

// Global, because the test files of a process share the replaced module.
const state = globalThis as { has_real_hashes?: boolean; verified_costs?: string[] }
state.has_real_hashes = false
state.verified_costs = []

/** Hashes at the real cost, in the test file that calls this. */
export function useRealHashes(): void {
  state.has_real_hashes = true
}

/** The costs of the hashes that passwords were compared with, such as `m=19456,t=2,p=1`, in the test file that calls this. */
export function verifiedCosts(): readonly string[] {
  return state.verified_costs ?? []
}

// argon2 itself with a lower cost, for tests that are not about the cost. A hash names its cost, so `verify` is unchanged.
vi.mock('argon2', async (importOriginal) => {
  const argon2 = await importOriginal<typeof import('argon2')>()
  const cost = (real: typeof CHEAP) => (state.has_real_hashes ? real : CHEAP)
  return {
    ...argon2,
    verify: (hash: string, password: string) => {
      state.verified_costs?.push(hash.split('$')[3] ?? '')
      return argon2.verify(hash, password)
    },
    hash: (password: string, real: typeof CHEAP) => argon2.hash(password, cost(real)),
    needsRehash: (hash: string, real: typeof CHEAP) => argon2.needsRehash(hash, cost(real)),
  }
})
