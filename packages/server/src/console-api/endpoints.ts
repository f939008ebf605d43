import {
  CAPABILITIES,
  CHANNELS,
  credits,
  endpoint,
  LIMITS,
  text,
  timestamp,
  uuid,
} from '@svc/core/contract'
import * as z from 'zod'
import type { ConsoleSession } from './console-answers.ts'
import { options, passkeySignIn } from './passkey-requests.ts'

const membership = z.object({ id: uuid, name: z.string(), role: z.string() })

const consoleSession = z.object({
  user: z
    .object({ id: z.string(), email: z.string().nullable(), name: z.string().nullable() })
    .nullable(),
  workspace_id: uuid.nullable(),
  role: z.string().nullable(),
  time_zone: z.string().nullable(),
  may: z.array(z.enum(CAPABILITIES)),
  workspaces: z.array(membership),
  operator: z.string().nullable(),
  lacks_second_factor: z.boolean(),
}) satisfies z.ZodType<ConsoleSession>

const history = {
  method: 'GET',
  auth: 'jwt',
  needs: 'belong',
  rate: 'general',
  status: 200,
  query: z.object({ unit: z.enum(['day', 'hour']).default('day') }),
} as const

const outcomes = {
  accepted: z.int(),
  delivered: z.int(),
  failed: z.int(),
  canceled: z.int(),
}

/** Numbers of messages over time, for the console's home. */
export const historyEndpoints = {
  get: endpoint({
    ...history,
    path: '/api/history',
    data: z.object({ points: z.array(z.object({ since: timestamp, ...outcomes })) }),
    summary: 'Count the messages of the last 30 days or 48 hours',
  }),
  breakdown: endpoint({
    ...history,
    path: '/api/breakdown',
    data: z.object({
      since: timestamp,
      channels: z.array(z.object({ channel: z.enum(CHANNELS), ...outcomes })),
      reasons: z.array(z.object({ error_code: z.string().nullable(), count: z.int() })),
      reasons_examined: z.int(),
      places: z.array(
        z.object({
          channel: z.enum(CHANNELS),
          code: z.string().nullable(),
          country: z.string().nullable(),
          is_shared: z.boolean(),
          ...outcomes,
          credits,
        }),
      ),
      places_examined: z.int(),
    }),
    summary: 'Show how the messages of the last 30 days or 48 hours ended',
  }),
} as const

/** The person of a session. */
export const personEndpoints = {
  rename: endpoint({
    method: 'PUT',
    path: '/api/person',
    auth: 'jwt',
    needs: 'belong',
    rate: 'general',
    status: 200,
    body: z.object({ name: text(LIMITS.user_name_length).nullable() }),
    data: z.object({ name: z.string().nullable() }),
    summary: 'Change the own name',
  }),
} as const

const path = '/api/session'
const shared = { path, auth: 'none', status: 200, data: consoleSession } as const

/** The session of the console's browser. These endpoints exist only below the path of the console. */
export const sessionEndpoints = {
  get: endpoint({
    ...shared,
    method: 'GET',
    rate: 'anonymous',
    summary: 'Get the session of the browser',
  }),
  begin: endpoint({
    ...shared,
    method: 'POST',
    rate: 'auth',
    body: z.object({
      email: text(LIMITS.email_length),
      password: text(LIMITS.password_length_max),
      otp: text(LIMITS.otp_length).optional(),
    }),
    failures: ['unauthorized', 'not_found'],
    summary: 'Sign in with e-mail address and password',
  }),
  challenge: endpoint({
    ...shared,
    method: 'POST',
    path: `${path}/challenge`,
    rate: 'auth',
    body: z.object({
      email: text(LIMITS.email_length).optional(),
      password: text(LIMITS.password_length_max).optional(),
    }),
    data: options,
    failures: ['unauthorized'],
    summary: 'Get the options for a sign-in with a passkey, or for one after the password',
  }),
  begin_with_passkey: endpoint({
    ...shared,
    ...passkeySignIn,
    method: 'POST',
    path: `${path}/passkey`,
    rate: 'auth',
    failures: ['unauthorized', 'not_found'],
    summary: 'Sign in with a passkey',
  }),
  end: endpoint({
    ...shared,
    method: 'DELETE',
    rate: 'anonymous',
    summary: 'Sign out',
  }),
} as const
