import * as z from 'zod'
import { endpoint } from '../endpoints/endpoint.ts'
import { ASSIGNED_ROLES, ROLES } from '../endpoints/roles.ts'
import { email, text, timestamp, uuid } from '../fields/fields.ts'
import { LIMITS } from '../limits.ts'
import { newPassword, otp, workspaceSummary } from './workspaces.ts'

/** The id of a credential has at most 1,023 bytes (WebAuthn level 3, 5.1.3). */
const id = base64url(1_364)
const clientDataJSON = base64url(8_192)

/** What `navigator.credentials.create` returned, in the JSON of WebAuthn level 3 (5.1.8). Other fields are ignored. */
export const passkeyRegistration = z.object({
  id,
  response: z.object({ clientDataJSON, attestationObject: base64url(16_384) }),
})

/** What `navigator.credentials.create` returned. */
export type PasskeyRegistration = z.output<typeof passkeyRegistration>

/** What `navigator.credentials.get` returned, in the JSON of WebAuthn level 3 (5.1.8). Other fields are ignored. */
export const passkeyAssertion = z.object({
  id,
  response: z.object({
    clientDataJSON,
    authenticatorData: base64url(8_192),
    signature: base64url(8_192),
  }),
})

/** What `navigator.credentials.get` returned. */
export type PasskeyAssertion = z.output<typeof passkeyAssertion>

function base64url(length: number) {
  return z
    .string()
    .max(length)
    .regex(/^[\w-]+$/)
}

/** A person who works in a workspace. */
export const member = z
  .object({
    id: uuid.meta({ description: 'The id of the login; for the owner, the id of the workspace.' }),
    email: z.string(),
    name: z.string().nullable(),
    role: z.enum(ROLES),
    created_at: timestamp,
  })
  .meta({ id: 'Member' })

/** A person who works in a workspace. */
export type Member = z.output<typeof member>

const role = z.enum(ASSIGNED_ROLES).meta({
  description:
    'admin: everything except the change of the owner; developer: messages, contacts, webhooks, keys and domains; billing: credits and the account; viewer: reads.',
})

/** An open invitation. */
export const invitation = z
  .object({ id: uuid, email: z.string(), role, expires_at: timestamp, created_at: timestamp })
  .meta({ id: 'Invitation' })

/** An open invitation. */
export type Invitation = z.output<typeof invitation>

/** A session of a login. */
export const loginSession = z
  .object({
    id: uuid,
    is_current: z.boolean().meta({ description: 'Whether it is the session of the request.' }),
    workspace_id: uuid.meta({ description: 'The workspace in which the session began.' }),
    network: z.string().nullable().meta({
      description: 'The network of the login: an IPv4 /24 or an IPv6 /48.',
      example: '192.0.2.0/24',
    }),
    agent: z
      .string()
      .nullable()
      .meta({
        description: `The first ${LIMITS.session_agent_length} characters of the User-Agent header of the login.`,
      }),
    created_at: timestamp,
    last_seen_at: timestamp.meta({ description: 'Exact to about 5 minutes.' }),
    expires_at: timestamp,
  })
  .meta({ id: 'Session' })

/** A session of a login. */
export type LoginSession = z.output<typeof loginSession>

/** A subject of an OIDC provider that signs in as a login. */
export const signInLink = z
  .object({
    id: z.string(),
    issuer: z.string().meta({ example: 'https://id.example.com' }),
    subject: z.string().meta({ description: 'The person at the provider.' }),
    created_at: timestamp,
  })
  .meta({ id: 'SignInLink' })

/** A subject of an OIDC provider that signs in as a login. */
export type SignInLink = z.output<typeof signInLink>

const password = text(LIMITS.password_length_max).meta({ format: 'password' })
const message = z.string()
const access = { auth: 'jwt', rate: 'general', status: 200 } as const
const oneMember = { params: z.object({ id: uuid }), not_found: 'Member not found' } as const
const oneInvitation = {
  params: z.object({ id: uuid }),
  not_found: 'Invitation not found',
} as const

/** The people of a workspace. */
export const members = {
  list: endpoint({
    ...access,
    needs: 'belong',
    method: 'GET',
    path: '/api/v1/members',
    data: z.object({ members: z.array(member) }),
    summary: 'List the members of the workspace, the owner first',
    description: `A workspace has at most ${LIMITS.members} members besides its owner.`,
  }),
  update: endpoint({
    ...access,
    ...oneMember,
    needs: 'administer',
    method: 'PUT',
    path: '/api/v1/members/:id',
    body: z.object({ role }),
    data: z.object({ member }),
    failures: ['forbidden'],
    summary: 'Change the role of a member',
    description:
      'The new role holds from the next request on, also in sessions that exist. The role of the owner does not change here.',
  }),
  remove: endpoint({
    ...access,
    ...oneMember,
    needs: 'belong',
    method: 'DELETE',
    path: '/api/v1/members/:id',
    data: z.object({ message }),
    failures: ['forbidden'],
    summary: 'Remove a member, or leave the workspace',
    description:
      'Every member may leave; only owner and admins remove others. The sessions of the member no longer reach the workspace. API keys belong to the workspace and stay valid. The owner cannot be removed.',
  }),
  end_sessions: endpoint({
    auth: 'jwt',
    needs: 'administer',
    rate: 'auth',
    status: 200,
    ...oneMember,
    method: 'POST',
    path: '/api/v1/members/:id/end-sessions',
    body: z.object({
      current_password: password.optional().meta({
        description: 'The password of the caller. Not needed for a login that has none.',
      }),
    }),
    data: z.object({ message }),
    failures: ['forbidden'],
    summary: 'End all sessions of a member',
    description: 'For owner and admins. Only the owner ends the sessions of the owner.',
  }),
  make_owner: endpoint({
    auth: 'jwt',
    needs: 'own',
    rate: 'auth',
    status: 200,
    ...oneMember,
    method: 'POST',
    path: '/api/v1/members/:id/owner',
    body: z.object({ current_password: password }),
    data: z.object({ message }),
    failures: ['forbidden'],
    summary: 'Make a member the owner of the workspace',
    description:
      'The owner becomes an admin. All sessions of both end. The new owner must own no other workspace, and must have a password.',
  }),
} as const

/** Invitations to a workspace. */
export const invitations = {
  list: endpoint({
    ...access,
    needs: 'administer',
    method: 'GET',
    path: '/api/v1/invitations',
    data: z.object({ invitations: z.array(invitation) }),
    summary: 'List the open invitations',
  }),
  create: endpoint({
    ...access,
    needs: 'administer',
    method: 'POST',
    path: '/api/v1/invitations',
    status: 201,
    body: z.object({ email, role }),
    data: z.object({ invitation }),
    failures: ['forbidden'],
    summary: 'Invite a person by e-mail',
    description: `Sends a link that is valid once, for ${LIMITS.invitation_lifetime_s / 86_400} days. Another invitation to the same address replaces the earlier one. At most ${LIMITS.invitations} open invitations, and ${LIMITS.invitations_per_day} in a day. The address of the workspace must be verified.`,
  }),
  delete: endpoint({
    ...access,
    ...oneInvitation,
    needs: 'administer',
    method: 'DELETE',
    path: '/api/v1/invitations/:id',
    data: z.object({ message }),
    summary: 'Withdraw an invitation',
  }),
  accept: endpoint({
    auth: 'none',
    rate: 'auth',
    status: 200,
    method: 'POST',
    path: '/api/v1/invitations/accept',
    body: z.object({
      token: text(LIMITS.token_length).meta({ description: 'The token of the e-mail.' }),
      password: newPassword.meta({
        description:
          'The password of the login with this address. If there is no such login, the password of a new one.',
      }),
      name: text(LIMITS.user_name_length).optional(),
      otp,
    }),
    data: z.object({
      workspace: workspaceSummary,
      token: z.string().meta({ description: 'A JWT for the workspace, valid for 30 days.' }),
    }),
    failures: ['unauthorized'],
    summary: 'Accept an invitation',
  }),
} as const

/** The sessions of a login. */
export const sessions = {
  list: endpoint({
    ...access,
    needs: 'belong',
    method: 'GET',
    path: '/api/v1/sessions',
    data: z.object({ sessions: z.array(loginSession) }),
    summary: 'List the sessions of the login behind the token, newest first',
    description: `The list has the newest ${LIMITS.sessions} sessions. Sessions that began before lists existed are not in it.`,
  }),
  end: endpoint({
    ...access,
    needs: 'belong',
    method: 'DELETE',
    path: '/api/v1/sessions/:id',
    params: z.object({ id: uuid }),
    not_found: 'Session not found',
    data: z.object({ message }),
    summary: 'End one session of the login',
  }),
  end_all: endpoint({
    ...access,
    needs: 'belong',
    method: 'DELETE',
    path: '/api/v1/sessions',
    data: z.object({ message }),
    summary: 'End all sessions of the login, also that of the request',
  }),
  end_with_password: endpoint({
    auth: 'jwt',
    needs: 'belong',
    rate: 'auth',
    status: 200,
    method: 'POST',
    path: '/api/v1/sessions/end',
    body: z.object({
      current_password: password.optional().meta({
        description: 'The password of the login. Not needed for a login that has none.',
      }),
      id: uuid.optional().meta({ description: 'The session. Default: all sessions of the login.' }),
    }),
    data: z.object({ message }),
    failures: ['not_found'],
    summary: 'End one session or all sessions of the login, with its password',
    description:
      'The console uses it for other sessions than its own, so that a person at an open browser cannot end them.',
  }),
  links: endpoint({
    ...access,
    needs: 'belong',
    method: 'GET',
    path: '/api/v1/sign-in-links',
    data: z.object({ links: z.array(signInLink) }),
    summary: 'List the OIDC subjects that sign in as the login, oldest first',
  }),
  unlink: endpoint({
    ...access,
    needs: 'belong',
    method: 'DELETE',
    path: '/api/v1/sign-in-links/:id',
    params: z.object({ id: z.string().regex(/^[0-9a-f]{64}$/) }),
    not_found: 'Link not found',
    data: z.object({ message }),
    summary: 'End the link of an OIDC subject to the login',
    description: 'The subject does not sign in as this login any more. Sessions continue.',
  }),
} as const
