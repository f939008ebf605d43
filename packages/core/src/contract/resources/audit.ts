import * as z from 'zod'
import { endpoint } from '../endpoints/endpoint.ts'
import { listQuery, nextAfter, pagination } from '../endpoints/paging.ts'
import { queryDateTime, timestamp, uuid } from '../fields/fields.ts'

/** The actions of the audit log, each with its meaning. */
export const AUDIT_ACTIONS = {
  'workspace.created': 'A workspace signed up, or an operator created it.',
  'account.updated': 'The details of the workspace changed; `changed` names the fields.',
  'session.created': 'A login with the right password.',
  'session.refused':
    'A sign-in with a wrong password or code; `reason` says which. The target is the login, or a keyed hash of an address without one: then the entry is only in the log of operators.',
  'session.ended': 'A logout, or the end of one session of the list.',
  'sessions.ended':
    'A login ended all its sessions, or an administrator those of a member; the target names the member.',
  'email.verified': 'The e-mail address was verified.',
  'sign_in.linked': 'A subject of an OIDC provider signs in as this login from now on.',
  'sign_in.unlinked': 'A subject of an OIDC provider does not sign in as this login any more.',
  'second_factor.added':
    'A login added an authenticator app: its sign-ins need a code from now on. Its sessions ended.',
  'second_factor.removed': 'A login removed its authenticator app and its recovery codes.',
  'passkey.added': 'A login added a passkey. Its other sessions ended.',
  'passkey.removed': 'A login removed a passkey.',
  'second_factor.reset':
    'An operator removed the second factor and the passkeys of a login that lost them.',
  'password.reset': 'A new password was chosen with the token of an e-mail.',
  'password.changed': 'The password was changed by a session that knew the old one.',
  'member.added':
    'A person accepted an invitation, or signed in with a role of the OIDC provider; `role` names it.',
  'member.changed': 'The role of a member changed; `from` and `role` name both.',
  'member.renamed': 'A member, or the owner, got another name. The names are not recorded.',
  'member.removed': 'A member was removed, or left.',
  'owner.changed': 'A member became the owner, and the owner became an administrator.',
  'invitation.created': 'A person was invited; `role` names the role.',
  'invitation.withdrawn': 'An invitation was withdrawn.',
  'api_key.created': 'An API key was created.',
  'api_key.deactivated': 'An API key was deactivated.',
  'credentials.revoked':
    'API keys were revoked and webhooks disabled; `api_keys` and `webhooks` are their numbers. With `since`: those created after this time, with `invitations` and `members`.',
  'webhook.created': 'A webhook was created.',
  'webhook.updated': 'A webhook changed; `changed` names the fields.',
  'webhook.deleted': 'A webhook was deleted.',
  'webhook.secret_rotated': 'A webhook got a new secret.',
  'webhook.enabled': 'A disabled webhook was enabled.',
  'webhook.recovered': 'Deliveries of a period were queued again.',
  'domain.added': 'A sending domain was added.',
  'domain.verified': 'The DKIM record of a sending domain was found in DNS.',
  'domain.failing': 'The DKIM record of a verified domain is missing or wrong.',
  'domain.failed':
    'The DKIM record was missing for so long that addresses of the domain are refused.',
  'domain.rotation_started': 'A verified domain got a second key, which waits for its record.',
  'domain.rotated': 'The second key of a domain was verified and signs now.',
  'domain.removed': 'A sending domain and its keys were removed.',
  'template.created': 'A template was created; `name` names it.',
  'template.updated': 'The draft of a template changed; `changed` names the fields.',
  'template.published': 'A version of a template was published; `version` is its number.',
  'template.deleted': 'A template was deleted.',
  'broadcast.created': 'A broadcast was created; `template` names its template.',
  'broadcast.updated': 'A broadcast that had not begun was changed.',
  'broadcast.paused': 'A broadcast was paused.',
  'broadcast.resumed': 'A paused broadcast continues, or a draft begins.',
  'broadcast.canceled': 'A broadcast was canceled.',
  'verification.allowed':
    'An operator allowed one-time codes to a country, whatever is approved; `hours` is the time.',
  'credits.granted': 'An operator granted credits.',
  'credits.adjusted': 'An operator corrected the balance.',
  'terms.updated': 'An operator changed the spending limits; `changed` names the fields.',
  'workspace.frozen': 'The workspace may not spend credits; `reason` says why.',
  'workspace.unfrozen': 'The workspace may spend again.',
  'purchase.checked': 'An operator compared a purchase with its payment.',
  'purchase.refunded': 'An operator requested the refund of a purchase.',
  'recipient.erased': 'The erasure of one recipient began. The address is not recorded.',
  'message.erased': 'One message was erased.',
  'message.redacted': 'The content of one message was removed.',
  'dispatch.paused': 'An operator paused all sending and delivering.',
  'dispatch.resumed': 'The pause of all sending and delivering ended.',
  'provider.paused': 'An operator paused a provider, or one of its senders.',
  'provider.resumed': 'An operator ended the pause of a provider, or of one of its senders.',
  'secrets.encrypted': 'The encryption of all secrets with the first key began; `key_id` names it.',
  'secrets.decrypted': 'The storing of all secrets as plain text began.',
  'secrets.discarded': 'The removal of all secrets whose key is lost began.',
  'operator.added': 'A person got access to the console of operators.',
  'operator.removed': 'The access of an operator and the sessions ended.',
  'operator.reset': 'An operator got a new password, and the sessions ended.',
  'operator.password_changed': 'An operator chose another password, and the sessions ended.',
  'operator.second_factor_added':
    'An operator confirmed an authenticator app: sign-ins need its codes.',
  'operator.second_factor_removed': 'An operator removed the authenticator app.',
  'operator.passkey_added': 'An operator added a passkey.',
  'operator.passkey_removed': 'An operator removed a passkey.',
  'operator.signed_in': 'An operator signed in to the console.',
  'operator.refused':
    'A sign-in of an operator with a wrong password or code; `reason` says which. The target is the operator, or a keyed hash of a name without one.',
  'operator.signed_out': 'An operator signed out.',
  'ledger.verified': 'An operator began a verification of the ledger in the console.',
  'backup.made': 'An operator began a backup in the console.',
  'settings.changed': 'The service started with other settings than before; `changed` names them.',
} as const satisfies Record<string, string>

/** An action of the audit log. */
export type AuditAction = keyof typeof AUDIT_ACTIONS

const action = z.enum(Object.keys(AUDIT_ACTIONS) as [AuditAction, ...AuditAction[]])

/**
 * The kinds of actors. `session`: a login, from its sign-in on; `api_key`: an API key; `client`: a request without a credential, such as a signup
 * or a request with a token from an e-mail; `operator`: the command line on the server, or an operator in the console; `service`: svc, or the program that
 * embeds `@svc/core`.
 */
export const ACTOR_KINDS = ['session', 'api_key', 'client', 'operator', 'service'] as const

/** The kind of actor that made a change. */
export type ActorKind = (typeof ACTOR_KINDS)[number]

/** An entry of the audit log. It never contains message contents, recipients, secrets or passwords. */
export const auditEntry = z
  .object({
    id: uuid,
    action,
    actor: z.object({
      kind: z.enum(ACTOR_KINDS),
      id: z.string().nullable().meta({
        description:
          'The id of the API key or of the member, or the name of the operator; otherwise null. It is null for the owner of the workspace too.',
      }),
      name: z.string().nullable().meta({
        description:
          'The present e-mail address of the login, or name of the API key; null for other actors, and for a login that was removed.',
      }),
    }),
    address: z.string().nullable().meta({
      description: 'The IP address of the client; null for the command line.',
      example: '192.0.2.7',
    }),
    target: z.object({ type: z.string(), id: z.string() }).nullable().meta({
      description: 'The changed object; null for the workspace itself.',
    }),
    details: z.record(z.string(), z.unknown()),
    request_id: z.string().nullable(),
    created_at: timestamp,
  })
  .meta({ id: 'AuditEntry' })

/** An entry of the audit log. */
export type AuditEntry = z.output<typeof auditEntry>

/** The audit log of a workspace. */
export const audit = {
  list: endpoint({
    method: 'GET',
    path: '/api/v1/audit',
    auth: 'jwt',
    needs: 'administer',
    rate: 'general',
    status: 200,
    query: listQuery({
      action: action.optional(),
      startDate: queryDateTime.optional(),
      endDate: queryDateTime.optional(),
    }),
    data: z.object({ audit_entries: z.array(auditEntry), pagination, next_after: nextAfter }),
    summary: 'List the audit log, newest first',
    description:
      'Logins and changes of passwords, API keys, webhooks, granted credits, limits and erasures. Each entry is written in the transaction of its change and kept for a year by default.',
  }),
} as const
