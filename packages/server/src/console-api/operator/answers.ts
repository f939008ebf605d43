import { credits, timestamp } from '@svc/core/contract'
import * as z from 'zod'

const channel = z.string()

/** Messages per second, or numbers of messages. */
const rates = z.object({
  accepted: z.number(),
  sent: z.number(),
  delivered: z.number(),
  failed: z.number(),
})
export type Rates = z.input<typeof rates>

/** The pause of all sending and delivering. */
const pause = z.object({
  cause: z.enum(['operator', 'restore']),
  reason: z.string(),
  backup_at: timestamp.nullable(),
  created_at: timestamp,
})

/** A provider, or a name without settings that has messages, such as the sandbox. */
export const provider = z.object({
  name: z.string(),
  type: z.string(),
  channels: z.array(channel).readonly(),
  state: z.enum(['active', 'silent', 'paused', 'refused']),
  messages_per_second: z.number().nullable(),
  pauses: z.array(
    z.object({
      sender: z.string().nullable(),
      cause: z.enum(['operator', 'misconfigured']),
      code: z.string().nullable(),
      reason: z.string(),
      retry_at: timestamp.nullable(),
      created_at: timestamp,
    }),
  ),
  connections: z.array(z.object({ name: z.string(), state: z.string() })).readonly(),
  /** The messages that wait for the provider, and those in flight to it. */
  queue: z.object({
    waiting: z.number(),
    oldest_waiting_at: timestamp.nullable(),
    calls: z.number(),
    oldest_call_at: timestamp.nullable(),
    unknown: z.number(),
  }),
  /** The answers to the calls of this server. */
  recent: z.object({
    period_s: z.number(),
    accepted: z.number(),
    rejected: z.number(),
    retried: z.number(),
    unknown: z.number(),
    last_error: z.object({ code: z.string(), message: z.string(), at: timestamp }).nullable(),
    /** The unknown outcomes since the last accepted call, also before the period; null for none. */
    unanswered: z.object({ count: z.number(), since: timestamp }).nullable(),
  }),
})
export type OperatorProvider = z.input<typeof provider>

/** The state of the whole service. */
export const overview = z.object({
  at: timestamp,
  /** States that need action (`problem`) or attention (`notice`). */
  findings: z.array(
    z.object({
      severity: z.enum(['problem', 'notice']),
      code: z.string(),
      /** The workspace that it is about; null for the whole service. */
      workspace_id: z.string().nullable(),
      workspace_name: z.string().nullable(),
      text: z.string(),
      /** The same for translation: `one` is the sentence if the value `n` is 1, and a string is a text of a person or a provider. */
      sentences: z
        .array(
          z.union([
            z.string(),
            z.object({
              text: z.string(),
              one: z.string().nullable(),
              values: z
                .array(z.object({ name: z.string(), value: z.union([z.string(), z.number()]) }))
                .readonly(),
            }),
          ]),
        )
        .readonly(),
    }),
  ),
  /** Messages per second; null before the second reading of the server. */
  rates: rates.nullable(),
  totals: rates,
  message_queue: z.object({
    waiting: z.number(),
    due: z.number(),
    unknown: z.number(),
    oldest_due_at: timestamp.nullable(),
  }),
  delivery_queue: z.object({
    waiting: z.number(),
    due: z.number(),
    oldest_due_at: timestamp.nullable(),
  }),
  providers: z.array(provider),
  /** Sums over all workspaces, which may be larger than an amount. */
  credits: z.object({
    workspaces: z.number(),
    frozen: z.number(),
    balance: z.number(),
    held: z.number(),
  }),
  webhooks: z.object({ active: z.number(), failing: z.number(), disabled: z.number() }),
  /** The failing and the disabled webhooks with the latest failures. */
  troubled_webhooks: z.array(
    z.object({
      id: z.string(),
      workspace_id: z.string(),
      workspace_name: z.string().nullable(),
      /** Without path and query, which may have a secret. */
      host: z.string(),
      status: z.enum(['active', 'failing', 'disabled']),
      consecutive_failures: z.number(),
      last_failure_at: timestamp.nullable(),
    }),
  ),
  pause: pause.nullable(),
  failures: z.array(
    z.object({
      id: z.string(),
      workspace_id: z.string(),
      workspace_name: z.string().nullable(),
      channel,
      recipient: z.string(),
      provider: z.string().nullable(),
      error_code: z.string().nullable(),
      error_message: z.string().nullable(),
      bulk_id: z.string().nullable(),
      bulk_name: z.string().nullable(),
      at: timestamp,
    }),
  ),
})
export type OperatorOverview = z.input<typeof overview>
export type OperatorFinding = OperatorOverview['findings'][number]

export const workspace = z.object({
  id: z.string(),
  name: z.string(),
  email: z.string(),
  email_verified: z.boolean(),
  created_at: timestamp,
  available: credits,
  held: credits,
  status: z.enum(['active', 'frozen']),
  frozen_reason: z.string().nullable(),
  credit_limit: credits,
  daily_limit: credits.nullable(),
  spent_today: credits,
})
export type OperatorWorkspace = z.input<typeof workspace>

/** How a bulk of a workspace ended; without its content. */
export const operatedBulk = z.object({
  id: z.string(),
  /** The campaign of the request; null without one. */
  name: z.string().nullable(),
  channel,
  /** The messages; a rejected recipient got none. */
  accepted: z.number(),
  rejected: z.number(),
  queued: z.number(),
  canceled: z.number(),
  /** Without canceled messages. */
  failed: z.number(),
  /** Why messages failed, the most frequent first. */
  failures: z.array(z.object({ error_code: z.string().nullable(), count: z.number() })),
  created_at: timestamp,
})
export type OperatedBulk = z.input<typeof operatedBulk>

/** The pause of a country in the last day: a workspace sends no codes there. */
export const pausedCountry = z.object({
  country: z.string(),
  paused_at: timestamp,
  /** False: the pause has ended. */
  is_active: z.boolean(),
  /** The latest end. */
  ends_at: timestamp,
  /** The counts that led to the pause. */
  sent: z.number(),
  approved: z.number(),
})
export type PausedCountry = z.input<typeof pausedCountry>

export const auditEntry = z.object({
  id: z.string(),
  workspace_id: z.string().nullable(),
  workspace_name: z.string().nullable(),
  action: z.string(),
  actor: z.object({ kind: z.string(), id: z.string().nullable(), name: z.string().nullable() }),
  address: z.string().nullable(),
  /** What was changed, and how, in words. */
  target: z.string().nullable(),
  details: z.string(),
  created_at: timestamp,
})
export type OperatorAuditEntry = z.input<typeof auditEntry>

const queueStates = z.object({
  leased: z.number(),
  due: z.number(),
  later: z.number(),
  first_due_at: timestamp.nullable(),
})

export const queues = z.object({
  messages: queueStates,
  deliveries: queueStates,
  pause: pause.nullable(),
  /** Messages that may have been sent after the backup, if there is a pause after a restore. */
  doubtful: z.array(
    z.object({
      workspace_id: z.string(),
      workspace_name: z.string().nullable(),
      channel,
      count: z.number(),
      oldest_at: timestamp,
      newest_at: timestamp,
    }),
  ),
  /** Messages for which it is unknown whether a provider has them, at most 100. */
  unknown: z.array(
    z.object({
      id: z.string(),
      workspace_id: z.string(),
      workspace_name: z.string().nullable(),
      channel,
      recipient: z.string(),
      provider: z.string().nullable(),
      attempt: z.number(),
      due_at: timestamp,
      unknown_since: timestamp,
    }),
  ),
})
export type OperatorQueues = z.input<typeof queues>

export const purchase = z.object({
  id: z.string(),
  workspace_id: z.string(),
  workspace_name: z.string().nullable(),
  status: z.string(),
  payment_id: z.string().nullable(),
  credits,
  price: z.string(),
  review_reason: z.string(),
  created_at: timestamp,
})
export type OperatorPurchase = z.input<typeof purchase>

/** Work of this server in the background. */
const workState = z.enum(['none', 'running', 'done', 'failed'])

/** The verification of the ledger that runs or ran last in this server. */
export const ledger = z.object({
  /** Whether the server knows its database, which a host of the console does not pass on. */
  is_offered: z.boolean(),
  state: workState,
  started_at: timestamp.nullable(),
  progress: z.object({ name: z.string(), done: z.number(), total: z.number() }).nullable(),
  error: z.string().nullable(),
  report: z
    .object({
      ok: z.boolean(),
      workspaces: z.number(),
      entries: z.number(),
      messages: z.number(),
      differences: z.array(
        z.object({
          check: z.string(),
          workspace_id: z.string(),
          stands: z.string(),
          should: z.string(),
        }),
      ),
      has_more: z.boolean(),
    })
    .nullable(),
})
export type OperatorLedger = z.input<typeof ledger>

export const backups = z.object({
  state: workState,
  error: z.string().nullable(),
  /** Whether the server makes backups: for SQLite. */
  is_offered: z.boolean(),
  dir: z.string().nullable(),
  every_ms: z.number().nullable(),
  /** The newest 20; each was verified when it was made. */
  backups: z.array(z.object({ name: z.string(), at: timestamp, bytes: z.number() })),
})
export type OperatorBackups = z.input<typeof backups>

/** A result of a check of `svc doctor`. */
export const check = z.object({
  check: z.string(),
  level: z.enum(['ok', 'skipped', 'warning', 'error']),
  message: z.string(),
  advice: z.string().nullable(),
})
export type OperatorCheck = z.input<typeof check>

export const setting = z.object({
  key: z.string(),
  env: z.string(),
  value: z.string().nullable(),
  source: z.enum(['environment', 'file', 'default']),
  summary: z.string(),
})
export type OperatorSetting = z.input<typeof setting>
