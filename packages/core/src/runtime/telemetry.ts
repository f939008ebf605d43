import type { ErrorCode, ErrorReason } from '../contract/errors.ts'
import type { Units } from '../contract/fields/units.ts'
import type { CallbackReading, LookupResult, Outcome } from '../contract/outside/provider.ts'
import type { ApiKeyMode } from '../contract/resources/api-keys.ts'
import type { Channel } from '../contract/resources/content.ts'
import type { MessageStatus } from '../contract/resources/message.ts'

/** The outcomes of a try of a delivery: the class of the receiver's status, or the reason why there was no status. */
export const DELIVERY_OUTCOMES = [
  '2xx',
  '3xx',
  '4xx',
  '5xx',
  'timeout',
  'connect',
  'dns',
  'tls',
  'reset',
  'blocked_target',
  'interrupted',
  'failed',
] as const

/** The results of a check of a code. `used`: it was approved before; `not_found`: the verification is not known. */
export const CODE_CHECK_RESULTS = [
  'approved',
  'pending',
  'expired',
  'canceled',
  'max_attempts',
  'external',
  'used',
  'not_found',
] as const

/** The result of a check of a code, for counting. */
export type CodeCheckResult = (typeof CODE_CHECK_RESULTS)[number]

/** The result of one attempt of a delivery, for counting. */
export type DeliveryOutcome = (typeof DELIVERY_OUTCOMES)[number]

/**
 * Reports of the service's work, for counters and histograms. The service calls each function synchronously, often
 * thousands of times a second, so each function must be quick. The first error is logged; all errors are ignored. No
 * parameter names a workspace, a recipient or a content. Durations are milliseconds of a clock that never goes back.
 */
export interface Telemetry {
  /** A send or bulk was accepted: its messages are on disk. The duration includes the commit. */
  accepted(channel: Channel, messages: number, duration_ms: number): void
  /** A repeated send or bulk got its first answer again. */
  replayed(channel: Channel): void
  /** A send or bulk was refused; after `internal_error` it may have been accepted. */
  refused(channel: Channel, code: ErrorCode): void
  /** A code was requested, also while one was pending; fallbacks and repetitions of a request are not counted. */
  codeStarted(channel: Channel, mode: ApiKeyMode): void
  /** A code was refused by one of the limits of one-time codes. */
  codeRefused(reason: ErrorReason, mode: ApiKeyMode): void
  /** A code was checked. */
  codeChecked(result: CodeCheckResult, mode: ApiKeyMode): void
  /** A verification was approved, by its code or without it; the approval is on disk. */
  codeApproved(channel: Channel, mode: ApiKeyMode): void
  /** Messages reached a status, which is on disk. A message may reach several statuses. A canceled one has not failed. */
  reached(channel: Channel, status: MessageStatus | 'canceled', messages: number): void
  /** A message that was not canceled was refunded; the refund is on disk. */
  refunded(amount: Units): void
  /** A transaction with `jobs` jobs was committed. On SQLite, jobs share a transaction; on PostgreSQL, each job has its own. */
  committed(jobs: number, duration_ms: number): void
  /** Work was claimed. The duration is null for work that was claimed in the commit that queued it. */
  claimed(queue: 'messages' | 'deliveries', items: number, duration_ms: number | null): void
  /** A message was passed to a provider. Messages of one call share its duration. */
  attempted(provider: string, channel: Channel, outcome: Outcome['type'], duration_ms: number): void
  lookedUp(provider: string, outcome: LookupResult['type']): void
  /** A provider was paused because it rejects its settings. */
  providerPaused(provider: string): void
  calledBack(provider: string, outcome: CallbackReading['type']): void
  /** A recipient's message is on disk. */
  received(channel: Channel, provider: string): void
  deliveryAttempted(outcome: DeliveryOutcome, duration_ms: number): void
  /** A delivery has ended; its status is on disk. */
  deliveryEnded(status: 'delivered' | 'failed'): void
  /** A sweep of expired holds, credits and records ended. */
  swept(hasFailed: boolean): void
  /** A thread for providers and webhooks died; a new thread replaces it. */
  threadDied(): void
}
