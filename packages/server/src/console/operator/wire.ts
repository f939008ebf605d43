// Imports nothing, because the scripts of the browser read these types too. Times are ISO 8601, amounts are credits.

export interface Rates {
  accepted: number
  sent: number
  delivered: number
  failed: number
}

interface Queue {
  waiting: number
  due: number
  oldest_due_at: string | null
}

/** A state that needs action (`problem`) or attention (`notice`). */
export interface OperatorFinding {
  severity: 'problem' | 'notice'
  code: string
  text: string
}

/** The pause of all sending and delivering. */
export interface OperatorPause {
  cause: 'operator' | 'restore'
  reason: string
  backup_at: string | null
  created_at: string
}

/** The state of the whole service. */
export interface OperatorOverview {
  at: string
  findings: OperatorFinding[]
  /** Messages per second; null before the second reading of the server. */
  rates: Rates | null
  totals: Rates
  message_queue: Queue & { unknown: number }
  delivery_queue: Queue
  providers: OperatorProvider[]
  credits: { workspaces: number; frozen: number; balance: number; held: number }
  webhooks: { active: number; failing: number; disabled: number }
  pause: OperatorPause | null
  failures: {
    id: string
    workspace_id: string
    channel: string
    recipient: string
    provider: string | null
    error_code: string | null
    error_message: string | null
    at: string
  }[]
}

export interface OperatorProvider {
  name: string
  type: string
  channels: string[]
  state: 'active' | 'silent' | 'paused' | 'refused'
  messages_per_second: number | null
  pauses: {
    sender: string | null
    cause: 'operator' | 'misconfigured'
    code: string | null
    reason: string
    retry_at: string | null
    created_at: string
  }[]
  connections: { name: string; state: string }[]
  /** The messages that wait for the provider, and those in flight to it. */
  queue: {
    waiting: number
    oldest_waiting_at: string | null
    calls: number
    oldest_call_at: string | null
    unknown: number
  }
  /** The answers to the calls of this server. */
  recent: {
    period_s: number
    accepted: number
    rejected: number
    retried: number
    unknown: number
    last_error: { code: string; message: string; at: string } | null
  }
}

export interface OperatorWorkspace {
  id: string
  name: string
  email: string
  email_verified: boolean
  created_at: string
  available: number
  held: number
  status: 'active' | 'frozen'
  frozen_reason: string | null
  credit_limit: number
  daily_limit: number | null
  spent_today: number
}

export interface OperatorAuditEntry {
  id: string
  workspace_id: string | null
  action: string
  actor: { kind: string; id: string | null }
  address: string | null
  target: string | null
  details: string
  created_at: string
}

interface QueueStates {
  leased: number
  due: number
  later: number
  first_due_at: string | null
}

export interface OperatorQueues {
  messages: QueueStates
  deliveries: QueueStates
  pause: OperatorPause | null
  /** Messages that may have been sent after the backup, if there is a pause after a restore. */
  doubtful: {
    workspace_id: string
    channel: string
    count: number
    oldest_at: string
    newest_at: string
  }[]
  /** Messages for which it is unknown whether a provider has them, at most 100. */
  unknown: {
    id: string
    workspace_id: string
    channel: string
    recipient: string
    provider: string | null
    attempt: number
    unknown_since: string
    due_at: string
  }[]
}

export interface OperatorPurchase {
  id: string
  workspace_id: string
  status: string
  credits: number
  price: string
  review_reason: string
  payment_id: string | null
  created_at: string
}

/** The verification of the ledger that runs or ran last in this server. */
export interface OperatorLedger {
  /** Whether the server knows its database, which a host of the console does not pass on. */
  is_offered: boolean
  state: 'none' | 'running' | 'done' | 'failed'
  started_at: string | null
  progress: { name: string; done: number; total: number } | null
  error: string | null
  report: {
    ok: boolean
    workspaces: number
    entries: number
    messages: number
    differences: { check: string; workspace_id: string; stands: string; should: string }[]
    has_more: boolean
  } | null
}

export interface OperatorBackups {
  /** Whether the server makes backups: for SQLite. */
  is_offered: boolean
  dir: string | null
  every_ms: number | null
  /** The newest 20; each was verified when it was made. */
  backups: { name: string; at: string; bytes: number }[]
  state: 'none' | 'running' | 'done' | 'failed'
  error: string | null
}

/** A result of a check of `svc doctor`. */
export interface OperatorCheck {
  check: string
  level: 'ok' | 'warning' | 'error'
  message: string
  advice: string | null
}

export interface OperatorSetting {
  key: string
  env: string
  value: string | null
  source: 'environment' | 'file' | 'default'
  summary: string
}
