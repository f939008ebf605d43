import * as z from 'zod'
import { endpoint } from '../endpoints/endpoint.ts'
import { credits, email, phone, senderName, text, timestamp, uuid } from '../fields/fields.ts'
import { LIMITS } from '../limits.ts'

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
    /** Below this much available the owner is told; null for never. */
    low_balance: credits.nullable(),
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

const token = text(LIMITS.token_length).meta({ description: 'The token of the e-mail.' })
const password = text(LIMITS.password_length_max).meta({ format: 'password' })
const companyName = text(LIMITS.workspace_name_length).meta({ example: 'Example Ltd' })
const country = text(LIMITS.country_length).meta({ example: 'TZ' })
const message = z.string()

/** Accounts. Source: interface, Account and authentication; contract sections 2 and 12. */
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
      company_name: companyName,
      phone: phone.optional(),
      country: country.optional(),
    }),
    data: z.object({ workspace: workspaceSummary, message }),
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
    body: z.object({ email, password }),
    data: z.object({
      workspace: workspaceSummary,
      token: z.string().meta({ description: 'A JWT, valid for 30 days.' }),
    }),
    summary: 'Get a token for an e-mail address and its password',
  }),
  logout: endpoint({
    method: 'POST',
    path: '/api/v1/auth/logout',
    auth: 'jwt',
    rate: 'general',
    status: 200,
    data: z.object({ message }),
    summary: 'End the session of the token',
    description:
      'The token is refused by the very next request, on every server. Other tokens of the workspace stay valid, and so do API keys.',
  }),
  verify_email: endpoint({
    method: 'POST',
    path: '/api/v1/auth/verify-email',
    auth: 'none',
    rate: 'auth',
    status: 200,
    body: z.object({ token }),
    data: z.object({ workspace: workspaceSummary, message }),
    summary: 'Verify an e-mail address',
    description:
      'The token works once, for 24 hours, unless a newer one was sent. The first verification revokes the API keys and disables the webhooks that exist by then. Sessions go on.',
  }),
  resend_verification: endpoint({
    method: 'POST',
    path: '/api/v1/auth/resend-verification',
    auth: 'none',
    rate: 'auth',
    status: 200,
    body: z.object({ email }),
    data: z.object({ message }),
    summary: 'Send the e-mail that verifies an address again',
    description: 'The answer is the same whether or not anybody has the address.',
  }),
  forgot_password: endpoint({
    method: 'POST',
    path: '/api/v1/auth/forgot-password',
    auth: 'none',
    rate: 'auth',
    status: 200,
    body: z.object({ email }),
    data: z.object({ message }),
    summary: 'Send an e-mail that lets its reader choose a new password',
    description: 'The answer is the same whether or not anybody has the address.',
  }),
  reset_password: endpoint({
    method: 'POST',
    path: '/api/v1/auth/reset-password',
    auth: 'none',
    rate: 'auth',
    status: 200,
    body: z.object({
      token,
      password: newPassword,
      revoke_api_keys: z.boolean().optional().meta({
        description: 'Whether to revoke every API key and disable every webhook too.',
      }),
    }),
    data: z.object({ message }),
    summary: 'Choose a new password with the token of an e-mail',
    description:
      'The token works once, for 30 minutes, unless a newer one was sent. Every token of a login ends. Where the address was not verified, it is by this, and API keys and webhooks end as with verify-email.',
  }),
  change_password: endpoint({
    method: 'POST',
    path: '/api/v1/auth/change-password',
    auth: 'jwt',
    rate: 'auth',
    status: 200,
    body: z.object({ current_password: password, new_password: newPassword }),
    data: z.object({ message }),
    summary: 'Change the password',
    description: 'Every token of a login ends, that of the request too.',
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
  update_account: endpoint({
    method: 'PUT',
    path: '/api/v1/account',
    auth: 'jwt',
    rate: 'general',
    status: 200,
    body: z.object({
      name: companyName.optional(),
      phone: phone.nullable().optional(),
      country: country.nullable().optional(),
      sender_name: senderName.nullable().optional(),
      low_balance: credits
        .refine((amount) => amount >= 0, 'low_balance must be at least 0')
        .nullable()
        .optional()
        .meta({ description: 'Below this many credits the owner is told; null for never.' }),
    }),
    data: workspace,
    summary: 'Change the workspace of the token',
    description: 'Fields that are left out stay as they are; null clears one.',
  }),
} as const
