import { hash } from 'node:crypto'
import type { Actor } from '../audit/entry.ts'
import { invalid, SvcError } from '../contract/errors.ts'
import { LIMITS } from '../contract/limits.ts'
import type { PasskeyAssertion, PasskeyRegistration } from '../contract/resources/members.ts'
import type { PasskeyRow } from '../rows/rows.ts'
import type { Runtime } from '../runtime/runtime.ts'
import type { Storage, Writes } from '../storage/ports/storage.ts'

/** A passkey of a person: a key pair of a device or a password manager, for one site. */
export interface Passkey {
  id: string
  /** The name that the person gave it. */
  name: string
  created_at: Date
  last_used_at: Date | null
}

/** Options for `navigator.credentials`, in the JSON of WebAuthn level 3, section 5.1. */
export type PasskeyOptions = Readonly<Record<string, unknown>>

/** The site of a passkey. */
export interface PasskeySite {
  /** The origin of the pages, such as `https://svc.example.com`. */
  origin: string
  /** The name of the service, which the browser shows. */
  brand: string
}

/**
 * The passkeys of the people who sign in with `Credentials`. `who`: the id of a login, or the name of an operator; an unknown
 * name is `not_found`.
 */
export interface HeldPasskeys<Credentials, Session> {
  /** The passkeys of a person, oldest first. */
  passkeys(who: string): Promise<Passkey[]>
  /**
   * The options for a new passkey, which the browser must answer within 5 minutes.
   * @throws SvcError `validation_error` for a wrong password, for a person without one, or beyond 20 passkeys.
   */
  beginPasskey(
    who: string,
    request: { current_password: string },
    site: PasskeySite,
  ): Promise<PasskeyOptions>
  /** Gives a passkey another name. @throws SvcError `not_found`. */
  renamePasskey(who: string, passkeyId: string, name: string): Promise<void>
  /** Removes a passkey. @throws SvcError `not_found`; `validation_error` for a wrong password. */
  removePasskey(
    who: string,
    passkeyId: string,
    request: { current_password: string },
    actor?: Actor,
  ): Promise<void>
  /**
   * The options for a sign-in with a passkey. `credentials`: of a person whose device cannot verify a person.
   * @throws SvcError `unauthorized` for wrong credentials.
   */
  beginPasskeySignIn(
    origin: string,
    credentials?: Credentials | undefined,
    actor?: Actor,
  ): Promise<PasskeyOptions>
  /**
   * Begins a session with a passkey. The password is needed only if the device did not verify the person, or the password
   * changed since the last sign-in with both.
   * @throws SvcError `validation_error` for a wrong answer of the browser, and for a missing password; `unauthorized` for a wrong
   *   password, and after the end of an operator's access.
   */
  signInWithPasskey(
    request: { assertion: PasskeyAssertion; password?: string | undefined },
    origin: string,
    actor?: Actor,
  ): Promise<Session>
}

/** A signature of a passkey that is right. */
interface ProvedPasskey {
  /** The person: a login or an operator. */
  holder_id: string
  /**
   * Whether the password is needed too: the device did not check who holds it (PIN, fingerprint, face), or the password changed
   * since the last sign-in with both.
   */
  needs_password: boolean
  /** Records the use, in the transaction of what it permits. @throws SvcError `validation_error` if the key was removed, or another use came first. */
  use(stores: Writes): Promise<void>
}

const CHALLENGE_BYTES = 32

/** The passkeys of people: of logins and of operators. `origin`: of the pages. */
export function createPasskeys({ storage, runtime }: { storage: Storage; runtime: Runtime }) {
  /** The library has 18 packages, so that only a service with passkeys loads it. */
  const library = () => import('@simplewebauthn/server')

  /** A new challenge, which is valid once. */
  async function challengeFor(holder_id: string | null): Promise<Uint8Array<ArrayBuffer>> {
    const challenge = new Uint8Array(runtime.bytes(CHALLENGE_BYTES))
    const at = runtime.now()
    const row = {
      challenge_hash: hashOf(Buffer.from(challenge).toString('base64url')),
      holder_id,
      expires_at: new Date(at.getTime() + LIMITS.passkey_challenge_s * 1000),
    }
    await storage.write(({ passkeys }) =>
      passkeys.addChallenge(row, { now: at, keep: LIMITS.passkey_challenges }),
    )
    return challenge
  }

  /** Uses up the challenge of a person, or of a sign-in, also if the signature turns out to be wrong. */
  const take = (holder_id: string | null) => (challenge: string) =>
    storage.write(({ passkeys }) =>
      passkeys.takeChallenge(hashOf(challenge), holder_id, runtime.now()),
    )

  async function checked<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work()
    } catch (error) {
      // The library throws an `Error` for every fault of the response, and names the bytes of the client in it.
      runtime.log.debug({ err: error }, 'a passkey was refused')
      throw refused()
    }
  }

  return {
    /** Loads the library, for which every other work would wait at the first passkey. */
    async prepare(): Promise<void> {
      await library()
    },
    async list(holderId: string): Promise<Passkey[]> {
      return (await storage.read.passkeys.ofHolder(holderId)).map(recordOf)
    },
    /** The options for a new passkey of a person, who must confirm it within 5 minutes. @throws SvcError `validation_error` beyond the limit. */
    async beginRegistration(
      { id, name }: { id: string; name: string },
      { origin, brand }: PasskeySite,
    ): Promise<PasskeyOptions> {
      const own = await storage.read.passkeys.ofHolder(id)
      if (own.length >= LIMITS.passkeys) throw tooMany()
      const { generateRegistrationOptions } = await library()
      return {
        ...(await generateRegistrationOptions({
          rpName: brand,
          rpID: rpOf(origin),
          userName: name,
          userID: new Uint8Array(Buffer.from(id)),
          challenge: await challengeFor(id),
          timeout: LIMITS.passkey_challenge_s * 1000,
          // Sign-ins name no person before the passkey does.
          authenticatorSelection: { residentKey: 'required', userVerification: 'preferred' },
          excludeCredentials: own.map(({ credential_id }) => ({ id: credential_id })),
        })),
      }
    },
    /**
     * The new passkey of a person. `store` of the result stores it, in the transaction of the caller.
     * @throws SvcError `validation_error` for a wrong answer, and for a challenge that was used or is too old.
     */
    async register(
      holder_id: string,
      { registration, name }: { registration: PasskeyRegistration; name: string },
      origin: string,
    ): Promise<{ id: string; store(stores: Writes): Promise<void> }> {
      const { verifyRegistrationResponse } = await library()
      const { id, response } = registration
      const { clientDataJSON, attestationObject } = response
      const { credential } = await checked(async () => {
        const { registrationInfo } = await verifyRegistrationResponse({
          response: { ...shape(id), response: { clientDataJSON, attestationObject } },
          expectedChallenge: take(holder_id),
          expectedOrigin: origin,
          expectedRPID: rpOf(origin),
          requireUserVerification: false,
        })
        if (!registrationInfo) throw new Error('the attestation is wrong')
        return registrationInfo
      })
      const row: PasskeyRow = {
        credential_id: credential.id,
        holder_id,
        id: runtime.id(),
        name,
        public_key: Buffer.from(credential.publicKey).toString('base64url'),
        counter: credential.counter,
        needs_password: false,
        created_at: runtime.now(),
        last_used_at: null,
      }
      return {
        id: row.id,
        async store({ passkeys }) {
          if ((await passkeys.ofHolder(holder_id)).length >= LIMITS.passkeys) throw tooMany()
          if (!(await passkeys.insert(row))) throw refused()
        },
      }
    },
    /**
     * The options for a sign-in with a passkey. Without a person, the device finds the key, for which most devices verify the
     * person. `holderId`: a person whose password was right; a device that cannot verify a person finds the keys by their ids.
     */
    async beginSignIn(origin: string, holderId: string | null): Promise<PasskeyOptions> {
      const own = holderId === null ? [] : await storage.read.passkeys.ofHolder(holderId)
      const { generateAuthenticationOptions } = await library()
      return {
        ...(await generateAuthenticationOptions({
          rpID: rpOf(origin),
          challenge: await challengeFor(null),
          timeout: LIMITS.passkey_challenge_s * 1000,
          userVerification: 'preferred',
          allowCredentials: own.map(({ credential_id: id }) => ({ id })),
        })),
      }
    },
    /** The id of the person of a passkey; null for none. */
    async holderOf(credentialId: string): Promise<string | null> {
      return (await storage.read.passkeys.byCredential(credentialId))?.holder_id ?? null
    },
    /**
     * Checks the signature of a passkey.
     * @throws SvcError `validation_error` for a wrong answer, and for a challenge that was used or is too old.
     */
    async prove({ id, response }: PasskeyAssertion, origin: string): Promise<ProvedPasskey> {
      const row = await storage.read.passkeys.byCredential(id)
      if (!row) throw refused()
      const { verifyAuthenticationResponse } = await library()
      const { clientDataJSON, authenticatorData, signature } = response
      const info = await checked(async () => {
        const { verified, authenticationInfo } = await verifyAuthenticationResponse({
          response: {
            ...shape(id),
            response: { clientDataJSON, authenticatorData, signature },
          },
          expectedChallenge: take(null),
          expectedOrigin: origin,
          expectedRPID: rpOf(origin),
          credential: {
            id: row.credential_id,
            publicKey: new Uint8Array(Buffer.from(row.public_key, 'base64url')),
            counter: row.counter,
          },
          requireUserVerification: false,
        })
        if (!verified) throw new Error('the signature is wrong')
        return authenticationInfo
      })
      const use = { counter: info.newCounter, last_used_at: runtime.now() }
      return {
        holder_id: row.holder_id,
        needs_password: !info.userVerified || row.needs_password,
        async use({ passkeys }) {
          if (!(await passkeys.use(row.credential_id, use))) throw refused()
        },
      }
    },
    /** Removes a passkey, in the transaction of the caller. @throws SvcError `not_found`. */
    async remove({ passkeys }: Writes, holderId: string, id: string): Promise<void> {
      if (!(await passkeys.remove(holderId, id))) throw noPasskey()
    },
    /** Gives a passkey another name. @throws SvcError `not_found`. */
    async rename(holderId: string, id: string, name: string): Promise<void> {
      const isRenamed = await storage.write(({ passkeys }) => passkeys.rename(holderId, id, name))
      if (!isRenamed) throw noPasskey()
    },
  }
}

export type Passkeys = ReturnType<typeof createPasskeys>

function noPasskey(): SvcError {
  return new SvcError('not_found', 'Passkey not found')
}

function recordOf({ id, name, created_at, last_used_at }: PasskeyRow): Passkey {
  return { id, name, created_at, last_used_at }
}

/** The relying party of an origin: its host name (WebAuthn level 3, 5.1.2). */
function rpOf(origin: string): string {
  return new URL(origin).hostname
}

/** The fields that every answer has. */
function shape(id: string) {
  return { id, rawId: id, type: 'public-key', clientExtensionResults: {} } as const
}

function refused(): SvcError {
  return invalid('passkey', 'The passkey was refused: try again')
}

function tooMany(): SvcError {
  return invalid('', `A person may have at most ${LIMITS.passkeys} passkeys`)
}

/** A fast hash suffices for 256 random bits. */
function hashOf(challenge: string): string {
  return hash('sha256', challenge)
}
