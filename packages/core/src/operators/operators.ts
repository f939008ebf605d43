import { hash } from 'node:crypto'
import type { NoteRefused, RefusedSignIn } from '../audit/audit.ts'
import { type Actor, auditRow, SERVICE } from '../audit/entry.ts'
import { invalid, SvcError } from '../contract/errors.ts'
import { emailKey } from '../contract/fields/email-address.ts'
import { LIMITS } from '../contract/limits.ts'
import type { AuditAction } from '../contract/resources/audit.ts'
import type { PasskeyRegistration } from '../contract/resources/members.ts'
import type { OperatorRow } from '../rows/rows.ts'
import type { Runtime } from '../runtime/runtime.ts'
import type { HeldPasskeys, Passkeys } from '../second-factor/passkeys.ts'
import {
  createSecondFactors,
  NO_FACTOR,
  type SecondFactorState,
  stateOf,
  type TotpSecret,
} from '../second-factor/second-factor.ts'
import type { Storage, Writes } from '../storage/ports/storage.ts'
import type { Passwords } from '../workspaces/password.ts'
import { type Inactivity, isIdle, knownSince, loginNetworkOf } from '../workspaces/sessions.ts'

/** A person who operates the service in the console, and is a member of no workspace. */
export interface Operator extends SecondFactorState {
  id: string
  /** An e-mail address or another name, with which the operator signs in. */
  name: string
  /** The end of the access; null for none. */
  expires_at: Date | null
  last_sign_in_at: Date | null
  created_at: Date
}

/** A session that began. The token is shown once. */
export interface OperatorSession {
  operator: Operator
  token: string
  ends_at: Date
}

/** The operators of the service. Each change and its audit entry are one transaction. */
export interface Operators
  extends HeldPasskeys<{ name: string; password: string }, OperatorSession> {
  /** All operators, by name. */
  list(): Promise<Operator[]>
  /**
   * Adds an operator.
   * @throws SvcError `validation_error` for a name that an operator has, a password that is easy to guess, or an end that is
   * not in the future.
   */
  add(
    operator: { name: string; password: string; expires_at?: Date | null | undefined },
    actor?: Actor,
  ): Promise<Operator>
  /** Removes an operator and ends the sessions at once. @throws SvcError `not_found`. */
  remove(name: string, actor?: Actor): Promise<void>
  /** Sets a new password, removes the second factor, and ends the sessions at once. @throws SvcError `not_found` or `validation_error`. */
  reset(name: string, password: string, actor?: Actor): Promise<Operator>
  /**
   * Changes the password of an operator who knows it, and ends the sessions at once.
   * @throws SvcError `not_found`; `validation_error` when the current password is wrong or the new one is easy to guess.
   */
  changePassword(
    name: string,
    passwords: { current_password: string; new_password: string },
    actor?: Actor,
  ): Promise<void>
  /**
   * Begins a session of 12 hours. `code`: of the authenticator app, or a recovery code; each is valid once.
   * @throws SvcError `unauthorized` for a wrong name or password, and after the end of the access; `validation_error` for `code`
   *   where the password is right and the code is missing or wrong.
   */
  signIn(
    credentials: { name: string; password: string; code?: string | undefined },
    actor?: Actor,
  ): Promise<OperatorSession>
  /**
   * Makes a secret for an authenticator app. Sign-ins need its codes after `confirmTotp`; until then an earlier app stays valid.
   * @throws SvcError `not_found`; `validation_error` for a wrong password, or if an app is confirmed.
   */
  beginTotp(name: string, request: { current_password: string }): Promise<TotpSecret>
  /**
   * Confirms the app with its first code, and returns ten recovery codes, which are shown once. Ends all sessions but that of
   * `token`.
   * @throws SvcError `validation_error` for a wrong code.
   */
  confirmTotp(name: string, code: string, actor?: Actor, token?: string | null): Promise<string[]>
  /**
   * Ends the second factor, with a code of it.
   * @throws SvcError `validation_error` for a wrong password, and for a missing or wrong code.
   */
  endTotp(
    name: string,
    request: { current_password: string; code?: string | undefined },
    actor?: Actor,
  ): Promise<void>
  /**
   * Adds a passkey: sign-ins need it, a code or a recovery code from then on. Ends all sessions but that of `token`. The recovery
   * codes are shown once; there are none if the operator has some.
   * @throws SvcError `not_found`; `validation_error` for a wrong answer of the browser.
   */
  addPasskey(
    name: string,
    request: { registration: PasskeyRegistration; name: string },
    origin: string,
    actor?: Actor,
    token?: string | null,
  ): Promise<string[]>
  /** The name of the operator of a passkey; null for none. */
  nameOfPasskey(credentialId: string): Promise<string | null>
  /** The network of a client's address if the operator signed in from this network recently; else null. */
  knownNetwork(name: string, address: string | null): Promise<string | null>
  /** The operator of a session; null for a session that ended. Makes one query. */
  ofToken(token: string, inactivity?: Inactivity): Promise<Operator | null>
  /** Records an act of an operator that changes no row. */
  note(act: 'ledger.verified' | 'backup.made', actor: Actor): Promise<void>
  /** Ends a session on every server. */
  signOut(token: string, actor?: Actor): Promise<void>
}

/** The beginning of every token, so that it cannot be taken for the token of a member. */
const TOKEN_START = 'svcop_'

const TOKEN = /^svcop_[\w-]{43}$/

export function createOperators({
  storage,
  runtime,
  passwords,
  passkeys,
  secret,
  noteRefused,
}: {
  storage: Storage
  runtime: Runtime
  passwords: Passwords
  passkeys: Passkeys
  /** A secret of the service by its name, generated at the first call. */
  secret(name: string): Promise<string>
  noteRefused: NoteRefused
}): Operators {
  const factors = createSecondFactors({
    ...{ storage, runtime, secret },
    place: {
      field: 'code',
      read: ({ operators }, id) => operators.byId(id),
      lock: ({ operators }, id) => operators.lock(id),
      change: ({ operators }, id, change) => operators.change(id, change),
    },
  })

  /** Records a refused sign-in. @throws the error of the sign-in. */
  async function refuse(
    known: OperatorRow | null,
    refused: Pick<RefusedSignIn, 'name' | 'reason' | 'actor'>,
    error = wrongCredentials(),
  ): Promise<never> {
    const account = known && { id: known.name, workspace_ids: [] }
    await noteRefused({ ...refused, account, kind: 'operator' })
    throw error
  }

  const entry = (actor: Actor, action: AuditAction, { name }: Pick<OperatorRow, 'name'>) =>
    auditRow(runtime, actor, { workspace_id: '', action, target: { type: 'operator', id: name } })

  async function hashOf(
    name: string,
    password: string,
    field: 'password' | 'new_password' = 'password',
  ): Promise<string> {
    if (password.length < LIMITS.password_length_min) {
      const text = `Password must have at least ${LIMITS.password_length_min} characters`
      throw invalid(field, text)
    }
    await passwords.checkNew(field, password)
    passwords.checkNotOwn(field, password, { email: name, name })
    return passwords.hash(password)
  }

  /** @throws SvcError `not_found`; `validation_error` for a wrong password. */
  async function withPassword(name: string, password: string): Promise<OperatorRow> {
    const known = await byName(name)
    if (!(await passwords.verify(known.password_hash, password))) throw wrongPassword()
    return known
  }

  /** @throws SvcError `not_found`. */
  async function byName(name: string): Promise<OperatorRow> {
    const known = await storage.read.operators.byName(name)
    if (!known) throw notFound()
    return known
  }

  /** Begins a session of an operator whose password or passkey was right. `use` uses up the second factor. */
  async function beginSession(
    known: OperatorRow,
    actor: Actor,
    use: (stores: Writes) => Promise<unknown>,
  ): Promise<OperatorSession> {
    const token = TOKEN_START + runtime.bytes(LIMITS.token_bytes).toString('base64url')
    const network = loginNetworkOf(actor.address)
    return storage.write(async (stores) => {
      const { operators, loginNetworks, audit } = stores
      const at = runtime.now()
      await operators.lock(known.id)
      const row = await operators.byId(known.id)
      // A reset or an end between the check of the password and this transaction counts.
      if (!row || row.password_hash !== known.password_hash) throw wrongCredentials()
      if (row.expires_at !== null && row.expires_at <= at) throw wrongCredentials()
      await use(stores)
      const ends_at = new Date(at.getTime() + LIMITS.operator_session_s * 1000)
      const token_hash = hashOfToken(token)
      const begun = {
        ...{ token_hash, operator_id: row.id, created_at: at, ends_at },
        last_seen_at: at,
      }
      await operators.beginSession(begun, LIMITS.operator_sessions)
      await operators.change(row.id, { last_sign_in_at: at })
      if (network !== null) {
        await loginNetworks.note({ workspace_id: row.id, network, last_login_at: at })
      }
      await audit.record(entry({ ...actor, ...nameOf(row) }, 'operator.signed_in', row))
      return { operator: operatorOf({ ...row, last_sign_in_at: at }), token, ends_at }
    })
  }

  async function endOthers({ operators }: Writes, { id }: OperatorRow, token: string | null) {
    await operators.endSessions(id, token && hashOfToken(token))
  }

  /** A use that is not stored shows an older time only, so that it refuses no request. */
  async function touch(token: string, { last_seen_at, at }: { last_seen_at: Date; at: Date }) {
    if (at.getTime() - last_seen_at.getTime() < LIMITS.session_touch_s * 1000) return
    try {
      await storage.write(({ operators }) => operators.touch(hashOfToken(token), at))
    } catch (error) {
      runtime.log.warn({ err: error }, 'the use of a session was not written')
    }
  }

  return {
    async list() {
      return (await storage.read.operators.list()).map(operatorOf)
    },
    async add({ name, password, expires_at = null }, actor = SERVICE) {
      const at = runtime.now()
      const trimmed = name.trim()
      if (trimmed === '' || trimmed.length > LIMITS.operator_name_length) {
        throw invalid('name', `name must have 1 to ${LIMITS.operator_name_length} characters`)
      }
      if (expires_at !== null && expires_at <= at) {
        throw invalid('expires_at', 'expires_at must be in the future')
      }
      const row: OperatorRow = {
        id: runtime.id(),
        name: trimmed,
        name_key: emailKey(trimmed),
        password_hash: await hashOf(trimmed, password),
        expires_at,
        last_sign_in_at: null,
        ...NO_FACTOR,
        created_at: at,
      }
      await storage.write(async ({ operators, audit }) => {
        if (!(await operators.insert(row))) {
          throw invalid('name', `There is an operator ${trimmed} already`)
        }
        await audit.record(entry(actor, 'operator.added', row))
      })
      return operatorOf(row)
    },
    async remove(name, actor = SERVICE) {
      await storage.write(async (stores) => {
        const { operators, audit } = stores
        const row = await operators.byName(name)
        if (!row) throw notFound()
        await factors.clear(stores, row.id)
        await operators.remove(row.id)
        await audit.record(entry(actor, 'operator.removed', row))
      })
    },
    async reset(name, password, actor = SERVICE) {
      const password_hash = await hashOf(name, password)
      return storage.write(async (stores) => {
        const { operators, loginNetworks, audit } = stores
        const row = await operators.byName(name)
        if (!row) throw notFound()
        await operators.change(row.id, { password_hash })
        await factors.clear(stores, row.id)
        await operators.endSessions(row.id)
        // A thief of the old password may have used other networks.
        await loginNetworks.clear(row.id)
        await audit.record(entry(actor, 'operator.reset', row))
        return operatorOf({ ...row, ...NO_FACTOR })
      })
    },
    async changePassword(name, { current_password, new_password }, actor = SERVICE) {
      const known = await withPassword(name, current_password)
      const password_hash = await hashOf(known.name, new_password, 'new_password')
      await storage.write(async ({ operators, passkeys, audit }) => {
        const row = await operators.byName(name)
        if (row?.password_hash !== known.password_hash) throw wrongPassword()
        await operators.change(row.id, { password_hash })
        await passkeys.needPassword(row.id)
        await operators.endSessions(row.id)
        await audit.record(entry(actor, 'operator.password_changed', row))
      })
    },
    async beginTotp(name, { current_password }) {
      return factors.begin(await withPassword(name, current_password))
    },
    async confirmTotp(name, code, actor = SERVICE, token = null) {
      const known = await byName(name)
      const { recovery_codes } = await factors.confirm(known.id, code, async (stores) => {
        await endOthers(stores, known, token)
        await stores.audit.record(entry(actor, 'operator.second_factor_added', known))
      })
      return recovery_codes
    },
    async endTotp(name, { current_password, code }, actor = SERVICE) {
      const { id } = await withPassword(name, current_password)
      const known = await factors.open(id)
      await storage.write(async (stores) => {
        await factors.use(stores, id, { known, code })
        await factors.end(stores, id)
        await stores.audit.record(entry(actor, 'operator.second_factor_removed', { name }))
      })
    },
    async signIn({ name, password, code }, actor = SERVICE) {
      const known = await storage.read.operators.byName(name)
      const isRight = await passwords.verify(known?.password_hash ?? null, password)
      if (!isRight || !known) return refuse(known, { name, reason: 'password', actor })
      const opened = await factors.open(known.id)
      try {
        return await beginSession(known, actor, (stores) =>
          factors.use(stores, known.id, { known: opened, code }),
        )
      } catch (error) {
        // Without a code the client asks for it next.
        if (code === undefined || !(error instanceof SvcError)) throw error
        return refuse(known, { name, reason: 'second_factor', actor }, error)
      }
    },
    passkeys: async (name) => passkeys.list((await byName(name)).id),
    async beginPasskey(name, { current_password }, site) {
      return passkeys.beginRegistration(await withPassword(name, current_password), site)
    },
    async addPasskey(name, request, origin, actor = SERVICE, token = null) {
      const known = await byName(name)
      const { store } = await passkeys.register(known.id, request, origin)
      return storage.write(async (stores) => {
        const recovery_codes = await factors.ensureRecovery(stores, known.id)
        await store(stores)
        await endOthers(stores, known, token)
        await stores.audit.record(entry(actor, 'operator.passkey_added', known))
        return recovery_codes
      })
    },
    async renamePasskey(name, passkeyId, to) {
      await passkeys.rename((await byName(name)).id, passkeyId, to)
    },
    async removePasskey(name, passkeyId, { current_password }, actor = SERVICE) {
      const known = await withPassword(name, current_password)
      await storage.write(async (stores) => {
        await passkeys.remove(stores, known.id, passkeyId)
        await factors.endRecovery(stores, known.id)
        await stores.audit.record(entry(actor, 'operator.passkey_removed', known))
      })
    },
    async beginPasskeySignIn(origin, credentials, actor = SERVICE) {
      if (!credentials) return passkeys.beginSignIn(origin, null)
      const known = await storage.read.operators.byName(credentials.name)
      const isRight = await passwords.verify(known?.password_hash ?? null, credentials.password)
      if (!isRight || !known) {
        return refuse(known, { name: credentials.name, reason: 'password', actor })
      }
      return passkeys.beginSignIn(origin, known.id)
    },
    async nameOfPasskey(credentialId) {
      const holder = await passkeys.holderOf(credentialId)
      return holder === null ? null : ((await storage.read.operators.byId(holder))?.name ?? null)
    },
    async signInWithPasskey({ assertion, password }, origin, actor = SERVICE) {
      const proof = await passkeys.prove(assertion, origin)
      const known = await storage.read.operators.byId(proof.holder_id)
      if (!known) throw invalid('passkey', 'The passkey belongs to no operator')
      if (proof.needs_password) {
        if (password === undefined) throw invalid('password', 'Enter your password too')
        if (!(await passwords.verify(known.password_hash, password))) {
          return refuse(known, { name: known.name, reason: 'password', actor })
        }
      }
      return beginSession(known, actor, proof.use)
    },
    async knownNetwork(name, address) {
      const network = loginNetworkOf(address)
      if (network === null) return null
      const { byOperator } = storage.read.loginNetworks
      return (await byOperator(name, network, knownSince(runtime))) ? network : null
    },
    async ofToken(token, inactivity) {
      if (!TOKEN.test(token)) return null
      const at = runtime.now()
      const found = await storage.read.operators.byToken(hashOfToken(token), at)
      if (!found) return null
      const { last_seen_at, ...row } = found
      if (inactivity && isIdle(last_seen_at, at, inactivity)) return null
      if (!inactivity?.is_passive) await touch(token, { last_seen_at, at })
      return operatorOf(row)
    },
    async note(action, actor) {
      await storage.write(({ audit }) =>
        audit.record(auditRow(runtime, actor, { workspace_id: '', action })),
      )
    },
    async signOut(token, actor = SERVICE) {
      await storage.write(async ({ operators, audit }) => {
        const row = await operators.byToken(hashOfToken(token), runtime.now())
        if (!row || !(await operators.endSession(hashOfToken(token)))) return
        await audit.record(entry({ ...actor, ...nameOf(row) }, 'operator.signed_out', row))
      })
    },
  }
}

/** A fast hash suffices for a secret of 256 random bits. */
function hashOfToken(token: string): string {
  return hash('sha256', token)
}

function nameOf({ name }: OperatorRow): Pick<Actor, 'kind' | 'id'> {
  return { kind: 'operator', id: name }
}

function operatorOf(row: OperatorRow): Operator {
  const { id, name, expires_at, last_sign_in_at, created_at } = row
  return { id, name, expires_at, last_sign_in_at, ...stateOf(row), created_at }
}

function wrongCredentials(): SvcError {
  return new SvcError('unauthorized', 'Invalid name or password')
}

function wrongPassword(): SvcError {
  return invalid('current_password', 'Current password is wrong')
}

function notFound(): SvcError {
  return new SvcError('not_found', 'Operator not found')
}
