import { createHmac, hash } from 'node:crypto'
import { invalid, type SvcError } from '../contract/errors.ts'
import type { SecondFactorRow } from '../rows/rows.ts'
import type { Runtime } from '../runtime/runtime.ts'
import type { Reads, Storage, Writes } from '../storage/ports/storage.ts'

/** A new secret for an authenticator app. It is shown once. */
export interface TotpSecret {
  /** In base32, for typing. */
  secret: string
  /** The `otpauth:` address, for a link or a QR code. */
  uri: string
}

/** The second factor of a person. */
export interface SecondFactorState {
  /** Since when a sign-in needs a code of an authenticator app; null for none. */
  totp_since: Date | null
  /** The number of recovery codes that are left. */
  recovery_codes: number
}

/** The columns of a second factor. */
type Factor = Omit<SecondFactorRow, 'user_id'>

/** Where the second factors of one kind of people are stored. */
export interface FactorPlace {
  /** null for a person who has none. */
  read(stores: Reads, id: string): Promise<Factor | null>
  /** Locks the person until the transaction ends. */
  lock(stores: Writes, id: string): Promise<void>
  change(stores: Writes, id: string, change: Partial<Factor>): Promise<void>
  /** The field of a request that has the code. */
  field: string
}

/** The key of an app, which is read before the transaction that checks a code. */
interface OpenedFactor {
  totp_secret: string
  key: Uint8Array
}

/** A person without a second factor. */
export const NO_FACTOR: Factor = {
  totp_secret: null,
  totp_since: null,
  totp_step: null,
  recovery_hashes: null,
}

/** The length that RFC 4226 recommends (R6). */
const TOTP_KEY_BYTES = 20

const WRONG = 'The code is wrong or was used: enter the newest one of the app'

/** Each has 80 bits, so that a fast hash suffices. */
const RECOVERY_CODES = 10
const RECOVERY_CODE_BYTES = 10

/** The second factors of one kind of people: codes of an authenticator app, and recovery codes. */
export function createSecondFactors({
  storage,
  runtime,
  secret,
  place,
}: {
  storage: Storage
  runtime: Runtime
  /** A secret of the service by its name, generated at the first call. */
  secret(name: string): Promise<string>
  place: FactorPlace
}) {
  /** The key of an authenticator app, from a secret of 256 bits. */
  async function opened(totp_secret: string): Promise<OpenedFactor> {
    const bytes = Buffer.from(await secret(totp_secret), 'base64url')
    return { totp_secret, key: bytes.subarray(0, TOTP_KEY_BYTES) }
  }

  async function open(id: string): Promise<OpenedFactor | null> {
    const name = (await place.read(storage.read, id))?.totp_secret ?? null
    return name === null ? null : opened(name)
  }

  function newRecoveryCodes(): string[] {
    return Array.from({ length: RECOVERY_CODES }, () =>
      base32(runtime.bytes(RECOVERY_CODE_BYTES)).toLowerCase(),
    )
  }

  const hasPasskey = async ({ passkeys }: Reads, id: string) =>
    (await passkeys.ofHolder(id)).length > 0

  async function removeSecret(stores: Writes, factor: Factor | null): Promise<void> {
    if (factor?.totp_secret) await stores.sealedValues.removeSecret(factor.totp_secret)
  }

  return {
    /** Reads what `use` needs in the transaction; null for a person without an app. */
    open,
    async state(id: string): Promise<SecondFactorState> {
      return stateOf(await place.read(storage.read, id))
    },
    /**
     * Makes a secret for an app. Codes are needed after `confirm`; an earlier secret without a confirmation ends.
     * @throws SvcError `validation_error` if an app is confirmed.
     */
    async begin({ id, name }: { id: string; name: string }): Promise<TotpSecret> {
      const totp_secret = `totp/${id}/${runtime.id()}`
      await storage.write(async (stores) => {
        await place.lock(stores, id)
        const before = await place.read(stores, id)
        if (before?.totp_since) {
          throw invalid('', 'There is an authenticator app: remove it first')
        }
        await removeSecret(stores, before)
        await place.change(stores, id, { totp_secret })
      })
      const text = base32((await opened(totp_secret)).key)
      const label = encodeURIComponent(`svc:${name}`)
      return { secret: text, uri: `otpauth://totp/${label}?secret=${text}&issuer=svc` }
    },
    /**
     * Confirms the app with its first code, and returns ten recovery codes. `then` runs in the same transaction.
     * @throws SvcError `validation_error` for a wrong code.
     */
    async confirm<T>(
      id: string,
      code: string,
      then: (stores: Writes) => Promise<T>,
    ): Promise<{ recovery_codes: string[]; result: T }> {
      const known = await open(id)
      const recovery_codes = newRecoveryCodes()
      const result = await storage.write(async (stores) => {
        const at = runtime.now()
        await place.lock(stores, id)
        const row = await place.read(stores, id)
        const isSame = row !== null && row.totp_secret === known?.totp_secret
        const step = isSame ? stepOfCode(known.key, plain(code), { now: at, last: null }) : null
        if (step === null || row?.totp_since) {
          throw invalid('code', WRONG)
        }
        const recovery_hashes = recovery_codes.map(hashOf)
        await place.change(stores, id, { totp_since: at, totp_step: step, recovery_hashes })
        return then(stores)
      })
      return { recovery_codes, result }
    },
    /**
     * Uses up a code of the app or a recovery code, in the transaction of what it permits. `known` is of `open`. Returns false
     * for a person who has no second factor.
     * @throws SvcError `validation_error` that names the field of the code if the code is missing or wrong.
     */
    async use(
      stores: Writes,
      id: string,
      { known, code }: { known: OpenedFactor | null; code: string | undefined },
    ): Promise<boolean> {
      // Two sign-ins with one code wait for each other.
      await place.lock(stores, id)
      const row = await place.read(stores, id)
      const hasApp = row?.totp_since != null
      if (!hasApp && !(await hasPasskey(stores, id))) return false
      const key = hasApp && row.totp_secret === known?.totp_secret ? known.key : null
      const used = row && useCode(row, key, code, runtime.now())
      if (!used) throw needsCode(place.field, { code, hasApp })
      await place.change(stores, id, used)
      return true
    },
    /** Removes the app of a person with its secret; the recovery codes stay for passkeys. */
    async end(stores: Writes, id: string): Promise<void> {
      const row = await place.read(stores, id)
      if (row === null) return
      await removeSecret(stores, row)
      const { recovery_hashes } = row
      const kept = (await hasPasskey(stores, id)) ? { recovery_hashes } : {}
      await place.change(stores, id, { ...NO_FACTOR, ...kept })
    },
    /** Makes recovery codes for a person who has none; returns none for a person who has some. */
    async ensureRecovery(stores: Writes, id: string): Promise<string[]> {
      await place.lock(stores, id)
      if ((await place.read(stores, id))?.recovery_hashes?.length) return []
      const recovery_codes = newRecoveryCodes()
      await place.change(stores, id, { recovery_hashes: recovery_codes.map(hashOf) })
      return recovery_codes
    },
    /** Removes the recovery codes of a person who has neither an app nor a passkey any more. */
    async endRecovery(stores: Writes, id: string): Promise<void> {
      await place.lock(stores, id)
      const row = await place.read(stores, id)
      if (!row || row.totp_since || (await hasPasskey(stores, id))) return
      await place.change(stores, id, { recovery_hashes: null })
    },
    /** Removes everything that a person needs beside the password. */
    async clear(stores: Writes, id: string): Promise<void> {
      await stores.passkeys.clear(id)
      const row = await place.read(stores, id)
      if (row === null) return
      await removeSecret(stores, row)
      await place.change(stores, id, NO_FACTOR)
    },
  }
}

export type SecondFactors = ReturnType<typeof createSecondFactors>

/** What a person sees of a second factor. */
export function stateOf(factor: Factor | null): SecondFactorState {
  const { totp_since = null, recovery_hashes = null } = factor ?? {}
  return { totp_since, recovery_codes: recovery_hashes?.length ?? 0 }
}

/** The change of the row that uses up a code of the app or a recovery code; null for a wrong code. */
function useCode(
  { totp_step, recovery_hashes }: Factor,
  key: Uint8Array | null,
  code: string | undefined,
  now: Date,
): Partial<Factor> | null {
  if (code === undefined) return null
  const text = plain(code)
  const step = key && stepOfCode(key, text, { now, last: totp_step })
  if (step !== null) return { totp_step: step }
  const hash = hashOf(text)
  if (!recovery_hashes?.includes(hash)) return null
  return { recovery_hashes: recovery_hashes.filter((one) => one !== hash) }
}

/** A code without the blanks and hyphens with which apps and people group it. */
function plain(code: string): string {
  return code.replace(/[\s-]/g, '').toLowerCase()
}

function needsCode(
  path: string,
  { code, hasApp }: { code: string | undefined; hasApp: boolean },
): SvcError {
  if (code !== undefined) return invalid(path, WRONG)
  const other = 'Sign in with your passkey, or enter a recovery code'
  return invalid(path, hasApp ? 'Enter the code of your authenticator app' : other)
}

/** A fast hash suffices for 80 random bits. */
function hashOf(code: string): string {
  return hash('sha256', code)
}

/** Seconds for which a code is the current one. */
const STEP_S = 30
const DIGITS = 6

/** Steps before and after the current one whose codes are taken too, for clocks that differ (RFC 6238, 5.2). */
const WINDOW = 1

/** The code of a step: HOTP with SHA-1 and six digits, as authenticator apps expect it. Source: RFC 4226, 5.3; RFC 6238, 4.2. */
export function totpCode(secret: Uint8Array, step: number): string {
  const counter = Buffer.alloc(8)
  counter.writeBigUInt64BE(BigInt(step))
  const digest = createHmac('sha1', secret).update(counter).digest()
  const offset = (digest.at(-1) ?? 0) & 0x0f
  const number = digest.readUInt32BE(offset) & 0x7fff_ffff
  return String(number % 10 ** DIGITS).padStart(DIGITS, '0')
}

/**
 * The step of a code that is valid now; null for another text. Steps up to `last` are used up, so that each code signs in once
 * (RFC 6238, 5.2).
 */
export function stepOfCode(
  secret: Uint8Array,
  code: string,
  { now, last }: { now: Date; last: number | null },
): number | null {
  const current = Math.floor(now.getTime() / 1000 / STEP_S)
  for (let step = current - WINDOW; step <= current + WINDOW; step++) {
    if (step > (last ?? -1) && totpCode(secret, step) === code) return step
  }
  return null
}

const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'

/** A secret in the form that people type into an authenticator app: base32 without padding (RFC 4648, 6). */
export function base32(bytes: Uint8Array): string {
  const bits = [...bytes].map((byte) => byte.toString(2).padStart(8, '0')).join('')
  const groups = bits.match(/.{1,5}/g) ?? []
  return groups.map((group) => ALPHABET[Number.parseInt(group.padEnd(5, '0'), 2)]).join('')
}
