import { credits, type EndpointDefinition, endpoint, LIMITS, text, uuid } from '@svc/core/contract'
import * as z from 'zod'
import { options, passkeyRequests, passkeySignIn } from '../passkey-requests.ts'
import type {
  OperatorAuditEntry,
  OperatorBackups,
  OperatorCheck,
  OperatorLedger,
  OperatorOverview,
  OperatorProvider,
  OperatorPurchase,
  OperatorQueues,
  OperatorSetting,
  OperatorWorkspace,
} from './wire.ts'

const REASON_MAX = 500
const NAME_MAX = 100

const reason = text(REASON_MAX)
/** A code of an authenticator app, or a recovery code. */
const code = text(32)
const current_password = text(LIMITS.password_length_max)
const sender = text(NAME_MAX).optional()

/** An answer that the handler has in JSON. */
const json = <T>() => z.custom<T>()

/** An endpoint for operators: it exists only below the path of the console, and takes only their credential. */
function forOperators<const D extends Omit<EndpointDefinition, 'auth' | 'rate' | 'status'>>(
  definition: D,
) {
  return endpoint({ ...definition, auth: 'operator', rate: 'general', status: 200 })
}

const keys = passkeyRequests('/api/operator/second-factor')

const provider = z.object({ name: text(NAME_MAX) })
const workspace = z.object({ id: uuid })

const onPurchase = {
  params: z.object({ id: uuid }),
  body: z.object({ workspace_id: uuid, reason }),
  data: json<{ purchase: OperatorPurchase }>(),
}

/** The endpoints of operators. Each change needs a reason, which the audit log records with the name of the operator. */
export const operatorEndpoints = {
  overview: forOperators({
    method: 'GET',
    path: '/api/operator/overview',
    data: json<OperatorOverview>(),
    summary: 'Get the state of the service',
  }),
  checks: forOperators({
    method: 'POST',
    path: '/api/operator/checks',
    data: json<{ checks: OperatorCheck[] }>(),
    summary: 'Check the service as svc doctor does',
  }),
  providers: forOperators({
    method: 'GET',
    path: '/api/operator/providers',
    data: json<{ providers: OperatorProvider[] }>(),
    summary: 'List the providers with their queues',
  }),
  pause_provider: forOperators({
    method: 'POST',
    path: '/api/operator/providers/:name/pause',
    params: provider,
    body: z.object({ reason, sender }),
    data: json<object>(),
    summary: 'Pause a provider or one of its senders',
  }),
  resume_provider: forOperators({
    method: 'POST',
    path: '/api/operator/providers/:name/resume',
    params: provider,
    body: z.object({ reason, sender }),
    data: json<{ was_paused: boolean }>(),
    summary: 'End the pause of a provider or of one of its senders',
  }),
  check_provider: forOperators({
    method: 'POST',
    path: '/api/operator/providers/:name/check',
    params: provider,
    data: json<{ type: 'ok' | 'failed' | 'unsupported'; text: string | null }>(),
    summary: 'Make a request without side effects with the settings of a provider',
  }),
  workspaces: forOperators({
    method: 'GET',
    path: '/api/operator/workspaces',
    query: z.object({
      search: z.string().max(LIMITS.email_length).default(''),
      after: uuid.optional(),
    }),
    data: json<{ workspaces: OperatorWorkspace[]; next_after: string | null }>(),
    summary: 'Search the workspaces',
  }),
  workspace: forOperators({
    method: 'GET',
    path: '/api/operator/workspaces/:id',
    params: workspace,
    data: json<{ workspace: OperatorWorkspace; audit: OperatorAuditEntry[] }>(),
    summary: 'Get a workspace with the newest entries of its audit log',
  }),
  grant: forOperators({
    method: 'POST',
    path: '/api/operator/workspaces/:id/grant',
    params: workspace,
    body: z.object({ credits, reason, id: uuid }),
    data: json<{ workspace: OperatorWorkspace; repeated: boolean }>(),
    summary: 'Grant credits; a repetition with the same id grants nothing',
  }),
  freeze: forOperators({
    method: 'POST',
    path: '/api/operator/workspaces/:id/freeze',
    params: workspace,
    body: z.object({ reason }),
    data: json<{ workspace: OperatorWorkspace }>(),
    summary: 'Stop the spending of a workspace',
  }),
  unfreeze: forOperators({
    method: 'POST',
    path: '/api/operator/workspaces/:id/unfreeze',
    params: workspace,
    body: z.object({ reason }),
    data: json<{ workspace: OperatorWorkspace }>(),
    summary: 'Allow a frozen workspace to spend again',
  }),
  terms: forOperators({
    method: 'POST',
    path: '/api/operator/workspaces/:id/terms',
    params: workspace,
    body: z.object({
      credit_limit: credits.optional(),
      daily_limit: credits.nullable().optional(),
      reason,
    }),
    data: json<{ workspace: OperatorWorkspace }>(),
    summary: 'Set the limits of a workspace',
  }),
  queues: forOperators({
    method: 'GET',
    path: '/api/operator/queues',
    data: json<OperatorQueues>(),
    summary: 'Get the queues, the pause and the unknown outcomes',
  }),
  pause: forOperators({
    method: 'POST',
    path: '/api/operator/dispatch/pause',
    body: z.object({ reason }),
    data: json<object>(),
    summary: 'Pause all sending and delivering',
  }),
  resume: forOperators({
    method: 'POST',
    path: '/api/operator/dispatch/resume',
    body: z.object({ choice: z.enum(['send', 'cancel']).nullable() }),
    data: json<{ was_paused: boolean; canceled: number; begun: number }>(),
    summary: 'End the pause, and decide about messages in doubt',
  }),
  purchases: forOperators({
    method: 'GET',
    path: '/api/operator/purchases',
    data: json<{ purchases: OperatorPurchase[] }>(),
    summary: 'List the purchases that an operator must review',
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
    data: json<OperatorLedger>(),
    summary: 'Get the verification of the ledger',
  }),
  verify_ledger: forOperators({
    method: 'POST',
    path: '/api/operator/ledger',
    body: z.object({ fast: z.boolean().default(false) }),
    data: json<OperatorLedger>(),
    summary: 'Verify the ledger in a thread',
  }),
  backups: forOperators({
    method: 'GET',
    path: '/api/operator/backups',
    data: json<OperatorBackups>(),
    summary: 'List the backups',
  }),
  make_backup: forOperators({
    method: 'POST',
    path: '/api/operator/backups',
    data: json<OperatorBackups>(),
    summary: 'Make a backup and verify it',
  }),
  settings: forOperators({
    method: 'GET',
    path: '/api/operator/settings',
    data: json<{ settings: OperatorSetting[] | null }>(),
    summary: 'List the settings with their sources',
  }),
  change_password: forOperators({
    method: 'POST',
    path: '/api/operator/password',
    body: z.object({
      current_password: text(LIMITS.password_length_max),
      new_password: text(LIMITS.password_length_max),
    }),
    data: json<object>(),
    summary: 'Change the own password; all own sessions end',
  }),
  second_factor: forOperators({
    method: 'GET',
    path: '/api/operator/second-factor',
    data: json<{ since: string | null; recovery_codes: number }>(),
    summary: 'Get whether the own sign-in needs a code of an authenticator app',
  }),
  begin_second_factor: forOperators({
    method: 'POST',
    path: '/api/operator/second-factor',
    body: z.object({ current_password }),
    data: json<{ secret: string; uri: string }>(),
    summary: 'Make a secret for an authenticator app',
  }),
  confirm_second_factor: forOperators({
    method: 'POST',
    path: '/api/operator/second-factor/confirm',
    body: z.object({ code }),
    data: json<{ recovery_codes: string[] }>(),
    summary: 'Confirm the authenticator app with its first code',
  }),
  end_second_factor: forOperators({
    method: 'POST',
    path: '/api/operator/second-factor/end',
    body: z.object({ current_password, code: code.optional() }),
    data: json<object>(),
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
    query: z.object({ workspace_id: uuid.optional(), after: uuid.optional() }),
    data: json<{ audit_entries: OperatorAuditEntry[]; next_after: string | null }>(),
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
