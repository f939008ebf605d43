import { type ApiKey, endpoint, SvcError, sendBodyBytes } from '@svc/core/contract'
import type { DecodedCore } from '@svc/core/operate'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type * as z from 'zod'
import type { Admission } from '../../admission/admission.ts'
import { answerFailureAs } from '../../failures.ts'
import { type Handlers, mount } from '../../routes/mount.ts'
import { batchEndpoints, batchHandlers } from './batch.ts'
import { broadcastEndpoints, broadcastHandlers } from './broadcasts.ts'
import { contactEndpoints, contactHandlers } from './contacts.ts'
import { access, assertFullAccess, domainEndpoints, domainHandlers } from './domains.ts'
import { emailEndpoints, emailHandlers } from './emails.ts'
import { resendFailureText } from './errors.ts'
import { segmentEndpoints, segmentHandlers } from './segments.ts'
import { listQuery, ROOT } from './tables.ts'
import { templateEndpoints, templateHandlers } from './templates.ts'
import { webhookEndpoints, webhookHandlers } from './webhooks.ts'

const BEARER = /^Bearer +(\S+)$/i

/**
 * Serves the endpoints of Resend's API below `/compat/resend`, so that Resend's packages send through this service. Each request is
 * translated to a function of the core; keys, scopes, limits and quotas are those of the API.
 */
export function serveResend(
  app: FastifyInstance,
  admission: Admission,
  core: DecodedCore,
  { now, self_service_domains: self_service }: { now: () => number; self_service_domains: boolean },
): void {
  const door = { ...core, now: () => new Date(now()) }
  app.register(async (scope) => {
    scope.setErrorHandler((error, request, reply) =>
      answerFailureAs(resendFailureText, error, request, reply),
    )
    scope.addHook('onSend', async (_request, reply) => copyRateHeaders(reply))
    const config = { readKey }
    const body_limit = sendBodyBytes(core.attachmentsMaxBytes)
    const endpoints = { ...emailEndpoints, send: { ...emailEndpoints.send, body_limit } }
    mount(scope, admission, endpoints, emailHandlers(door), config)
    mount(scope, admission, batchEndpoints, batchHandlers(door), config)
    mount(scope, admission, contactEndpoints, contactHandlers(door), config)
    mount(scope, admission, segmentEndpoints, segmentHandlers(door), config)
    mount(scope, admission, broadcastEndpoints, broadcastHandlers(door), config)
    mount(scope, admission, apiKeyEndpoints, apiKeyHandlers(door), config)
    mount(scope, admission, webhookEndpoints, webhookHandlers(door), config)
    mount(scope, admission, templateEndpoints, templateHandlers(door), config)
    mount(scope, admission, domainEndpoints, domainHandlers(door, { self_service }), config)
    scope.all(
      `${ROOT}/*`,
      {
        config: { page: 'anonymous' },
        onRequest: (request, reply) => admission.admitVisitor('anonymous', request, reply),
      },
      async (request) => {
        throw new SvcError('not_found', unknownText(request))
      },
    )
  })
}

/** Reads `Authorization: Bearer svc_…`. */
function readKey({ authorization }: FastifyRequest['headers']) {
  const key = BEARER.exec(authorization ?? '')?.[1]
  return key === undefined ? null : ({ kind: 'api_key', key } as const)
}

const RATE_HEADERS = ['limit', 'remaining', 'reset'] as const

/** Resend's names of the headers with the state of the rate limit. */
function copyRateHeaders(reply: FastifyReply): void {
  for (const name of RATE_HEADERS) {
    const value = reply.getHeader(`x-ratelimit-${name}`)
    if (value !== undefined) reply.header(`ratelimit-${name}`, value)
  }
}

const UNSUPPORTED = new Map([
  ['api-keys', 'API keys are created with the API or with `svc keys create`.'],
])

function unknownText({ url }: FastifyRequest): string {
  const [group = ''] = url.slice(ROOT.length + 1).split(/[/?]/, 1)
  return UNSUPPORTED.get(group) ?? 'The requested endpoint does not exist.'
}

/** The endpoints for API keys. Source: https://resend.com/docs/api-reference/api-keys */
const apiKeyEndpoints = {
  list: endpoint({
    ...access,
    method: 'GET',
    path: `${ROOT}/api-keys`,
    query: listQuery,
    summary: 'List API keys, newest first',
  }),
} as const

/** The size of a page of the core's list. */
const PAGE = 100
/** The maximum number of pages that one request reads: deactivated keys stay in the core's list, and Resend has none. */
const PAGES_MAX = 50

function apiKeyHandlers({
  apiKeys,
}: Pick<DecodedCore, 'apiKeys'>): Handlers<typeof apiKeyEndpoints> {
  /** The active keys from the newest, or from the key after `after`, up to the key `before` or one more than `limit`. */
  async function active(
    workspaceId: string,
    { limit, after, before }: z.output<typeof listQuery>,
  ): Promise<ApiKey[]> {
    const found: ApiKey[] = []
    let from = after?.toLowerCase()
    for (let page = 0; page < PAGES_MAX; page++) {
      const slice = { limit: PAGE, offset: 0, after: from }
      const { api_keys, next_after } = await apiKeys.list(workspaceId, slice)
      for (const key of api_keys) {
        if (before !== undefined && key.id <= before.toLowerCase()) return found
        if (key.is_active) found.push(key)
        if (before === undefined && found.length > limit) return found
      }
      if (next_after === null) return found
      from = next_after
    }
    return found
  }

  return {
    async list({ identity, workspace_id, query }) {
      assertFullAccess(identity, 'API keys')
      const { limit, before } = query
      const found = await active(workspace_id, query)
      const some = before === undefined ? found.slice(0, limit) : found.slice(-limit)
      return { object: 'list', has_more: found.length > limit, data: some.map(summaryOf) }
    },
  }
}

function summaryOf({ id, name, created_at, last_used_at }: ApiKey) {
  return {
    id,
    name,
    created_at: created_at.toISOString(),
    last_used_at: last_used_at?.toISOString() ?? null,
  }
}
