import * as z from 'zod'
import { endpoint } from '../endpoints/endpoint.ts'
import { credits, email, phone, senderName, text, timestamp, uuid } from '../fields/fields.ts'
import { LIMITS } from '../limits.ts'
import { TEMPLATE_CATEGORIES } from './templates.ts'

/** The days of a week, in its order. */
export const WEEKDAYS = ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'] as const

/** Local times between which no message of a category is sent. */
export const quietHours = z
  .strictObject({
    category: z.enum(TEMPLATE_CATEGORIES).meta({
      description:
        'The category of the template of a message. A message without a template is `transactional`.',
    }),
    start: z
      .string()
      .regex(/^(?:[01]\d|2[0-3]):[0-5]\d$/, 'start must be a time from 00:00 to 23:59')
      .meta({ example: '21:00' }),
    end: z
      .string()
      .regex(/^(?:(?:[01]\d|2[0-3]):[0-5]\d|24:00)$/, 'end must be a time from 00:00 to 24:00')
      .meta({
        example: '08:00',
        description:
          'The first minute after the quiet hours, on the next day if not after `start`.',
      }),
    days: z
      .array(z.enum(WEEKDAYS))
      .min(1)
      .max(WEEKDAYS.length)
      .optional()
      .meta({ description: 'The days on which they begin; default: every day.' }),
  })
  .meta({ id: 'QuietHours' })

/** Local times between which no message of a category is sent. */
export type QuietHours = z.output<typeof quietHours>

/** The record of a workspace. Source: interface, Workspace; contract section 2. */
export const workspace = z
  .object({
    id: uuid,
    name: z.string(),
    email: z.string(),
    email_verified: z.boolean(),
    /** The available credits: the balance without `credits_held`. */
    credits_balance: credits,
    phone: z.string().nullable(),
    country: z.string().nullable(),
    /** The default display name of the sender of e-mails. */
    sender_name: z.string().nullable(),
    credits_held: credits,
    /** The owner is notified when the available credits fall below this number; null: never. */
    low_balance: credits.nullable(),
    /** The credits that may be spent on one-time codes on a day (UTC); null: no limit. */
    verification_daily_credits: credits.nullable(),
    /** The countries to whose numbers one-time codes are sent; null: all. */
    verification_countries: z.array(z.string()).nullable(),
    /** The local times at which messages wait; null: none. */
    quiet_hours: z.array(quietHours).nullable(),
    /** The IANA zone of recipients whose own zone is not known; null: UTC. */
    time_zone: z.string().nullable(),
    /** The end of each marketing e-mail; null: none. */
    postal_address: z.string().nullable(),
    /** The end of each marketing SMS; null: none. */
    sms_opt_out_text: z.string().nullable(),
    /** Whether the owner gets mails about webhooks that fail. */
    webhook_mails: z.boolean(),
    created_at: timestamp,
    updated_at: timestamp,
  })
  .meta({ id: 'Workspace' })

/** The record of a workspace. */
export type Workspace = z.output<typeof workspace>

/** A workspace in the answers of signup and login. Source: interface, Account and authentication. */
export const workspaceSummary = workspace
  .pick({ id: true, name: true, email: true, email_verified: true, credits_balance: true })
  .meta({ id: 'WorkspaceSummary' })

/** A workspace in the answers of signup and login. */
export type WorkspaceSummary = z.output<typeof workspaceSummary>

/** A new password. Source: interface, Password handling; contract section 2. */
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
/** A code of an authenticator app, or a recovery code. */
export const otp = text(LIMITS.otp_length).optional().meta({
  description:
    'For a login with a second factor: the code of its authenticator app, or a recovery code. Each is valid once.',
  example: '123456',
})
const companyName = text(LIMITS.workspace_name_length).meta({ example: 'Example Ltd' })
const country = text(LIMITS.country_length).meta({ example: 'TZ' })
const message = z.string()

/** A text that ends messages. Templates would read braces as a placeholder. */
const endingText = (max: number) =>
  text(max).refine((ending) => !ending.includes('{{'), 'The text must not contain "{{"')

const open = { method: 'POST', auth: 'none', rate: 'auth', status: 200 } as const
const session = { auth: 'jwt', rate: 'general', status: 200 } as const

/** Accounts. Source: interface, Account and authentication; contract sections 2 and 12. */
export const workspaces = {
  signup: endpoint({
    ...open,
    path: '/api/v1/auth/signup',
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
    description: 'Sends an e-mail to verify the address. An address in use is refused.',
  }),
  login: endpoint({
    ...open,
    path: '/api/v1/auth/login',
    failures: ['unauthorized', 'not_found'],
    body: z.object({
      email,
      password,
      otp,
      workspace_id: uuid.optional().meta({
        description:
          'One of the workspaces of the login. Default: its own workspace, otherwise the one that it joined first.',
      }),
    }),
    data: z.object({
      workspace: workspaceSummary,
      token: z.string().meta({ description: 'A JWT, valid for 30 days.' }),
    }),
    summary: 'Get a token with e-mail address and password',
    description:
      'A login with a second factor needs its code too: after the right password, a missing or wrong code is a `validation_error` whose `details` name `otp`.',
  }),
  logout: endpoint({
    ...session,
    needs: 'belong',
    method: 'POST',
    path: '/api/v1/auth/logout',
    data: z.object({ message }),
    summary: 'End the session of the token',
    description:
      'The token is refused from the next request on, by every server. Other tokens of the workspace and API keys stay valid.',
  }),
  verify_email: endpoint({
    ...open,
    path: '/api/v1/auth/verify-email',
    body: z.object({ token }),
    data: z.object({ workspace: workspaceSummary, message }),
    summary: 'Verify an e-mail address',
    description:
      'The token is valid once, for 24 hours, and until a newer one is sent. The first verification revokes all API keys and disables all webhooks that exist. Sessions continue.',
  }),
  resend_verification: endpoint({
    ...open,
    path: '/api/v1/auth/resend-verification',
    body: z.object({ email }),
    data: z.object({ message }),
    summary: 'Send the verification e-mail again',
    description: 'The answer is the same whether or not the address has an account.',
  }),
  forgot_password: endpoint({
    ...open,
    path: '/api/v1/auth/forgot-password',
    body: z.object({ email }),
    data: z.object({ message }),
    summary: 'Send an e-mail to choose a new password',
    description: 'The answer is the same whether or not the address has an account.',
  }),
  reset_password: endpoint({
    ...open,
    path: '/api/v1/auth/reset-password',
    body: z.object({
      token,
      password: newPassword,
      revoke_api_keys: z.boolean().optional().meta({
        description:
          'Whether to revoke all API keys, disable all webhooks and end all links to OIDC providers too.',
      }),
      keep_recent: z.boolean().optional().meta({
        description:
          'Whether to keep what the login added since its last verified sign-in. Default: its API keys, webhooks, links to OIDC providers and invitations end, and members who accepted these invitations are removed.',
      }),
    }),
    data: z.object({ message }),
    summary: 'Choose a new password with the token of an e-mail',
    description:
      'The token is valid once, for 30 minutes, and until a newer one is sent. All sessions end. This also verifies an unverified address: API keys are revoked and webhooks disabled as by verify-email. What the login added since its last verified sign-in ends: the last login from the network of this request, or the last verification or reset by e-mail.',
  }),
  change_password: endpoint({
    method: 'POST',
    path: '/api/v1/auth/change-password',
    auth: 'jwt',
    needs: 'belong',
    rate: 'auth',
    status: 200,
    body: z.object({ current_password: password, new_password: newPassword }),
    data: z.object({ message }),
    summary: 'Change the password',
    description: 'All sessions end, also that of the request.',
  }),
  account: endpoint({
    ...session,
    needs: 'belong',
    method: 'GET',
    path: '/api/v1/account',
    data: workspace,
    summary: 'Get the workspace of the token',
  }),
  balance: endpoint({
    auth: 'jwt_or_api_key',
    scope: 'read_messages',
    needs: 'belong',
    rate: 'general',
    status: 200,
    method: 'GET',
    path: '/api/v1/balance',
    data: workspace.pick({ credits_balance: true, credits_held: true }),
    summary: 'Get the credits of the workspace',
    description:
      'For programs that have an API key and no token. A test key, which is charged nothing, also gets the real credits.',
  }),
  update_account: endpoint({
    ...session,
    needs: 'bill',
    method: 'PUT',
    path: '/api/v1/account',
    body: z.object({
      name: companyName.optional(),
      phone: phone.nullable().optional(),
      country: country.nullable().optional(),
      sender_name: senderName.nullable().optional(),
      low_balance: credits
        .refine((amount) => amount >= 0, 'low_balance must be at least 0')
        .nullable()
        .optional()
        .meta({ description: 'Below this number of credits the owner is notified; null: never.' }),
      verification_daily_credits: credits
        .refine((amount) => amount >= 0, 'verification_daily_credits must be at least 0')
        .nullable()
        .optional()
        .meta({
          description:
            'The credits that may be spent on one-time codes on a day (UTC); null: no limit. Refunds do not reduce what was spent.',
        }),
      verification_countries: z
        .array(z.string().regex(/^[A-Z]{2}$/, 'A country has a code of two letters, such as TZ'))
        .min(1)
        .max(LIMITS.verification_countries)
        .nullable()
        .optional()
        .meta({
          example: ['TZ', 'KE'],
          description:
            'The countries to whose numbers one-time codes are sent, as ISO 3166-1 codes; null: all. E-mail addresses have no country.',
        }),
      quiet_hours: z
        .array(quietHours)
        .max(LIMITS.quiet_hours)
        .nullable()
        .optional()
        .meta({
          example: [{ category: 'marketing', start: '21:00', end: '08:00' }],
          description:
            'Messages that would be sent between these local times of their recipient wait until the end; null: none. One-time codes do not wait.',
        }),
      time_zone: text(LIMITS.time_zone_length).nullable().optional().meta({
        example: 'Europe/Berlin',
        description:
          'The IANA zone of recipients whose own zone is not known: no attribute `time_zone` of a contact, and no number of a country with one zone. null: UTC.',
      }),
      postal_address: endingText(LIMITS.postal_address_length).nullable().optional().meta({
        example: 'Example Ltd\nMain Street 1\nDar es Salaam',
        description:
          'The end of each e-mail from a template of the category `marketing`, in HTML and text; null: none.',
      }),
      webhook_mails: z.boolean().optional().meta({
        description:
          'Whether the owner gets a mail when a webhook begins to fail and when the service disables it. Default: true.',
      }),
      sms_opt_out_text: endingText(LIMITS.sms_opt_out_text_length).nullable().optional().meta({
        example: 'STOP to end',
        description:
          'The last line of each SMS from a template of the category `marketing`, which counts in its segments; null: none.',
      }),
    }),
    data: workspace,
    summary: 'Change the workspace of the token',
    description: 'Missing fields do not change; null clears a field.',
  }),
} as const
