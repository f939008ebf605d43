import { SvcError } from '../contract/errors.ts'
import { type NewPasswordRule, newPasswordRule } from './new-password.ts'

/** The minimum that OWASP recommends for argon2id. */
const PARAMETERS = { memoryCost: 19_456, timeCost: 2, parallelism: 1 }

/** The hash of a random password with these parameters: a login to an unknown address is compared with this hash. */
const DECOY =
  '$argon2id$v=19$m=19456,t=2,p=1$WZ0PDfog0V+PWErMX5Fskg$E7TM0Wf5kwFJ2LA0NX366UR9cR2TwNC7jal2O/psNco'

/** The maximum number of simultaneous hashes, because each hash takes 19 MiB and a thread. */
const AT_ONCE_MAX = 2
const WAITING_MAX = 200

export interface Passwords extends NewPasswordRule {
  hash(password: string): Promise<string>
  /** Whether the password has this hash. Takes the same time with a hash and with null. */
  verify(hash: string | null, password: string): Promise<boolean>
  /** Whether the hash was made with other parameters than the current ones. */
  isOutdated(hash: string): Promise<boolean>
}

/** Hashes with argon2id, which is loaded with the first password. `accepts_any`: see `newPasswordRule`. */
export function createPasswords({ accepts_any = false } = {}): Passwords {
  const waiting: (() => void)[] = []
  let running = 0

  async function limited<T>(work: () => Promise<T>): Promise<T> {
    if (running >= AT_ONCE_MAX) {
      if (waiting.length >= WAITING_MAX) {
        throw new SvcError('rate_limit_exceeded', 'Too many requests. Please try again later.', {
          retry_after_s: 5,
        })
      }
      // Work that ends passes its place to the next work, so `running` does not change.
      await new Promise<void>((resolve) => waiting.push(resolve))
    } else running += 1
    try {
      return await work()
    } finally {
      const next = waiting.shift()
      if (next) next()
      else running -= 1
    }
  }

  const argon2 = () => import('argon2')
  const hash = (password: string) =>
    limited(async () => (await argon2()).hash(password, PARAMETERS))
  return {
    ...newPasswordRule({ accepts_any }),
    hash,
    async verify(stored, password) {
      const matches = await limited(async () => (await argon2()).verify(stored ?? DECOY, password))
      return matches && stored !== null
    },
    isOutdated: async (stored) => (await argon2()).needsRehash(stored, PARAMETERS),
  }
}
