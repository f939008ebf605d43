import type { Core } from '@svc/core'
import type { api } from '@svc/core/contract'
import type { Authenticator } from '../auth.ts'
import type { Handlers } from '../mount.ts'

export function workspaceRoutes(
  core: Core,
  authenticator: Authenticator,
): Handlers<typeof api.workspaces> {
  return {
    async signup({ body }) {
      const workspace = await core.workspaces.signup(body)
      return { workspace, message: 'Workspace created. You can log in now.' }
    },
    async login({ body, countFor }) {
      await countFor(body.email)
      const { workspace, token_version } = await core.workspaces.login(body)
      return { workspace, token: authenticator.issueToken(workspace.id, token_version) }
    },
    account: ({ workspace_id }) => core.workspaces.account(workspace_id),
  }
}
