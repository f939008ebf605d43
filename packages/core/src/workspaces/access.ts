import { type Actor, SERVICE } from '../audit/actor.ts'
import { auditRow } from '../audit/entry.ts'
import type { Body } from '../contract/endpoint.ts'
import { invalid, SvcError } from '../contract/errors.ts'
import type { workspaces as endpoints } from '../contract/workspaces.ts'
import type { Runtime } from '../runtime.ts'
import type { Storage } from '../storage/storage.ts'
import { loginNetworkOf } from './login-network.ts'
import type { OwnerMails } from './owner-mails.ts'
import type { Passwords } from './password.ts'
import { badToken, hashToken } from './token.ts'

/** How owners prove who they are, and stay the only ones who can: addresses and passwords. Contract section 2. */
export interface Access {
  /**
   * Uses the token of a mail up, and answers the id of the workspace whose address is verified by it.
   * @throws SvcError `validation_error` for any token but a good one.
   */
  verifyEmail(request: Body<typeof endpoints.verify_email>, actor?: Actor): Promise<string>
  /**
   * Sends another mail to verify an address, if a workspace has it and it is not verified: behind the answer.
   * @throws SvcError `rate_limit_exceeded` when too many mails are waiting.
   */
  resendVerification(request: Body<typeof endpoints.resend_verification>): void
  /**
   * Sends a mail to choose a new password, if a workspace has the address: behind the answer.
   * @throws SvcError `rate_limit_exceeded` when too many mails are waiting.
   */
  forgotPassword(request: Body<typeof endpoints.forgot_password>): void
  /**
   * Uses the token of a mail up for a new password, ends every session, and forgets the networks of earlier logins: of
   * all, the one that this comes from is known afterwards.
   * @throws SvcError `validation_error` for any token but a good one.
   */
  resetPassword(request: Body<typeof endpoints.reset_password>, actor?: Actor): Promise<void>
  /**
   * Changes the password, ends every session, and any reset that was asked for.
   * @throws SvcError `validation_error` when the current password is another one.
   */
  changePassword(
    workspaceId: string,
    request: Body<typeof endpoints.change_password>,
    actor?: Actor,
  ): Promise<void>
}

export function createAccess({
  storage,
  runtime,
  passwords,
  mails,
}: {
  storage: Storage
  runtime: Runtime
  passwords: Passwords
  mails: OwnerMails
}): Access {
  return {
    verifyEmail({ token }, actor = SERVICE) {
      const at = runtime.now()
      return storage.write(async ({ workspaces, accountTokens, audit }) => {
        const workspaceId = await accountTokens.take(hashToken(token), 'verify_email', at)
        if (!workspaceId) throw badToken()
        await workspaces.verifyEmail(workspaceId, at)
        const verified = { workspace_id: workspaceId, action: 'email.verified' } as const
        await audit.record(auditRow(runtime, actor, verified))
        return workspaceId
      })
    },
    resendVerification({ email }) {
      if (!mails.verify(email)) throw tooManyMails()
    },
    forgotPassword({ email }) {
      if (!mails.reset(email)) throw tooManyMails()
    },
    async resetPassword({ token, password }, actor = SERVICE) {
      const token_hash = hashToken(token)
      const at = runtime.now()
      // Looked at before it is used up, so that guesses cost no hash.
      if (!(await storage.read.accountTokens.isGood(token_hash, 'reset_password', at))) {
        throw badToken()
      }
      const to = await passwords.hash(password)
      const network = loginNetworkOf(actor.address)
      await storage.write(async ({ workspaces, accountTokens, loginNetworks, audit }) => {
        const workspaceId = await accountTokens.take(token_hash, 'reset_password', at)
        if (!workspaceId) throw badToken()
        await workspaces.changePassword(workspaceId, { to, at })
        // A thief of the old password has logged in from networks of his own; the mail was read where this one is from.
        await loginNetworks.clear(workspaceId)
        if (network !== null) {
          await loginNetworks.note({ workspace_id: workspaceId, network, last_login_at: at })
        }
        const reset = { workspace_id: workspaceId, action: 'password.reset' } as const
        await audit.record(auditRow(runtime, actor, reset))
      })
    },
    async changePassword(workspace_id, { current_password, new_password }, actor = SERVICE) {
      const owner = await storage.read.workspaces.byId(workspace_id)
      const from = owner?.password_hash ?? null
      if (!(await passwords.verify(from, current_password)) || from === null) throw wrongPassword()
      const to = await passwords.hash(new_password)
      await storage.write(async ({ workspaces, accountTokens, audit }) => {
        const change = { from, to, at: runtime.now() }
        if (!(await workspaces.changePassword(workspace_id, change))) throw wrongPassword()
        await accountTokens.end({ workspace_id, purpose: 'reset_password' })
        const changed = { workspace_id, action: 'password.changed' } as const
        await audit.record(auditRow(runtime, actor, changed))
      })
    },
  }
}

function wrongPassword(): SvcError {
  return invalid('current_password', 'Current password is wrong')
}

function tooManyMails(): SvcError {
  return new SvcError('rate_limit_exceeded', 'Too many requests. Please try again later.', {
    retry_after_s: 5,
  })
}
