import type { apiFor } from '@svc/core/contract'
import type { DecodedCore } from '@svc/core/operate'
import type { FastifyInstance } from 'fastify'
import type { Admission } from '../admission/admission.ts'
import type { Authenticator } from '../admission/authenticator.ts'
import type { ConsoleAccess } from '../console/access.ts'
import { apiKeyRoutes } from './api-keys.ts'
import { auditRoutes } from './audit.ts'
import { billingRoutes } from './billing.ts'
import { bulkRoutes } from './bulks.ts'
import { contactRoutes } from './contacts.ts'
import { domainRoutes } from './domains.ts'
import { eventRoutes } from './events.ts'
import { healthRoutes } from './health.ts'
import { invitationRoutes, memberRoutes, sessionRoutes } from './members.ts'
import { messageRoutes, receivedRoutes } from './messages.ts'
import { type Handlers, mount } from './mount.ts'
import { suppressionRoutes } from './suppressions.ts'
import { webhookRoutes } from './webhooks.ts'
import { workspaceRoutes } from './workspaces.ts'

type Groups = ReturnType<typeof apiFor>

/** The parts that the handlers of the API need. */
export interface GroupParts {
  core: DecodedCore
  authenticator: Authenticator
  self_service_domains: boolean
  isClosing(): boolean
  now(): number
}

/** The handlers of all groups of the API. A group without handlers does not compile. */
function handlersOf(
  app: FastifyInstance,
  { core, authenticator, self_service_domains: self_service, isClosing, now }: GroupParts,
): { [Name in keyof Groups]: Handlers<Groups[Name]> } {
  return {
    workspaces: workspaceRoutes(core, authenticator),
    members: memberRoutes(core),
    invitations: invitationRoutes(core, authenticator),
    sessions: sessionRoutes(core),
    api_keys: apiKeyRoutes(core),
    messages: messageRoutes(core),
    bulks: bulkRoutes(core),
    received: receivedRoutes(core),
    contacts: contactRoutes(core),
    suppressions: suppressionRoutes(core),
    webhooks: webhookRoutes(core),
    events: eventRoutes(app, core, authenticator),
    domains: domainRoutes(core, { self_service }),
    billing: billingRoutes(core),
    audit: auditRoutes(core),
    health: healthRoutes(core, { isClosing, now }),
  }
}

/** Serves all groups of the API: at their paths, and with `console` also below the path of the console. */
export function mountGroups(
  app: FastifyInstance,
  admission: Admission,
  api: Groups,
  { console, ...parts }: GroupParts & { console: ConsoleAccess | null },
): void {
  const handlers = handlersOf(app, parts)
  for (const name of Object.keys(api) as (keyof Groups)[]) {
    mount(app, admission, api[name], handlers[name] as never)
    if (console) mount(app, admission, api[name], handlers[name] as never, { console })
  }
}
