import { type Domain, domains, endpoint, invalid, SCOPES, SvcError } from '@svc/core/contract'
import type { DecodedCore } from '@svc/core/operate'
import * as z from 'zod'
import { type Identity, keyOf } from '../../admission/authenticator.ts'
import type { Call, Handlers } from '../../routes/mount.ts'
import { assertSelfService } from '../../routes/self-service.ts'
import { optional } from './fields.ts'
import { answer, listQuery, ONE_ID, pageAmong, ROOT } from './tables.ts'

/** A key that may do everything: Resend calls it full access. The handlers check the other scopes. */
export const access = {
  auth: 'api_key',
  scope: 'manage_webhooks',
  rate: 'general',
  ...answer,
} as const
const oneDomain = { params: ONE_ID, not_found: 'Domain not found' } as const

/** A setting of Resend that has one value here. Each other value is refused, because it would have no effect. */
function only<const V extends string | boolean>(field: string, value: V) {
  return optional(
    z.literal(value, {
      error: `The \`${field}\` field can only be ${JSON.stringify(value)}: svc has no other setting.`,
    }),
  )
}

function unsupported(field: string) {
  return optional(z.never({ error: `The \`${field}\` field is not supported.` }))
}

const settings = {
  open_tracking: only('open_tracking', false),
  click_tracking: only('click_tracking', false),
  tls: only('tls', 'opportunistic'),
  capabilities: optional(
    z.strictObject({
      sending: only('capabilities.sending', 'enabled'),
      receiving: only('capabilities.receiving', 'disabled'),
    }),
  ),
  tracking_subdomain: unsupported('tracking_subdomain'),
}

/** The endpoints for sending domains. Source: https://resend.com/docs/api-reference/domains */
export const domainEndpoints = {
  create: endpoint({
    ...access,
    method: 'POST',
    path: `${ROOT}/domains`,
    body: z.strictObject({
      name: domains.create.body.shape.domain,
      region: unsupported('region'),
      custom_return_path: unsupported('custom_return_path'),
      ...settings,
    }),
    summary: 'Add a sending domain',
  }),
  list: endpoint({
    ...access,
    method: 'GET',
    path: `${ROOT}/domains`,
    query: listQuery,
    summary: 'List sending domains, newest first',
  }),
  get: endpoint({
    ...access,
    ...oneDomain,
    method: 'GET',
    path: `${ROOT}/domains/:id`,
    summary: 'Get a sending domain',
  }),
  verify: endpoint({
    ...access,
    ...oneDomain,
    method: 'POST',
    path: `${ROOT}/domains/:id/verify`,
    summary: 'Look for the DNS records of a domain now',
  }),
  update: endpoint({
    ...access,
    ...oneDomain,
    method: 'PATCH',
    path: `${ROOT}/domains/:id`,
    body: z.strictObject(settings),
    summary: 'Change a sending domain: only the settings that it has',
  }),
  remove: endpoint({
    ...access,
    ...oneDomain,
    method: 'DELETE',
    path: `${ROOT}/domains/:id`,
    summary: 'Remove a sending domain',
  }),
} as const

/** The size of a page of the core's list. */
const PAGE = 100

/** @param options.self_service whether workspaces add and remove their domains themselves. */
export function domainHandlers(
  { domains }: Pick<DecodedCore, 'domains'>,
  { self_service }: { self_service: boolean },
): Handlers<typeof domainEndpoints> {
  /** The workspace of a key with full access. */
  function owner({ identity }: Pick<Call<unknown>, 'identity'>): string {
    assertFullAccess(identity, 'domains')
    return keyOf(identity).workspace_id
  }

  async function all(workspaceId: string): Promise<Domain[]> {
    const found: Domain[] = []
    for (let after: string | undefined; ; ) {
      const page = await domains.list(workspaceId, { limit: PAGE, offset: 0, after })
      found.push(...page.domains)
      if (page.next_after === null) return found
      after = page.next_after
    }
  }

  return {
    async create({ body, actor, ...call }) {
      const workspaceId = owner(call)
      assertSelfService(self_service)
      return recordOf(await domains.create(workspaceId, { domain: body.name }, actor))
    },
    async list({ query, ...call }) {
      return pageAmong((await all(owner(call))).map(summaryOf), query)
    },
    async get({ params, ...call }) {
      return { object: 'domain', ...recordOf(await domains.get(owner(call), params.id)) }
    },
    async verify({ params, actor, ...call }) {
      const { id } = await domains.verify(owner(call), params.id, actor)
      return { object: 'domain', id }
    },
    async update({ params, body, ...call }) {
      const { id } = await domains.get(owner(call), params.id)
      if (Object.values(body).every((value) => value === undefined)) {
        throw invalid('open_tracking', 'Missing required field: open_tracking or click_tracking')
      }
      return { object: 'domain', id }
    },
    async remove({ params, actor, ...call }) {
      const workspaceId = owner(call)
      assertSelfService(self_service)
      await domains.delete(workspaceId, params.id, actor)
      return { object: 'domain', id: params.id, deleted: true }
    },
  }
}

/**
 * Refuses keys that may not do everything, and test keys: domains and API keys decide who may send, and there is no test
 * data among them.
 */
export function assertFullAccess(identity: Identity | null, what: string): void {
  const { mode, scopes } = keyOf(identity)
  if (mode === 'live' && SCOPES.every((scope) => scopes.includes(scope))) return
  throw new SvcError(
    'forbidden',
    `This API key is restricted: ${what} need a live key with all scopes`,
  )
}

function summaryOf(domain: Domain) {
  return {
    id: domain.id,
    name: domain.domain,
    status: statusOf(domain),
    created_at: domain.created_at.toISOString(),
    region: null,
    capabilities: { sending: 'enabled', receiving: 'disabled' },
    open_tracking: false,
    click_tracking: false,
  }
}

/** The record with the DNS records that the owner must publish. */
function recordOf(domain: Domain) {
  const records = domain.records
    .filter(({ is_required }) => is_required)
    .map(({ type, name, value, state }) => ({
      record: 'DKIM',
      name,
      type,
      ttl: 'Auto',
      status: state === 'verified' ? state : recordStatusOf(domain),
      value,
    }))
  return { ...summaryOf(domain), records }
}

function statusOf({ status, checked_at }: Domain): string {
  if (status === 'pending') return checked_at === null ? 'not_started' : status
  return status === 'failing' ? 'partially_failed' : status
}

/** The status of a record that was not found or is wrong. */
function recordStatusOf({ status, checked_at }: Domain): string {
  if (status === 'failing') return 'temporary_failure'
  if (status === 'failed') return status
  return checked_at === null ? 'not_started' : 'pending'
}
