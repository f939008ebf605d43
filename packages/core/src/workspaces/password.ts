import { SvcError } from '../contract/errors.ts'

/** OWASP's minimum for argon2id; raising them re-hashes each password at its next login. */
const PARAMETERS = { memoryCost: 19_456, timeCost: 2, parallelism: 1 }

/** Each hash takes 19 MiB and a thread: a few at once, and a bounded queue behind them. */
const AT_ONCE_MAX = 2
const WAITING_MAX = 200

export interface Passwords {
  hash(password: string): Promise<string>
  /** Takes the same time whether or not there is a hash to compare with. */
  verify(hash: string | null, password: string): Promise<boolean>
  /** Whether a hash was made with weaker parameters than today's. */
  isOutdated(hash: string): Promise<boolean>
}

/** argon2id, loaded when the first password comes along. */
export function createPasswords(): Passwords {
  const waiting: (() => void)[] = []
  let running = 0
  let decoy: Promise<string> | null = null

  async function limited<T>(work: () => Promise<T>): Promise<T> {
    if (running >= AT_ONCE_MAX) {
      if (waiting.length >= WAITING_MAX) {
        throw new SvcError('rate_limit_exceeded', 'Too many requests. Please try again later.', {
          retry_after_s: 5,
        })
      }
      await new Promise<void>((resolve) => waiting.push(resolve))
    }
    running += 1
    try {
      return await work()
    } finally {
      running -= 1
      waiting.shift()?.()
    }
  }

  const argon2 = () => import('argon2')
  const hash = (password: string) =>
    limited(async () => (await argon2()).hash(password, PARAMETERS))
  return {
    hash,
    async verify(stored, password) {
      decoy ??= hash('nobody has this password')
      const expected = stored ?? (await decoy)
      const matches = await limited(async () => (await argon2()).verify(expected, password))
      return matches && stored !== null
    },
    async isOutdated(stored) {
      return (await argon2()).needsRehash(stored, PARAMETERS)
    },
  }
}
