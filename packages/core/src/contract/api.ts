import { apiKeys } from './resources/api-keys.ts'
import { audit } from './resources/audit.ts'
import { billing } from './resources/billing.ts'
import { broadcasts } from './resources/broadcasts.ts'
import { bulks } from './resources/bulk.ts'
import { contacts } from './resources/contacts.ts'
import { domains } from './resources/domains.ts'
import { events } from './resources/events.ts'
import { health } from './resources/health.ts'
import { invitations, members, sessions } from './resources/members.ts'
import { type ApiOptions, messagesFor } from './resources/messages.ts'
import { received } from './resources/received.ts'
import { suppressions } from './resources/suppressions.ts'
import { templates } from './resources/templates.ts'
import { verifications } from './resources/verifications.ts'
import { webhooks } from './resources/webhooks.ts'
import { workspaces } from './resources/workspaces.ts'

export * from './resources/api-keys.ts'
export * from './resources/audit.ts'
export * from './resources/billing.ts'
export * from './resources/broadcasts.ts'
export * from './resources/bulk.ts'
export * from './resources/bulk-request.ts'
export * from './resources/contacts.ts'
export * from './resources/content.ts'
export { readCreditPackages } from './resources/credit-packages.ts'
export * from './resources/domains.ts'
export * from './resources/estimate.ts'
export * from './resources/events.ts'
export * from './resources/health.ts'
export * from './resources/members.ts'
export * from './resources/messages.ts'
export * from './resources/people.ts'
export * from './resources/received.ts'
export * from './resources/send-request.ts'
export * from './resources/suppressions.ts'
export * from './resources/templates.ts'
export * from './resources/timeline.ts'
export * from './resources/verifications.ts'
export * from './resources/webhook-deliveries.ts'
export * from './resources/webhooks.ts'
export * from './resources/workspaces.ts'

/** The API as a table: groups of endpoints. `voice`: whether a voice provider is configured. */
export const apiFor = (options: ApiOptions) =>
  ({
    workspaces,
    members,
    invitations,
    sessions,
    api_keys: apiKeys,
    messages: messagesFor(options),
    bulks,
    verifications,
    received,
    templates,
    broadcasts,
    contacts,
    suppressions,
    webhooks,
    events,
    domains,
    billing,
    audit,
    health,
  }) as const

/** The API of a service without a voice provider. */
export const api = apiFor({ voice: false })

/** What each group of endpoints is for: the tags of the OpenAPI document. */
export const GROUPS: Readonly<Record<keyof typeof api, string>> = {
  workspaces: 'Signup, sessions, passwords and the account of the workspace.',
  members: 'People who work in the workspace, and their roles.',
  invitations: 'Invitations to work in the workspace.',
  sessions: 'The sessions of the login behind the token, and its links to OIDC providers.',
  api_keys: 'Keys with which programs call the API.',
  messages: 'Send one message, and read what happened to messages.',
  bulks: 'Send to many recipients with one request.',
  verifications: 'One-time codes: send a code, and check the code that a person gives.',
  received: 'Messages that recipients wrote.',
  templates: 'Texts of messages, stored with versions and languages.',
  broadcasts: 'A template to all contacts of an audience.',
  contacts: 'People and their addresses.',
  suppressions: 'Addresses that get no messages.',
  webhooks: 'Signed events, their deliveries, and repeats.',
  events: 'Events for programs that cannot receive webhooks.',
  domains: 'Own domains in the sender addresses of e-mails, and their DNS records.',
  billing: 'Credits: packages, purchases and the ledger.',
  audit: 'Who changed what in the workspace.',
  health: 'The state of the service, for monitoring.',
}
