import { isIP } from 'node:net'
import * as z from 'zod'
import { endpoint, SCOPES, type Scope } from '../endpoints/endpoint.ts'
import { listQuery, nextAfter, pagination } from '../endpoints/paging.ts'
import { credits, dateTime, text, timestamp, uuid } from '../fields/fields.ts'
import { LIMITS } from '../limits.ts'

/** `test` keys use the sandbox only and are free. Source: contract sections 3 and 9. */
export const API_KEY_MODES = ['live', 'test'] as const

/** The mode of an API key. */
export type ApiKeyMode = (typeof API_KEY_MODES)[number]

/** The scopes of a key that is created without `scopes`. Source: contract section 9. */
export const DEFAULT_SCOPES = {
  live: SCOPES,
  test: ['send_messages', 'read_messages'],
} as const satisfies Record<ApiKeyMode, readonly Scope[]>

/** The record of an API key, without its secret. Source: interface, API key. */
export const apiKey = z
  .object({
    id: uuid,
    name: z.string(),
    key_prefix: z.string().meta({ example: 'svc_9fQ2xLmK...' }),
    scopes: z.array(z.enum(SCOPES)),
    is_active: z.boolean(),
    last_used_at: timestamp.nullable(),
    created_at: timestamp,
    mode: z.enum(API_KEY_MODES),
    expires_at: timestamp.nullable(),
    allowed_ips: z.array(z.string()).nullable(),
    daily_credit_limit: credits.nullable(),
    signs: z.boolean().meta({
      description: 'Whether the key also signs callbacks, in place of an auth token of Twilio.',
    }),
  })
  .meta({ id: 'ApiKey' })

/** The record of an API key. */
export type ApiKey = z.output<typeof apiKey>

const network = z
  .string()
  .refine(isNetwork, 'allowed_ips must hold IP addresses or CIDR networks')
  .meta({ example: '192.0.2.0/24' })

function isNetwork(value: string): boolean {
  const [address = '', prefix, ...rest] = value.split('/')
  const version = isIP(address)
  // An address with a zone (fe80::1%eth0) is valid on one machine only.
  if (version === 0 || rest.length > 0 || address.includes('%')) return false
  if (prefix === undefined) return true
  return /^\d{1,3}$/.test(prefix) && Number(prefix) <= (version === 4 ? 32 : 128)
}

const access = { auth: 'jwt', rate: 'general', status: 200 } as const

/** API keys. Source: interface, API keys; contract section 3. */
export const apiKeys = {
  create: endpoint({
    ...access,
    needs: 'develop',
    method: 'POST',
    path: '/api/v1/api-keys',
    status: 201,
    body: z.object({
      name: text(LIMITS.api_key_name_length).meta({ example: 'Production' }),
      scopes: z
        .array(z.enum(SCOPES))
        .min(1)
        .max(SCOPES.length)
        .optional()
        .meta({
          description: `Default: all scopes for a live key, ${DEFAULT_SCOPES.test.join(' and ')} for a test key.`,
        }),
      mode: z.enum(API_KEY_MODES).default('live'),
      expires_at: dateTime.optional(),
      allowed_ips: z.array(network).min(1).max(LIMITS.allowed_ips).optional(),
      daily_credit_limit: credits
        .refine((amount) => amount > 0, 'daily_credit_limit must be above 0')
        .optional(),
      signs: z.boolean().optional().meta({
        description:
          'Whether the key also signs callbacks, as the auth token of a Twilio account does. The service then keeps the key itself, encrypted; it keeps only the hash of other keys.',
      }),
    }),
    data: apiKey.omit({ is_active: true, last_used_at: true }).extend({
      key: z.string().meta({ description: 'The whole key. It is shown only once.' }),
      warning: z.string(),
      account_sid: z.string().optional().meta({
        description:
          'Present with `signs`: the account SID for clients of Twilio. `key` is the auth token.',
        example: 'AC01934f5e8c007a3b9d2e5f6a7b8c9d00',
      }),
      key_sid: z.string().optional().meta({
        description: 'Present with `signs`: the SID of this key, in place of the account SID.',
        example: 'SK01934f5e8c007a3b9d2e5f6a7b8c9d01',
      }),
    }),
    summary: 'Create an API key',
  }),
  list: endpoint({
    ...access,
    needs: 'read',
    method: 'GET',
    path: '/api/v1/api-keys',
    query: listQuery({}),
    data: z.object({ api_keys: z.array(apiKey), pagination, next_after: nextAfter }),
    summary: 'List API keys',
  }),
  deactivate: endpoint({
    ...access,
    needs: 'develop',
    method: 'DELETE',
    path: '/api/v1/api-keys/:id',
    params: z.object({ id: uuid }),
    not_found: 'API key not found',
    data: z.object({ message: z.string() }),
    summary: 'Deactivate an API key immediately and permanently',
  }),
} as const
