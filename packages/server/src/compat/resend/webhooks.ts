import { endpoint, httpUrl, invalid, SvcError, type Webhook } from '@svc/core/contract'
import { type DecodedCore, RESEND_EVENTS as EVENTS } from '@svc/core/operate'
import * as z from 'zod'
import type { Call, Handlers } from '../../routes/mount.ts'
import { optional } from './fields.ts'
import { answer, listQuery, ONE_ID, pageAmong, ROOT } from './tables.ts'

const access = { auth: 'api_key', scope: 'manage_webhooks', rate: 'general', ...answer } as const
const oneWebhook = { params: ONE_ID, not_found: 'Webhook not found' } as const

const url = httpUrl
const events = z.array(z.string()).min(1).max(100)

/** The endpoints for webhooks. Source: https://resend.com/docs/api-reference/webhooks */
export const webhookEndpoints = {
  create: endpoint({
    ...access,
    method: 'POST',
    path: `${ROOT}/webhooks`,
    body: z.strictObject({ endpoint: url, events }),
    summary: 'Create a webhook',
  }),
  list: endpoint({
    ...access,
    method: 'GET',
    path: `${ROOT}/webhooks`,
    query: listQuery,
    summary: 'List webhooks, newest first',
  }),
  get: endpoint({
    ...access,
    ...oneWebhook,
    method: 'GET',
    path: `${ROOT}/webhooks/:id`,
    summary: 'Get a webhook',
  }),
  update: endpoint({
    ...access,
    ...oneWebhook,
    method: 'PATCH',
    path: `${ROOT}/webhooks/:id`,
    body: z.strictObject({
      endpoint: optional(url),
      events: optional(events),
      status: optional(z.enum(['enabled', 'disabled'])),
    }),
    summary: 'Change a webhook',
  }),
  remove: endpoint({
    ...access,
    ...oneWebhook,
    method: 'DELETE',
    path: `${ROOT}/webhooks/:id`,
    summary: 'Delete a webhook',
  }),
  rotate: endpoint({
    ...access,
    ...oneWebhook,
    method: 'POST',
    path: `${ROOT}/webhooks/:id/signing-secret/rotate`,
    summary: 'Replace the signing secret of a webhook',
  }),
} as const

/** The size of a page of the core's list. */
const PAGE = 100

export function webhookHandlers({
  webhooks,
}: Pick<DecodedCore, 'webhooks'>): Handlers<typeof webhookEndpoints> {
  async function all(viewer: Call<unknown>['viewer']): Promise<Webhook[]> {
    const found: Webhook[] = []
    for (let after: string | undefined; ; ) {
      const page = await webhooks.list(viewer, { limit: PAGE, offset: 0, after })
      found.push(...page.webhooks.filter(({ format }) => format === 'resend'))
      if (page.next_after === null) return found
      after = page.next_after
    }
  }

  /** A webhook in the form of Resend; every other webhook belongs to the API. */
  async function own(viewer: Call<unknown>['viewer'], id: string): Promise<Webhook> {
    const webhook = await webhooks.get(viewer, id)
    if (webhook.format !== 'resend') throw new SvcError('not_found', oneWebhook.not_found)
    return webhook
  }

  return {
    async create({ viewer, actor, body }) {
      const request = {
        url: body.endpoint,
        events: subscriptionsOf(body.events),
        format: 'resend' as const,
      }
      const { id, secret } = await webhooks.create(viewer, request, actor)
      return { object: 'webhook', id, signing_secret: secret }
    },
    async list({ viewer, query }) {
      return pageAmong((await all(viewer)).map(recordOf), query)
    },
    async get({ viewer, params }) {
      // The secret is shown only when it is made.
      return {
        object: 'webhook',
        ...recordOf(await own(viewer, params.id)),
        signing_secret: null,
      }
    },
    async update({ viewer, actor, params, body }) {
      const changes = {
        ...(body.endpoint !== undefined && { url: body.endpoint }),
        ...(body.events && { events: subscriptionsOf(body.events) }),
        ...(body.status && { is_active: body.status === 'enabled' }),
      }
      if (Object.keys(changes).length === 0)
        throw invalid('endpoint', 'Missing required field: endpoint or events or status')
      await own(viewer, params.id)
      const { id } = await webhooks.update(viewer, params.id, changes, actor)
      return { object: 'webhook', id }
    },
    async remove({ viewer, actor, params }) {
      await own(viewer, params.id)
      await webhooks.delete(viewer, params.id, actor)
      return { object: 'webhook', id: params.id, deleted: true }
    },
    async rotate({ viewer, actor, params }) {
      await own(viewer, params.id)
      const { id, secret } = await webhooks.rotateSecret(viewer, params.id, actor)
      return { object: 'webhook', id, signing_secret: secret }
    },
  }
}

function recordOf({ id, created_at, is_active, url, events }: Webhook) {
  return {
    id,
    created_at: created_at.toISOString(),
    status: is_active ? 'enabled' : 'disabled',
    endpoint: url,
    events: eventNames(events),
  }
}

type Kind = (typeof EVENTS)[keyof typeof EVENTS][number]

/**
 * The subscriptions for events of Resend.
 * @throws SvcError `validation_error` for an event that the service does not have.
 */
function subscriptionsOf(names: readonly string[]): Kind[] {
  const kinds = names.flatMap((name, index): readonly Kind[] => {
    if (Object.hasOwn(EVENTS, name)) return EVENTS[name as keyof typeof EVENTS]
    const known = Object.keys(EVENTS).join(', ')
    throw invalid(
      `events.${index}`,
      `The event ${JSON.stringify(name)} is not supported. Must be one of: ${known}`,
    )
  })
  return [...new Set(kinds)]
}

/** The events of Resend that a webhook gets. */
function eventNames(subscriptions: readonly string[]): string[] {
  const isAll = subscriptions.includes('*')
  return Object.entries(EVENTS)
    .filter(([, kinds]) => isAll || kinds.some((kind) => subscriptions.includes(kind)))
    .map(([name]) => name)
}
