import type { ErrorCode } from '../contract/errors.ts'
import type { Units } from '../contract/fields/units.ts'
import type { CallbackReading, LookupResult, Outcome } from '../contract/outside/provider.ts'
import type { Channel } from '../contract/resources/content.ts'
import type { MessageStatus } from '../contract/resources/message.ts'

/** Every way in which a try of a delivery can end: the class of the receiver's status, or why there was none. */
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

/** How one try of a delivery ended. */
export type DeliveryOutcome = (typeof DELIVERY_OUTCOMES)[number]

/**
 * What the service tells of its work, while it works: for counters and histograms. Each is called at once and in the
 * service's thread, often thousands of times a second, so it must be quick; what it throws is logged once and harms nothing. Nothing in it names a
 * workspace, a recipient or what was written. Durations are milliseconds, measured by a clock that never goes back.
 */
export interface Telemetry {
  /** A send or a bulk was accepted: its messages are on disk. The duration is that of the whole, the commit included. */
  accepted(channel: Channel, messages: number, duration_ms: number): void
  /** A send or a bulk was answered as it was the first time. */
  replayed(channel: Channel): void
  /** A send or a bulk was refused; of `internal_error` it may be unknown whether it was accepted. */
  refused(channel: Channel, code: ErrorCode): void
  /** Messages came to a status; a message may come to several. It is on disk. */
  reached(channel: Channel, status: MessageStatus, messages: number): void
  /** The credits of a message were given back. It is on disk. */
  refunded(amount: Units): void
  /** A transaction was committed, with so many jobs in it. SQLite's jobs share one; on PostgreSQL each has its own. */
  committed(jobs: number, duration_ms: number): void
  /** A queue was asked for due work. */
  claimed(queue: 'messages' | 'deliveries', items: number, duration_ms: number): void
  /** A provider was asked to send a message. Messages of one call share its duration. */
  attempted(provider: string, channel: Channel, outcome: Outcome['type'], duration_ms: number): void
  /** A provider was asked what became of a message. */
  lookedUp(provider: string, outcome: LookupResult['type']): void
  /** A provider was paused because it refuses its settings. */
  providerPaused(provider: string): void
  /** A provider called. */
  calledBack(provider: string, outcome: CallbackReading['type']): void
  /** Recipients wrote. It is on disk. */
  received(channel: Channel, provider: string): void
  /** A delivery was tried. */
  deliveryAttempted(outcome: DeliveryOutcome, duration_ms: number): void
  /** A delivery needs no further try. It is on disk. */
  deliveryEnded(status: 'delivered' | 'failed'): void
  /** What had ended by itself was looked for, and booked or removed. */
  swept(hasFailed: boolean): void
  /** A thread for providers and webhooks died; it is replaced. */
  threadDied(): void
}
