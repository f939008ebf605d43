import type { NoteRefused } from '../audit/audit.ts'
import { type Actor, auditRow, SERVICE } from '../audit/entry.ts'
import type { Body, BodyIn, Form } from '../contract/endpoints/endpoint.ts'
import type { Slice } from '../contract/endpoints/paging.ts'
import { invalid, SvcError } from '../contract/errors.ts'
import { emailKey } from '../contract/fields/email-address.ts'
import { type Units, units } from '../contract/fields/units.ts'
import { LIMITS } from '../contract/limits.ts'
import { TEMPLATE_CATEGORIES } from '../contract/resources/templates.ts'
import type {
  workspaces as endpoints,
  Workspace,
  WorkspaceSummary,
} from '../contract/resources/workspaces.ts'
import { COUNTRIES } from '../prices/price.ts'
import type { AccountTokenRow, WorkspaceRow } from '../rows/rows.ts'
import type { Account } from '../rules/decide.ts'
import { freeMinutes, isTimeZone } from '../rules/quiet-hours.ts'
import type { Runtime } from '../runtime/runtime.ts'
import type { SecondFactors } from '../second-factor/second-factor.ts'
import type { Storage } from '../storage/ports/storage.ts'
import type { EndSigning } from '../webhooks/sealed-webhook.ts'
import { type Access, createAccess } from './access.ts'
import { type Login, loginByEmail, noteRefusedLogin, workspaceIdsOf } from './logins.ts'
import type { OwnerMails } from './owner-mails.ts'
import type { Passwords } from './password.ts'
import { beginSession, knownSince, loginNetworkOf, type NewSession } from './sessions.ts'
import { mintToken } from './token.ts'
import { grantSignupCredits, type SignupCreditsOn } from './verification.ts'

/** A login session. */
export interface Session {
  workspace_id: string
  /** The login: the workspace for its owner, otherwise the user. */
  user_id: string
  /** The SHA-256 hash of the token without its signature, in hex. */
  session_hash: string
  /** When the token expires. */
  ends_at: Date
}

/** Signup, login, sessions and account data of workspaces. */
export interface Workspaces<F extends Form = 'given'> extends Access<F> {
  /**
   * Creates a workspace and sends a mail to verify its address.
   * @throws SvcError `validation_error` when the e-mail address is in use or the password is easy to guess.
   */
  signup(request: BodyIn<typeof endpoints.signup, F>, actor?: Actor): Promise<WorkspaceSummary>
  /**
   * Creates a workspace with a verified address, for the operator. Sends no mail and grants signup credits at once.
   * @throws SvcError in the same cases as `signup`.
   */
  create(request: BodyIn<typeof endpoints.signup, F>, actor?: Actor): Promise<WorkspaceSummary>
  /**
   * Begins a session of an owner or a member. The caller issues the token, which names the values of the session.
   * @throws SvcError `unauthorized`, in the same time for an unknown address and a wrong password; `validation_error` for
   *   `otp` where the password is right and the code of the second factor is missing or wrong; `not_found` for a
   *   workspace of which the login is no member.
   */
  login(
    request: BodyIn<typeof endpoints.login, F>,
    actor?: Actor,
  ): Promise<NewSession & { workspace: WorkspaceSummary }>
  /** The network of a client's address if the account logged in from this network recently; else null. */
  knownNetwork(email: string, address: string | null): Promise<string | null>
  /** Ends one session on every server. */
  logout(session: Session, actor?: Actor): Promise<void>
  /** The workspace with its credits, as whole micro-credits. @throws SvcError `not_found`. */
  account(workspaceId: string): Promise<Workspace>
  /** Changes the fields in the request, and returns the whole workspace. */
  update(
    workspaceId: string,
    request: BodyIn<typeof endpoints.update_account, F>,
    actor?: Actor,
  ): Promise<Workspace>
  /** Workspaces, oldest first, for the operator. */
  list(page: Slice): Promise<Workspace[]>
  /** The workspaces whose name or address contains a text, or with this id; newest first, for the operator. */
  search(text: string, page: Slice): Promise<Workspace[]>
  /** The names of the workspaces with these ids that exist, by their id, for the operator. */
  names(ids: readonly string[]): Promise<Map<string, string>>
  /** The workspace whose login is this address; null for none. */
  byEmail(email: string): Promise<Workspace | null>
}

export function createWorkspaces({
  storage,
  runtime,
  passwords,
  mails,
  endSigning,
  factors,
  noteRefused,
  signupCredits,
  signupCreditsOn = 'signup',
  limits = {},
  onChanged,
}: {
  storage: Storage
  runtime: Runtime
  passwords: Passwords
  mails: OwnerMails
  endSigning: EndSigning
  /** The second factors of logins. */
  factors: SecondFactors
  noteRefused: NoteRefused
  signupCredits: Units
  signupCreditsOn?: SignupCreditsOn
  /** The limits of a new workspace. */
  limits?: Partial<Pick<Account, 'daily_limit' | 'low_balance'>>
  /** Called after each change of a workspace. */
  onChanged?: (workspaceId: string) => void
}): Workspaces<'decoded'> {
  async function withAccount(row: WorkspaceRow): Promise<Workspace> {
    const account = await storage.read.credits.account(row.id)
    if (!account) throw new Error(`workspace ${row.id} has no credit account`)
    return workspaceOf(row, account)
  }

  async function account(workspaceId: string): Promise<Workspace> {
    const row = await storage.read.workspaces.byId(workspaceId)
    if (!row) throw new SvcError('not_found', 'Workspace not found')
    return withAccount(row)
  }

  /** After a change of parameters the password is hashed again at a login, because it is known only then. */
  async function refreshHash({ id, owns_workspace, password_hash: from }: Login, password: string) {
    try {
      if (from === null || !(await passwords.isOutdated(from))) return
      const to = await passwords.hash(password)
      await storage.write(({ workspaces, users }) =>
        (owns_workspace ? workspaces : users).rehash(id, { from, to }),
      )
    } catch (error) {
      runtime.log.warn({ err: error, login_id: id }, 'a password was not hashed again')
    }
  }

  async function newRow(
    request: Body<typeof endpoints.signup>,
    verification: Pick<WorkspaceRow, 'email_verified'>,
  ): Promise<WorkspaceRow> {
    const { password, email, company_name: name } = request
    await passwords.checkNew('password', password)
    passwords.checkNotOwn('password', password, { email, name })
    return newWorkspace(runtime, request, {
      password_hash: await passwords.hash(password),
      ...verification,
    })
  }

  /** Stores a new workspace, with the token to verify its address if there is one. */
  async function insert(
    row: WorkspaceRow,
    { actor, verification }: { actor: Actor; verification: AccountTokenRow | null },
  ): Promise<void> {
    const isGiftDue = row.email_verified || signupCreditsOn === 'signup'
    await storage.write(async (stores) => {
      const { workspaces, accountTokens, credits, audit } = stores
      await stores.users.lockAddress(row.email)
      if (!(await workspaces.insert(row))) {
        throw invalid('email', 'Email already exists')
      }
      if (await stores.users.byEmail(row.email)) throw invalid('email', 'Email already exists')
      const created = { workspace_id: row.id, action: 'workspace.created' } as const
      await audit.record(auditRow(runtime, actor, created))
      if (verification) await accountTokens.issue(verification)
      await credits.open(row.id, row.created_at, limits)
      if (!isGiftDue) return
      await grantSignupCredits(runtime, stores, { workspace_id: row.id, amount: signupCredits })
    })
  }

  return {
    ...createAccess({
      storage,
      runtime,
      passwords,
      mails,
      endSigning,
      creditsOnVerification: signupCreditsOn === 'verification' ? signupCredits : units(0),
    }),
    async signup(request, actor = SERVICE) {
      const row = await newRow(request, { email_verified: false })
      const { token, row: verification } = mintToken(runtime, row.id, 'verify_email')
      await insert(row, { actor, verification })
      mails.verifyWith(row, token)
      return withAccount(row)
    },
    async create(request, actor = SERVICE) {
      const row = await newRow(request, { email_verified: true })
      await insert(row, { actor, verification: null })
      return withAccount(row)
    },
    async login({ email, password, workspace_id, otp }, actor = SERVICE) {
      const login = await loginByEmail(storage.read, email)
      const refused = (reason: 'password' | 'second_factor') =>
        noteRefusedLogin({ storage, noteRefused }, login, { email, reason, actor })
      if (!(await passwords.verify(login?.password_hash ?? null, password)) || !login) {
        await refused('password')
        throw new SvcError('unauthorized', 'Invalid email or password')
      }
      await refreshHash(login, password)
      const ids = await workspaceIdsOf(storage.read, login)
      const chosen = ids.find((id) => workspace_id === undefined || id === workspace_id)
      if (chosen === undefined) throw new SvcError('not_found', 'Workspace not found')
      const known = await factors.open(login.id)
      const session = await storage
        .write(async (stores) => {
          const has_second_factor = await factors.use(stores, login.id, { known, code: otp })
          const begun = { login, workspace_id: chosen, has_second_factor, actor }
          return beginSession(runtime, stores, begun)
        })
        .catch(async (error: unknown) => {
          // Without a code the client asks for it next.
          if (otp !== undefined && error instanceof SvcError) await refused('second_factor')
          throw error
        })
      return { workspace: await account(chosen), ...session }
    },
    async knownNetwork(email, address) {
      const network = loginNetworkOf(address)
      if (network === null) return null
      const { byEmail } = storage.read.loginNetworks
      return (await byEmail(email, network, knownSince(runtime))) ? network : null
    },
    async logout({ user_id, ...session }, actor = SERVICE) {
      const ended = { workspace_id: session.workspace_id, action: 'session.ended' } as const
      await storage.write(async ({ sessions, audit }) => {
        // Two simultaneous logouts make one audit entry.
        if (await sessions.end({ ...session, workspace_id: user_id })) {
          await audit.record(auditRow(runtime, actor, ended))
        }
      })
    },
    account,
    async update(workspaceId, request, actor = SERVICE) {
      const isChange = Object.keys(request).length > 0
      if (isChange) {
        const { low_balance, ...change } = request
        const at = runtime.now()
        checkCountries(change.verification_countries)
        checkQuietHours(change)
        await storage.write(async ({ workspaces, lowBalances, audit }) => {
          await workspaces.change(workspaceId, change, at)
          if (low_balance !== undefined) await lowBalances.set(workspaceId, low_balance, at)
          const updated = {
            workspace_id: workspaceId,
            action: 'account.updated',
            details: { changed: Object.keys(request) },
          } as const
          await audit.record(auditRow(runtime, actor, updated))
        })
        onChanged?.(workspaceId)
      }
      return account(workspaceId)
    },
    async list(page) {
      return Promise.all((await storage.read.workspaces.list(page)).map(withAccount))
    },
    async search(text, page) {
      return Promise.all((await storage.read.workspaces.search(text, page)).map(withAccount))
    },
    async names(ids) {
      const rows = await storage.read.workspaces.namesOf(ids)
      return new Map(rows.map(({ id, name }) => [id, name]))
    },
    async byEmail(email) {
      const row = await storage.read.workspaces.byEmail(email)
      return row && withAccount(row)
    },
  }
}

function newWorkspace(
  runtime: Runtime,
  { email, company_name, phone, country }: Body<typeof endpoints.signup>,
  { password_hash, email_verified }: Pick<WorkspaceRow, 'password_hash' | 'email_verified'>,
): WorkspaceRow {
  const at = runtime.now()
  return {
    id: runtime.id(),
    name: company_name,
    email,
    email_key: emailKey(email),
    email_verified,
    password_hash,
    token_version: 1,
    phone: phone ?? null,
    country: country ?? null,
    sender_name: null,
    owner_name: null,
    verification_daily_credits: null,
    verification_countries: null,
    quiet_hours: null,
    time_zone: null,
    postal_address: null,
    sms_opt_out_text: null,
    webhook_mails: true,
    created_at: at,
    updated_at: at,
  }
}

/** @throws SvcError `validation_error` for a code that no country with numbers of its own has. */
function checkCountries(countries: readonly string[] | null | undefined): void {
  const unknown = countries?.find((code) => !COUNTRIES.has(code))
  if (unknown === undefined) return
  throw invalid('verification_countries', `"${unknown}" is not a country code`)
}

/** @throws SvcError `validation_error` for hours that leave too little of the week, and for an unknown zone. */
function checkQuietHours({ quiet_hours, time_zone }: Body<typeof endpoints.update_account>): void {
  for (const category of TEMPLATE_CATEGORIES) {
    const hours = (quiet_hours ?? []).filter((one) => one.category === category)
    if (freeMinutes(hours) < LIMITS.quiet_hours_free_minutes) {
      throw invalid(
        'quiet_hours',
        `The quiet hours for ${category} messages must leave ${LIMITS.quiet_hours_free_minutes / 60} hours of each week free`,
      )
    }
  }
  if (time_zone && !isTimeZone(time_zone)) {
    throw invalid('time_zone', `"${time_zone}" is not an IANA time zone, such as Europe/Berlin`)
  }
}

function workspaceOf(row: WorkspaceRow, account: Account): Workspace {
  const { password_hash: _, email_key: __, token_version: ___, owner_name: ____, ...record } = row
  return {
    ...record,
    credits_balance: (account.balance - account.held) as Units,
    credits_held: account.held,
    low_balance: account.low_balance,
  }
}
