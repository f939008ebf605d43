import type { BulksMethods } from './bulk-run.ts'
import { sendAll } from './bulk-run.ts'
import { ENDPOINTS } from './generated/endpoints.ts'
import type {
  ApiKeysResource,
  AuditResource,
  BillingResource,
  BroadcastsResource,
  BulksResource,
  ContactsResource,
  DomainsResource,
  EventsResource,
  HealthResource,
  InvitationsResource,
  MembersResource,
  MessagesResource,
  ReceivedResource,
  SessionsResource,
  SuppressionsResource,
  TemplatesResource,
  VerificationsResource,
  WebhooksResource,
  WorkspacesResource,
} from './generated/types.ts'
import { type Connection, connectionOf, type SvcOptions } from './options.ts'
import { type CallOptions, PendingCall, PendingList } from './transport/call.ts'
import type { Endpoint } from './transport/endpoint.ts'
import { type Args, request } from './transport/request.ts'
import { type MessagesMethods, waitFor } from './wait-for.ts'
import { unwrapWebhook } from './webhooks/unwrap.ts'

/**
 * A client of svc. Each method sends one request and returns a promise of its data in JSON: instants are ISO 8601 texts,
 * amounts are numbers of credits. A method rejects with an `SvcError`, or with the reason of its `signal`. The credentials
 * are neither properties of the client nor in its errors.
 * @throws TypeError for an invalid address or a malformed key.
 *
 * @example
 * const svc = new Svc({ apiKey: 'svc_…', baseUrl: 'https://svc.example.com' })
 * const { message_id } = await svc.messages.send({ channel: 'sms', to: '+14155550100', content: { text: 'Hi' } })
 */
export class Svc {
  readonly workspaces: WorkspacesResource
  readonly members: MembersResource
  readonly invitations: InvitationsResource
  readonly sessions: SessionsResource
  readonly apiKeys: ApiKeysResource
  readonly messages: MessagesResource & MessagesMethods
  readonly bulks: BulksResource & BulksMethods
  readonly received: ReceivedResource
  readonly verifications: VerificationsResource
  readonly templates: TemplatesResource
  readonly broadcasts: BroadcastsResource
  readonly contacts: ContactsResource
  readonly suppressions: SuppressionsResource
  readonly domains: DomainsResource
  readonly webhooks: WebhooksResource & { unwrap: typeof unwrapWebhook }
  readonly events: EventsResource
  readonly billing: BillingResource
  readonly audit: AuditResource
  readonly health: HealthResource

  constructor(options: SvcOptions = {}) {
    const connection = connectionOf(options)
    const messages = methodsOf<MessagesResource>(connection, ENDPOINTS.messages)
    const bulks = methodsOf<BulksResource>(connection, ENDPOINTS.bulks)
    this.workspaces = methodsOf(connection, ENDPOINTS.workspaces)
    this.members = methodsOf(connection, ENDPOINTS.members)
    this.invitations = methodsOf(connection, ENDPOINTS.invitations)
    this.sessions = methodsOf(connection, ENDPOINTS.sessions)
    this.apiKeys = methodsOf(connection, ENDPOINTS.apiKeys)
    this.messages = { ...messages, wait: (id, more) => waitFor(messages, id, more) }
    this.bulks = { ...bulks, sendAll: (body, more) => sendAll(bulks, body, more) }
    this.received = methodsOf(connection, ENDPOINTS.received)
    this.verifications = methodsOf(connection, ENDPOINTS.verifications)
    this.templates = methodsOf(connection, ENDPOINTS.templates)
    this.broadcasts = methodsOf(connection, ENDPOINTS.broadcasts)
    this.contacts = methodsOf(connection, ENDPOINTS.contacts)
    this.suppressions = methodsOf(connection, ENDPOINTS.suppressions)
    this.domains = methodsOf(connection, ENDPOINTS.domains)
    const webhooks = methodsOf<WebhooksResource>(connection, ENDPOINTS.webhooks)
    this.webhooks = { ...webhooks, unwrap: unwrapWebhook }
    this.events = methodsOf(connection, ENDPOINTS.events)
    this.billing = methodsOf(connection, ENDPOINTS.billing)
    this.audit = methodsOf(connection, ENDPOINTS.audit)
    this.health = methodsOf(connection, ENDPOINTS.health)
  }
}

/** The methods of a group. Their types are made from the same table as the endpoints. */
function methodsOf<Resource>(
  connection: Connection,
  endpoints: Readonly<Record<string, Endpoint>>,
): Resource {
  return Object.fromEntries(
    Object.entries(endpoints).map(([name, endpoint]) => [
      name,
      (...args: unknown[]) => callOf(connection, endpoint, args),
    ]),
  ) as Resource
}

/** A call with the arguments of a method: path parameters, then the body or the query, then the options. */
function callOf(connection: Connection, endpoint: Endpoint, args: readonly unknown[]) {
  const count = endpoint.path.split(':').length - 1
  const params = args.slice(0, count) as string[]
  const rest = args.slice(count)
  const value = endpoint.body || endpoint.query ? rest.shift() : undefined
  const options = rest[0] as CallOptions | undefined
  const query = endpoint.query ? (value as object | undefined) : undefined
  const start = (args: Args) => request<object>(connection, endpoint, args, options)
  if (endpoint.list === undefined) {
    return new PendingCall(() => start({ params, query, body: value }))
  }
  // The position replaces the page that the caller began with.
  const { page: _, cursor: __, ...filter } = (query ?? {}) as Record<string, unknown>
  return new PendingList(
    endpoint.list,
    () => start({ params, query }),
    (after) => start({ params, query: { ...filter, after } }),
  )
}
