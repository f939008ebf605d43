import { type api, SvcError } from '@svc/core/contract'
import type { DecodedCore } from '@svc/core/operate'
import type { FastifyReply } from 'fastify'
import type { Authenticator } from '../admission/authenticator.ts'
import { type Handlers, sessionOf } from './mount.ts'

export function memberRoutes({ members }: DecodedCore): Handlers<typeof api.members> {
  return {
    list: async ({ workspace_id }) => ({ members: await members.list(workspace_id) }),
    async update({ workspace_id, params, body, actor }) {
      return { member: await members.update(workspace_id, params.id, body, actor) }
    },
    async remove({ workspace_id, params, actor }) {
      await members.remove(workspace_id, params.id, actor)
      return { message: 'Member removed' }
    },
    async end_sessions({ workspace_id, params, body, identity, countFor, actor }) {
      const { user_id } = sessionOf(identity)
      await countFor(user_id)
      await members.checkPassword(user_id, body.current_password)
      await members.endSessionsOf(workspace_id, params.id, actor)
      return { message: 'All sessions of the member have ended' }
    },
    async make_owner({ workspace_id, params, body, countFor, actor }) {
      // Counted for each workspace, so that a stolen token cannot be used to guess the password from many addresses.
      await countFor(workspace_id)
      await members.makeOwner(workspace_id, params.id, body, actor)
      return {
        message: 'The member is the owner now. All sessions of both have ended: log in again.',
      }
    },
  }
}

export function invitationRoutes(
  { members, workspaces }: DecodedCore,
  authenticator: Authenticator,
): Handlers<typeof api.invitations> {
  return {
    list: async ({ workspace_id }) => ({ invitations: await members.invitations(workspace_id) }),
    async create({ workspace_id, body, actor }) {
      return { invitation: await members.invite(workspace_id, body, actor) }
    },
    async delete({ workspace_id, params, actor }) {
      await members.withdraw(workspace_id, params.id, actor)
      return { message: 'Invitation withdrawn' }
    },
    async accept({ body, countLogin, tryCode, actor, agent }) {
      // Counted like a login, because the password of the login with the address is checked.
      const invitation = await members.invitationOf(body.token)
      const login = { kind: 'member', name: invitation?.email ?? '' } as const
      if (invitation) {
        await countLogin(login, await workspaces.knownNetwork(login.name, actor.address))
      }
      const session = await tryCode(login, body.otp, () => members.accept(body, actor))
      const token = await authenticator.issueToken(session, { actor, agent })
      return { workspace: await workspaces.account(session.workspace_id), token }
    },
  }
}

export function sessionRoutes({ members }: DecodedCore): Handlers<typeof api.sessions> {
  return {
    list: async ({ identity }) => ({ sessions: await members.sessions(nameOf(identity)) }),
    async end({ identity, workspace_id, params, actor, reply }) {
      const { user_id } = sessionOf(identity)
      assertNoConsole(reply)
      await members.endSession({ user_id, workspace_id }, params.id, actor)
      return { message: 'Session ended' }
    },
    async end_with_password({ identity, workspace_id, body, countFor, actor }) {
      const { user_id } = sessionOf(identity)
      await countFor(user_id)
      await members.checkPassword(user_id, body.current_password)
      if (body.id !== undefined) {
        await members.endSession({ user_id, workspace_id }, body.id, actor)
        return { message: 'Session ended' }
      }
      await members.endSessions({ user_id, workspace_id }, actor)
      return { message: 'All sessions have ended, this one too: log in again.' }
    },
    async end_all({ identity, workspace_id, actor, reply }) {
      const { user_id } = sessionOf(identity)
      assertNoConsole(reply)
      await members.endSessions({ user_id, workspace_id }, actor)
      return { message: 'All sessions have ended, this one too: log in again.' }
    },
    links: async ({ identity }) => ({ links: await members.links(sessionOf(identity).user_id) }),
    async unlink({ identity, params, actor }) {
      await members.unlink(sessionOf(identity).user_id, params.id, actor)
      return { message: 'The link has ended' }
    },
  }
}

/** In the console, a person at an open browser must not end the sessions of its owner (ASVS 5.0, 7.5.2). */
function assertNoConsole({ request }: FastifyReply): void {
  if (request.routeOptions.config.console === undefined) return
  throw new SvcError('forbidden', 'The console needs your password: POST /sessions/end')
}

function nameOf(identity: Parameters<typeof sessionOf>[0]) {
  const { user_id, session_hash } = sessionOf(identity)
  return { user_id, session_hash }
}
