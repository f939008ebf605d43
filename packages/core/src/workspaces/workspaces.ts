import type { Body } from '../contract/endpoint.ts'
import { SvcError } from '../contract/errors.ts'
import type { Units } from '../contract/units.ts'
import type {
  workspaces as endpoints,
  Workspace,
  WorkspaceSummary,
} from '../contract/workspaces.ts'
import type { Account } from '../credits/decide.ts'
import { grantOperation } from '../credits/grant.ts'
import type { Runtime } from '../runtime.ts'
import type { Storage, WorkspaceRow } from '../storage/storage.ts'
import type { Passwords } from './password.ts'

export interface Workspaces {
  /** @throws SvcError `validation_error` when the e-mail address is in use. */
  signup(request: Body<typeof endpoints.signup>): Promise<WorkspaceSummary>
  /** @throws SvcError `unauthorized`, in the same time for an unknown address and a wrong password. */
  login(
    request: Body<typeof endpoints.login>,
  ): Promise<{ workspace: WorkspaceSummary; token_version: number }>
  /** The workspace a session belongs to, or null when its tokens were ended. */
  bySession(workspaceId: string, tokenVersion: number): Promise<{ workspace_id: string } | null>
  account(workspaceId: string): Promise<Workspace>
  /** Every workspace, oldest first: for the operator. */
  list(page: { limit: number; offset: number }): Promise<Workspace[]>
  byEmail(email: string): Promise<Workspace | null>
}

export function createWorkspaces({
  storage,
  runtime,
  passwords,
  signupCredits,
}: {
  storage: Storage
  runtime: Runtime
  passwords: Passwords
  signupCredits: Units
}): Workspaces {
  async function withAccount(row: WorkspaceRow): Promise<Workspace> {
    const account = await storage.read.credits.account(row.id)
    if (!account) throw new Error(`workspace ${row.id} has no credit account`)
    return workspaceOf(row, account)
  }

  return {
    async signup({ email, password, company_name, phone, country }) {
      const password_hash = await passwords.hash(password)
      const at = runtime.now()
      const row: WorkspaceRow = {
        id: runtime.id(),
        name: company_name,
        email,
        email_key: email.toLowerCase(),
        email_verified: false,
        password_hash,
        token_version: 1,
        phone: phone ?? null,
        country: country ?? null,
        sender_name: null,
        created_at: at,
        updated_at: at,
      }
      await storage.write(async ({ workspaces, credits }) => {
        if (!(await workspaces.insert(row))) {
          throw new SvcError('validation_error', 'Email already exists')
        }
        await credits.open(row.id, at)
        if (signupCredits === 0) return
        const gift = grantOperation(runtime, {
          amount: signupCredits,
          reference: { type: 'signup', id: row.id, n: 0 },
          campaign: 'signup',
          actor: null,
          description: 'Credits on signup',
        })
        await credits.post(row.id, gift)
      })
      return withAccount(row)
    },
    async login({ email, password }) {
      const row = await storage.read.workspaces.byEmail(email)
      if (!(await passwords.verify(row?.password_hash ?? null, password)) || !row) {
        throw new SvcError('unauthorized', 'Invalid email or password')
      }
      return { workspace: await withAccount(row), token_version: row.token_version }
    },
    async bySession(workspaceId, tokenVersion) {
      const row = await storage.read.workspaces.byId(workspaceId)
      return row?.token_version === tokenVersion ? { workspace_id: row.id } : null
    },
    async account(workspaceId) {
      const row = await storage.read.workspaces.byId(workspaceId)
      if (!row) throw new SvcError('not_found', 'Workspace not found')
      return withAccount(row)
    },
    async list(page) {
      return Promise.all((await storage.read.workspaces.list(page)).map(withAccount))
    },
    async byEmail(email) {
      const row = await storage.read.workspaces.byEmail(email)
      return row && withAccount(row)
    },
  }
}

function workspaceOf(row: WorkspaceRow, account: Account): Workspace {
  const { password_hash: _, email_key: __, token_version: ___, ...record } = row
  return {
    ...record,
    credits_balance: (account.balance - account.held) as Units,
    credits_held: account.held,
  }
}
