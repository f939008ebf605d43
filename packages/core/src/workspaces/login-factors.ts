import type { NoteRefused } from '../audit/audit.ts'
import { type Actor, auditRow, SERVICE } from '../audit/entry.ts'
import { invalid, SvcError } from '../contract/errors.ts'
import type { AuditAction } from '../contract/resources/audit.ts'
import type { PasskeyRegistration } from '../contract/resources/members.ts'
import type { Runtime } from '../runtime/runtime.ts'
import type { HeldPasskeys, Passkeys } from '../second-factor/passkeys.ts'
import type {
  FactorPlace,
  SecondFactorState,
  SecondFactors,
  TotpSecret,
} from '../second-factor/second-factor.ts'
import type { Storage, Writes } from '../storage/ports/storage.ts'
import { type Login, loginByEmail, loginById, noteRefusedLogin, workspaceIdsOf } from './logins.ts'
import type { Passwords } from './password.ts'
import { actorOf, beginSession, type NewSession } from './sessions.ts'

/** The second factors of logins: a code of an authenticator app, or a recovery code, beside the password. */
export interface LoginFactors
  extends HeldPasskeys<{ email: string; password: string }, NewSession> {
  /** The second factor of a login. */
  secondFactor(userId: string): Promise<SecondFactorState>
  /**
   * Makes a secret for an authenticator app. Logins need its codes after `confirmTotp`.
   * @throws SvcError `validation_error` for a wrong password, for a login without one, or if an app is confirmed.
   */
  beginTotp(userId: string, request: { current_password: string }): Promise<TotpSecret>
  /**
   * Confirms the app with its first code. Ends all sessions of the login, and begins another one. The ten recovery codes are
   * shown once.
   * @throws SvcError `validation_error` for a wrong code.
   */
  confirmTotp(
    login: { user_id: string; workspace_id: string },
    code: string,
    actor?: Actor,
  ): Promise<{ recovery_codes: string[]; session: NewSession }>
  /**
   * Ends the second factor, with the password and a code.
   * @throws SvcError `validation_error` for a wrong password, and for a missing or wrong code.
   */
  endTotp(
    userId: string,
    request: { current_password: string; otp?: string | undefined },
    actor?: Actor,
  ): Promise<void>
  /** Loads what passkeys need, for which every other work would wait at the first passkey. */
  preparePasskeys(): Promise<void>
  /**
   * Adds a passkey: sign-ins need it, a code or a recovery code from then on. Ends all sessions of the login, and begins another
   * one. The recovery codes are shown once; there are none if the login has some.
   * @throws SvcError `validation_error` for a wrong answer of the browser.
   */
  addPasskey(
    login: { user_id: string; workspace_id: string },
    request: { registration: PasskeyRegistration; name: string },
    origin: string,
    actor?: Actor,
  ): Promise<{ recovery_codes: string[]; session: NewSession }>
  /** The address of the login of a passkey; null for none. */
  emailOfPasskey(credentialId: string): Promise<string | null>
  /**
   * Removes the second factor and the passkeys of a person who lost them, and ends all sessions, for the operator.
   * @throws SvcError `not_found` for an address without a login; `validation_error` for a login without a second factor.
   */
  resetSecondFactor(email: string, actor?: Actor): Promise<void>
}

/** Where the second factors of logins are. */
export const LOGIN_FACTORS: FactorPlace = {
  field: 'otp',
  read: ({ secondFactors }, id) => secondFactors.ofLogin(id),
  lock: ({ secondFactors }, id) => secondFactors.lock(id),
  change: ({ secondFactors }, id, change) => secondFactors.change(id, change),
}

export function createLoginFactors({
  storage,
  runtime,
  passwords,
  factors,
  passkeys,
  noteRefused,
}: {
  storage: Storage
  runtime: Runtime
  passwords: Passwords
  factors: SecondFactors
  passkeys: Passkeys
  noteRefused: NoteRefused
}): LoginFactors {
  /** @throws SvcError `validation_error` for a wrong password. */
  async function withPassword(userId: string, password: string): Promise<Login> {
    const login = await loginById(storage.read, userId)
    const hash = login?.password_hash ?? null
    if (login && hash === null) {
      throw invalid('', 'Your login has no password: choose one with forgot-password first')
    }
    if (login && (await passwords.verify(hash, password))) return login
    throw invalid('current_password', 'Current password is wrong')
  }

  /** Records a change in each workspace of the login. */
  async function record(stores: Writes, login: Login, action: AuditAction, actor: Actor) {
    const target = { type: 'member', id: login.id }
    for (const workspace_id of await workspaceIdsOf(stores, login)) {
      const who = actor.kind === 'session' ? actorOf(login.id, workspace_id, actor) : actor
      await stores.audit.record(auditRow(runtime, who, { workspace_id, action, target }))
    }
  }

  async function endSessions(stores: Writes, userId: string): Promise<void> {
    const at = runtime.now()
    await stores.workspaces.endTokens(userId, at)
    await stores.users.endTokens(userId, at)
    await stores.sessions.clear(userId)
  }

  /** Ends all sessions of a login with a new factor, and begins another one. */
  async function renewSession(
    stores: Writes,
    {
      user_id,
      workspace_id,
      action,
      actor,
    }: { user_id: string; workspace_id: string; action: AuditAction; actor: Actor },
  ): Promise<NewSession> {
    await endSessions(stores, user_id)
    // With the token version that the end of the sessions raised.
    const login = await loginById(stores, user_id)
    if (!login) throw new SvcError('token_expired', 'Invalid or expired token')
    await record(stores, login, action, actor)
    return beginSession(runtime, stores, { login, workspace_id, has_second_factor: true, actor })
  }

  return {
    secondFactor: factors.state,
    async beginTotp(userId, { current_password }) {
      const { id, email } = await withPassword(userId, current_password)
      return factors.begin({ id, name: email })
    },
    async confirmTotp({ user_id, workspace_id }, code, actor = SERVICE) {
      const added = { user_id, workspace_id, actor, action: 'second_factor.added' } as const
      const { recovery_codes, result } = await factors.confirm(user_id, code, (stores) =>
        renewSession(stores, added),
      )
      return { recovery_codes, session: result }
    },
    async endTotp(userId, { current_password, otp }, actor = SERVICE) {
      const login = await withPassword(userId, current_password)
      const known = await factors.open(userId)
      await storage.write(async (stores) => {
        if (!(await factors.use(stores, userId, { known, code: otp }))) return
        await factors.end(stores, userId)
        await record(stores, login, 'second_factor.removed', actor)
      })
    },
    preparePasskeys: passkeys.prepare,
    passkeys: passkeys.list,
    async beginPasskey(userId, { current_password }, site) {
      const { id, email } = await withPassword(userId, current_password)
      return passkeys.beginRegistration({ id, name: email }, site)
    },
    async addPasskey({ user_id, workspace_id }, request, origin, actor = SERVICE) {
      const { store } = await passkeys.register(user_id, request, origin)
      return storage.write(async (stores) => {
        const recovery_codes = await factors.ensureRecovery(stores, user_id)
        await store(stores)
        const added = { user_id, workspace_id, actor, action: 'passkey.added' } as const
        return { recovery_codes, session: await renewSession(stores, added) }
      })
    },
    renamePasskey: passkeys.rename,
    async removePasskey(userId, passkeyId, { current_password }, actor = SERVICE) {
      const login = await withPassword(userId, current_password)
      await storage.write(async (stores) => {
        await passkeys.remove(stores, userId, passkeyId)
        await factors.endRecovery(stores, userId)
        await record(stores, login, 'passkey.removed', actor)
      })
    },
    async beginPasskeySignIn(origin, credentials, actor = SERVICE) {
      if (!credentials) return passkeys.beginSignIn(origin, null)
      const { email, password } = credentials
      const login = await loginByEmail(storage.read, email)
      const isRight = await passwords.verify(login?.password_hash ?? null, password)
      if (!isRight || !login) {
        await noteRefusedLogin({ storage, noteRefused }, login, {
          email,
          reason: 'password',
          actor,
        })
        throw wrongCredentials()
      }
      return passkeys.beginSignIn(origin, login.id)
    },
    async emailOfPasskey(credentialId) {
      const holder = await passkeys.holderOf(credentialId)
      return holder === null ? null : ((await loginById(storage.read, holder))?.email ?? null)
    },
    async signInWithPasskey({ assertion, password }, origin, actor = SERVICE) {
      const proof = await passkeys.prove(assertion, origin)
      const login = await loginById(storage.read, proof.holder_id)
      if (!login) throw invalid('passkey', 'The passkey belongs to no member')
      if (proof.needs_password) {
        if (password === undefined) throw invalid('password', 'Enter your password too')
        if (!(await passwords.verify(login.password_hash, password))) {
          const { email } = login
          await noteRefusedLogin({ storage, noteRefused }, login, {
            email,
            reason: 'password',
            actor,
          })
          throw wrongCredentials()
        }
      }
      return storage.write(async (stores) => {
        await proof.use(stores)
        const [workspace_id] = await workspaceIdsOf(stores, login)
        if (workspace_id === undefined) throw new SvcError('not_found', 'Workspace not found')
        const begun = { login, workspace_id, has_second_factor: true, actor }
        return beginSession(runtime, stores, begun)
      })
    },
    async resetSecondFactor(email, actor = SERVICE) {
      const login = await loginByEmail(storage.read, email)
      if (!login) throw new SvcError('not_found', 'No login has this address')
      await storage.write(async (stores) => {
        await stores.secondFactors.lock(login.id)
        const factor = await stores.secondFactors.ofLogin(login.id)
        const keys = await stores.passkeys.ofHolder(login.id)
        if (!factor?.totp_since && keys.length === 0) {
          throw invalid('', 'The login has no second factor')
        }
        await factors.clear(stores, login.id)
        await endSessions(stores, login.id)
        await record(stores, login, 'second_factor.reset', actor)
      })
    },
  }
}

function wrongCredentials(): SvcError {
  return new SvcError('unauthorized', 'Invalid email or password')
}
