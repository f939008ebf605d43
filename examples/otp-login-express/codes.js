import { createHmac, randomInt, timingSafeEqual } from 'node:crypto'

/** How long a code is valid. */
export const VALID_S = 5 * 60

/** 5 tries for each of 3 codes: in 15 minutes, a guess succeeds with a probability of 15 in a million. */
const TRIES_MAX = 5
const CODES_MAX = 3
const WINDOW_MS = 15 * 60_000

/** Bounds the memory, and the cost of requests for many numbers: at most 30,000 codes in 15 minutes. */
const PHONES_MAX = 10_000

/**
 * Keeps one-time codes in the memory of one process, as HMACs. `secret` is a random text of at least 32 characters;
 * `now` returns epoch milliseconds.
 */
export function createCodes({ secret = '', now = Date.now }) {
  if (secret.length < 32) throw new Error('OTP_SECRET must be a random text of 32 characters')
  /** By number, the number with the oldest last code first. */
  const logins = new Map()

  function digestOf(phone, code) {
    return createHmac('sha256', secret).update(`${phone} ${code}`).digest()
  }

  function removeOld() {
    for (const [phone, { created_at }] of logins) {
      if (created_at.at(-1) > now() - WINDOW_MS) return
      logins.delete(phone)
    }
  }

  return {
    /** Returns a new code of six digits, which replaces the previous one; null if the limit of codes is reached. */
    create(phone) {
      removeOld()
      const known = logins.get(phone)
      const recent = known?.created_at.filter((at) => at > now() - WINDOW_MS) ?? []
      if (recent.length >= CODES_MAX || (!known && logins.size >= PHONES_MAX)) return null
      const code = String(randomInt(1_000_000)).padStart(6, '0')
      const created_at = [...recent, now()]
      logins.delete(phone)
      logins.set(phone, { digest: digestOf(phone, code), tries_left: TRIES_MAX, created_at })
      return code
    },

    /** Whether this is the valid code of the number. A code can be used once. */
    use(phone, code) {
      const login = logins.get(phone)
      if (!login || login.tries_left === 0) return false
      if (login.created_at.at(-1) <= now() - VALID_S * 1000) return false
      const isRight = timingSafeEqual(digestOf(phone, code), login.digest)
      // The login itself stays, because the limit of codes also counts used ones.
      login.tries_left = isRight ? 0 : login.tries_left - 1
      return isRight
    },
  }
}
