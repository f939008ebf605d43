import { z } from 'zod'
import { endpoint } from './endpoint.ts'
import { credits, email, phone, text, timestamp, uuid } from './fields.ts'
import { LIMITS } from './limits.ts'

/** The record of a workspace. Source: interface, Workspace; contract section 2. */
export const workspace = z
  .object({
    id: uuid,
    name: z.string(),
    email: z.string(),
    email_verified: z.boolean(),
    /** What is available: the balance less what is held. */
    credits_balance: credits,
    phone: z.string().nullable(),
    country: z.string().nullable(),
    /** Who an e-mail comes from when the request does not say. */
    sender_name: z.string().nullable(),
    credits_held: credits,
    created_at: timestamp,
    updated_at: timestamp,
  })
  .meta({ id: 'Workspace' })

/** The record of a workspace. */
export type Workspace = z.output<typeof workspace>

/** What signup and login say of a workspace. Source: interface, Account and authentication. */
export const workspaceSummary = workspace
  .pick({ id: true, name: true, email: true, email_verified: true, credits_balance: true })
  .meta({ id: 'WorkspaceSummary' })

/** What signup and login say of a workspace. */
export type WorkspaceSummary = z.output<typeof workspaceSummary>

/** A password that is being chosen. Source: interface, Password handling; contract section 2. */
export const newPassword = z
  .string()
  .refine(
    ({ length }) => length >= LIMITS.password_length_min,
    `Password must be at least ${LIMITS.password_length_min} characters`,
  )
  .refine(
    ({ length }) => length <= LIMITS.password_length_max,
    `Password must be at most ${LIMITS.password_length_max} characters`,
  )
  .meta({
    format: 'password',
    minLength: LIMITS.password_length_min,
    maxLength: LIMITS.password_length_max,
  })

/** Accounts. Source: interface, Account and authentication; contract section 2. */
export const workspaces = {
  signup: endpoint({
    method: 'POST',
    path: '/api/v1/auth/signup',
    auth: 'none',
    rate: 'auth',
    status: 201,
    body: z.object({
      email,
      password: newPassword,
      company_name: text(LIMITS.workspace_name_length).meta({ example: 'Example Ltd' }),
      phone: phone.optional(),
      country: text(LIMITS.country_length).optional().meta({ example: 'TZ' }),
    }),
    data: z.object({ workspace: workspaceSummary, message: z.string() }),
    summary: 'Create a workspace',
    description: 'An e-mail asks to verify the address. An address in use is refused.',
  }),
  login: endpoint({
    method: 'POST',
    path: '/api/v1/auth/login',
    auth: 'none',
    rate: 'auth',
    status: 200,
    failures: ['unauthorized'],
    body: z.object({
      email,
      password: text(LIMITS.password_length_max).meta({ format: 'password' }),
    }),
    data: z.object({
      workspace: workspaceSummary,
      token: z.string().meta({ description: 'A JWT, valid for 30 days.' }),
    }),
    summary: 'Get a token for an e-mail address and its password',
  }),
  account: endpoint({
    method: 'GET',
    path: '/api/v1/account',
    auth: 'jwt',
    rate: 'general',
    status: 200,
    data: workspace,
    summary: 'Get the workspace of the token',
  }),
} as const
