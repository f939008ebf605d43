import type { api } from '@svc/core/contract'
import type { DecodedCore } from '@svc/core/operate'
import type { Authenticator } from '../admission/authenticator.ts'
import { type Handlers, sessionOf } from './mount.ts'
import { revokedText } from './revoked-text.ts'

export function workspaceRoutes(
  core: DecodedCore,
  authenticator: Authenticator,
): Handlers<typeof api.workspaces> {
  const { workspaces } = core
  return {
    async signup({ body, countSignup, actor }) {
      await countSignup()
      const workspace = await workspaces.signup(body, actor)
      return {
        workspace,
        message: 'Verification e-mail sent. You can log in before the address is verified.',
      }
    },
    async login({ body, countLogin, tryCode, actor, agent }) {
      // A login to an e-mail address without an account counts in the same way.
      const known = await workspaces.knownNetwork(body.email, actor.address)
      const login = { kind: 'member', name: body.email } as const
      await countLogin(login, known)
      const { workspace, ...session } = await tryCode(login, body.otp, () =>
        workspaces.login(body, actor),
      )
      const token = await authenticator.issueToken(session, { actor, agent })
      return { workspace, token }
    },
    async logout({ identity, actor }) {
      const { workspace_id, user_id, session_hash, ends_at } = sessionOf(identity)
      await workspaces.logout({ workspace_id, user_id, session_hash, ends_at }, actor)
      return { message: 'Logged out. This token is no longer valid.' }
    },
    async verify_email({ body, actor }) {
      const { workspace_id, revoked } = await workspaces.verifyEmail(body, actor)
      const workspace = await workspaces.account(workspace_id)
      const text = revokedText(revoked)
      return { workspace, message: `E-mail address verified${text && `.${text}`}` }
    },
    async resend_verification({ body, countFor }) {
      await countFor(body.email)
      workspaces.resendVerification(body)
      return {
        message:
          'If the address belongs to a workspace and is not verified yet, an e-mail is sent.',
      }
    },
    async forgot_password({ body, countFor }) {
      await countFor(body.email)
      workspaces.forgotPassword(body)
      return {
        message: 'If the address belongs to a workspace, an e-mail to reset its password is sent.',
      }
    },
    async reset_password({ body, actor }) {
      const ended = revokedText(await workspaces.resetPassword(body, actor))
      return {
        message: `Password changed. Every session has ended: log in with the new password.${ended}`,
      }
    },
    async change_password({ identity, body, countFor, actor }) {
      const { user_id } = sessionOf(identity)
      // Counted for each login, so that a stolen token cannot be used to guess the password from many addresses.
      await countFor(user_id)
      await workspaces.changePassword(user_id, body, actor)
      return {
        message:
          'Password changed. Every session has ended, this one too: log in with the new password.',
      }
    },
    account: ({ workspace_id }) => workspaces.account(workspace_id),
    async balance({ workspace_id }) {
      const { credits_balance, credits_held } = await workspaces.account(workspace_id)
      return { credits_balance, credits_held }
    },
    update_account: ({ workspace_id, body, actor }) => workspaces.update(workspace_id, body, actor),
  }
}
