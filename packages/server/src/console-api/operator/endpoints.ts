import {
  api,
  credits,
  type EndpointDefinition,
  endpoint,
  LIMITS,
  text,
  timestamp,
  uuid,
} from '@svc/core/contract'
import * as z from 'zod'
import { options, passkeyRequests, passkeySignIn } from '../passkey-requests.ts'
import {
  auditEntry,
  backups,
  check,
  ledger,
  operatedBulk,
  overview,
  pausedCountry,
  provider,
  purchase,
  queues,
  setting,
  workspace,
} from './answers.ts'

const REASON_MAX = 500
const NAME_MAX = 100
const ALLOWED_HOURS_MAX = 720

const reason = text(REASON_MAX)
/** A code of an authenticator app, or a recovery code. */
const code = text(32)
const current_password = text(LIMITS.password_length_max)
const sender = text(NAME_MAX).optional()

/** An endpoint for operators: it exists only below the path of the console, and takes only their credential. */
function forOperators<const D extends Omit<EndpointDefinition, 'auth' | 'rate' | 'status'>>(
  definition: D,
) {
  return endpoint({ ...definition, auth: 'operator', rate: 'general', status: 200 })
}

const keys = passkeyRequests('/api/operator/second-factor')

const { action, startDate, endDate } = api.audit.list.query.shape

/** All actions of the audit log, in the order of their names. */
export const ACTIONS = [...action.unwrap().options].sort()

const ofProvider = z.object({ name: text(NAME_MAX) })
const ofWorkspace = z.object({ id: uuid })
const nothing = z.object({})

const onPurchase = {
  params: z.object({ id: uuid }),
  body: z.object({ workspace_id: uuid, reason }),
  data: z.object({ purchase }),
}

/** The endpoints of operators. Each change needs a reason, which the audit log records with the name of the operator. */
export const operatorEndpoints = {
  overview: forOperators({
    method: 'GET',
    path: '/api/operator/overview',
    data: overview,
    summary: 'Get the state of the service',
  }),
  checks: forOperators({
    method: 'POST',
    path: '/api/operator/checks',
    data: z.object({ checks: z.array(check) }),
    summary: 'Check the service as svc doctor does',
  }),
  providers: forOperators({
    method: 'GET',
    path: '/api/operator/providers',
    data: z.object({ providers: z.array(provider) }),
    summary: 'List the providers with their queues',
  }),
  pause_provider: forOperators({
    method: 'POST',
    path: '/api/operator/providers/:name/pause',
    params: ofProvider,
    body: z.object({ reason, sender }),
    data: nothing,
    summary: 'Pause a provider or one of its senders',
  }),
  resume_provider: forOperators({
    method: 'POST',
    path: '/api/operator/providers/:name/resume',
    params: ofProvider,
    body: z.object({ reason, sender }),
    data: z.object({ was_paused: z.boolean() }),
    summary: 'End the pause of a provider or of one of its senders',
  }),
  check_provider: forOperators({
    method: 'POST',
    path: '/api/operator/providers/:name/check',
    params: ofProvider,
    data: z.object({ type: z.enum(['ok', 'failed', 'unsupported']), text: z.string().nullable() }),
    summary: 'Make a request without side effects with the settings of a provider',
  }),
  workspaces: forOperators({
    method: 'GET',
    path: '/api/operator/workspaces',
    query: z.object({
      search: z.string().max(LIMITS.email_length).default(''),
      after: uuid.optional(),
    }),
    data: z.object({ workspaces: z.array(workspace), next_after: z.string().nullable() }),
    summary: 'Search the workspaces',
  }),
  workspace: forOperators({
    method: 'GET',
    path: '/api/operator/workspaces/:id',
    params: ofWorkspace,
    data: z.object({
      workspace,
      paused_countries: z.array(pausedCountry),
      bulks: z.array(operatedBulk),
      audit: z.array(auditEntry),
    }),
    summary: 'Get a workspace with its newest bulks and the newest entries of its audit log',
  }),
  grant: forOperators({
    method: 'POST',
    path: '/api/operator/workspaces/:id/grant',
    params: ofWorkspace,
    body: z.object({ credits, reason, id: uuid }),
    data: z.object({ workspace, repeated: z.boolean() }),
    summary: 'Grant credits; a repetition with the same id grants nothing',
  }),
  freeze: forOperators({
    method: 'POST',
    path: '/api/operator/workspaces/:id/freeze',
    params: ofWorkspace,
    body: z.object({ reason }),
    data: z.object({ workspace }),
    summary: 'Stop the spending of a workspace',
  }),
  unfreeze: forOperators({
    method: 'POST',
    path: '/api/operator/workspaces/:id/unfreeze',
    params: ofWorkspace,
    body: z.object({ reason }),
    data: z.object({ workspace }),
    summary: 'Allow a frozen workspace to spend again',
  }),
  terms: forOperators({
    method: 'POST',
    path: '/api/operator/workspaces/:id/terms',
    params: ofWorkspace,
    body: z.object({
      credit_limit: credits.optional(),
      daily_limit: credits.nullable().optional(),
      reason,
    }),
    data: z.object({ workspace }),
    summary: 'Set the limits of a workspace',
  }),
  allow_codes: forOperators({
    method: 'POST',
    path: '/api/operator/workspaces/:id/allow-codes',
    params: ofWorkspace,
    body: z.object({
      country: z.string().regex(/^[A-Z]{2}$/),
      hours: z.int().min(1).max(ALLOWED_HOURS_MAX),
      reason,
    }),
    data: nothing,
    summary: 'Allow one-time codes to a country, also if it is paused',
  }),
  queues: forOperators({
    method: 'GET',
    path: '/api/operator/queues',
    data: queues,
    summary: 'Get the queues, the pause and the unknown outcomes',
  }),
  pause: forOperators({
    method: 'POST',
    path: '/api/operator/dispatch/pause',
    body: z.object({ reason }),
    data: nothing,
    summary: 'Pause all sending and delivering',
  }),
  resume: forOperators({
    method: 'POST',
    path: '/api/operator/dispatch/resume',
    body: z.object({ choice: z.enum(['send', 'cancel']).nullable() }),
    data: z.object({ was_paused: z.boolean(), canceled: z.number(), begun: z.number() }),
    summary: 'End the pause, and decide about messages in doubt',
  }),
  purchases: forOperators({
    method: 'GET',
    path: '/api/operator/purchases',
    query: z.object({ search: z.string().max(LIMITS.email_length).default('') }),
    data: z.object({ purchases: z.array(purchase) }),
    summary:
      'List the purchases that an operator must review, or find some by their id, that of the payment provider, or the id, name or e-mail of the workspace',
  }),
  check_purchase: forOperators({
    method: 'POST',
    path: '/api/operator/purchases/:id/check',
    ...onPurchase,
    summary: 'Compare a purchase with its payment',
  }),
  refund_purchase: forOperators({
    method: 'POST',
    path: '/api/operator/purchases/:id/refund',
    ...onPurchase,
    summary: 'Refund a purchase',
  }),
  ledger: forOperators({
    method: 'GET',
    path: '/api/operator/ledger',
    data: ledger,
    summary: 'Get the verification of the ledger',
  }),
  verify_ledger: forOperators({
    method: 'POST',
    path: '/api/operator/ledger',
    body: z.object({ fast: z.boolean().default(false) }),
    data: ledger,
    summary: 'Verify the ledger in a thread',
  }),
  backups: forOperators({
    method: 'GET',
    path: '/api/operator/backups',
    data: backups,
    summary: 'List the backups',
  }),
  make_backup: forOperators({
    method: 'POST',
    path: '/api/operator/backups',
    data: backups,
    summary: 'Make a backup and verify it',
  }),
  settings: forOperators({
    method: 'GET',
    path: '/api/operator/settings',
    data: z.object({ settings: z.array(setting).nullable() }),
    summary: 'List the settings with their sources',
  }),
  change_password: forOperators({
    method: 'POST',
    path: '/api/operator/password',
    body: z.object({
      current_password: text(LIMITS.password_length_max),
      new_password: text(LIMITS.password_length_max),
    }),
    data: nothing,
    summary: 'Change the own password; all own sessions end',
  }),
  second_factor: forOperators({
    method: 'GET',
    path: '/api/operator/second-factor',
    data: z.object({ since: timestamp.nullable(), recovery_codes: z.number() }),
    summary: 'Get whether the own sign-in needs a code of an authenticator app',
  }),
  begin_second_factor: forOperators({
    method: 'POST',
    path: '/api/operator/second-factor',
    body: z.object({ current_password }),
    data: z.object({ secret: z.string(), uri: z.string() }),
    summary: 'Make a secret for an authenticator app',
  }),
  confirm_second_factor: forOperators({
    method: 'POST',
    path: '/api/operator/second-factor/confirm',
    body: z.object({ code }),
    data: z.object({ recovery_codes: z.array(z.string()) }),
    summary: 'Confirm the authenticator app with its first code',
  }),
  end_second_factor: forOperators({
    method: 'POST',
    path: '/api/operator/second-factor/end',
    body: z.object({ current_password, code: code.optional() }),
    data: nothing,
    summary: 'Remove the authenticator app and the recovery codes',
  }),
  passkeys: forOperators(keys.passkeys),
  begin_passkey: forOperators(keys.begin_passkey),
  add_passkey: forOperators(keys.add_passkey),
  rename_passkey: forOperators(keys.rename_passkey),
  remove_passkey: forOperators(keys.remove_passkey),
  audit: forOperators({
    method: 'GET',
    path: '/api/operator/audit',
    query: z.object({
      ...{ action, startDate, endDate },
      workspace_id: uuid.optional(),
      after: uuid.optional(),
    }),
    data: z.object({
      audit_entries: z.array(auditEntry),
      next_after: z.string().nullable(),
      /** All actions, for a choice. */
      actions: z.array(z.string()),
    }),
    summary: 'List the audit log of the service and of all workspaces',
  }),
} as const

const path = '/api/operator/session'
const session = z.object({ operator: z.string().nullable() })

/** The session of an operator in the browser. */
export const operatorSessionEndpoints = {
  begin: endpoint({
    method: 'POST',
    path,
    auth: 'none',
    rate: 'auth',
    status: 200,
    body: z.object({
      name: text(LIMITS.operator_name_length),
      password: text(LIMITS.password_length_max),
      code: code.optional(),
    }),
    data: session,
    failures: ['unauthorized'],
    summary: 'Sign in as an operator',
  }),
  challenge: endpoint({
    method: 'POST',
    path: `${path}/challenge`,
    auth: 'none',
    rate: 'auth',
    status: 200,
    body: z.object({
      name: text(LIMITS.operator_name_length).optional(),
      password: text(LIMITS.password_length_max).optional(),
    }),
    data: options,
    failures: ['unauthorized'],
    summary: 'Get the options for a sign-in with a passkey, or for one after the password',
  }),
  begin_with_passkey: endpoint({
    ...passkeySignIn,
    method: 'POST',
    path: `${path}/passkey`,
    auth: 'none',
    rate: 'auth',
    status: 200,
    data: session,
    failures: ['unauthorized'],
    summary: 'Sign in as an operator with a passkey',
  }),
  end: endpoint({
    method: 'DELETE',
    path,
    auth: 'none',
    rate: 'anonymous',
    status: 200,
    data: session,
    summary: 'Sign out as an operator',
  }),
} as const
