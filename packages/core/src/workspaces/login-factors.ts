import { type Actor, auditRow, SERVICE } from '../audit/entry.ts'
import { invalid, SvcError } from '../contract/errors.ts'
import type { AuditAction } from '../contract/resources/audit.ts'
import type { Runtime } from '../runtime/runtime.ts'
import type {
  FactorPlace,
  SecondFactorState,
  SecondFactors,
  TotpSecret,
} from '../second-factor/second-factor.ts'
import type { Storage, Writes } from '../storage/ports/storage.ts'
import { actorOf, beginSession, type NewSession } from './begin-session.ts'
import { type Login, loginByEmail, loginById, workspaceIdsOf } from './logins.ts'
import type { Passwords } from './password.ts'

/** The second factors of logins: a code of an authenticator app, or a recovery code, beside the password. */
export interface LoginFactors {
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
  /**
   * Removes the second factor of a person who lost it, and ends all sessions, for the operator.
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
}: {
  storage: Storage
  runtime: Runtime
  passwords: Passwords
  factors: SecondFactors
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

  return {
    secondFactor: factors.state,
    async beginTotp(userId, { current_password }) {
      const { id, email } = await withPassword(userId, current_password)
      return factors.begin({ id, name: email })
    },
    async confirmTotp({ user_id, workspace_id }, code, actor = SERVICE) {
      const { recovery_codes, result } = await factors.confirm(user_id, code, async (stores) => {
        await endSessions(stores, user_id)
        // With the token version that the end of the sessions raised.
        const login = await loginById(stores, user_id)
        if (!login) throw new SvcError('token_expired', 'Invalid or expired token')
        await record(stores, login, 'second_factor.added', actor)
        const begun = { login, workspace_id, has_second_factor: true, actor }
        return beginSession(runtime, stores, begun)
      })
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
    async resetSecondFactor(email, actor = SERVICE) {
      const login = await loginByEmail(storage.read, email)
      if (!login) throw new SvcError('not_found', 'No login has this address')
      await storage.write(async (stores) => {
        await stores.secondFactors.lock(login.id)
        const factor = await stores.secondFactors.ofLogin(login.id)
        if (!factor?.totp_since) throw invalid('', 'The login has no second factor')
        await factors.end(stores, login.id)
        await endSessions(stores, login.id)
        await record(stores, login, 'second_factor.reset', actor)
      })
    },
  }
}
