import type { Channel, Content, MessageStatus } from '../contract/messages.ts'

/** One message as a provider gets it. Plain data: it crosses a thread border. */
export interface SendJob {
  message_id: string
  channel: Channel
  sender: string | null
  recipient: string
  content: Content
  /** Counted from 1; more than 1 after a transient error. */
  attempt: number
}

/** What one call to a provider gave. Providers return it, they never throw across the thread border. */
export type Outcome =
  /** The provider has the message. `lookup_after_ms`: when to ask how it fared; null where it tells by callback. */
  | { type: 'accepted'; provider_message_id: string | null; lookup_after_ms: number | null }
  /** It will never take this message. */
  | { type: 'rejected'; error_code: string; error_message: string }
  /** It did not take it now; `delay_ms` where it said how long to wait. */
  | { type: 'retry'; error_code: string; error_message: string; delay_ms: number | null }
  /** It may have the message: the request was written and no answer could be read. */
  | { type: 'ambiguous'; error_code: string; error_message: string }

/** What a provider tells of a message after it took it. */
export interface Receipt {
  status: Exclude<MessageStatus, 'queued'>
  provider_message_id: string | null
  error_code: string | null
  error_message: string | null
}

/** A question about a message that the provider has, or may have. */
export interface LookupJob extends SendJob {
  provider_message_id: string | null
  /** When the attempt began that may have reached the provider, epoch milliseconds. */
  attempted_at_ms: number
  now_ms: number
}

/** What the recipient wrote back. */
export interface Reply {
  text: string
}

export type LookupResult =
  /** It knows the message. More is to come after `lookup_after_ms`; null: this was the last word, or callbacks follow. */
  | { type: 'found'; receipts: Receipt[]; replies: Reply[]; lookup_after_ms: number | null }
  /** It has never seen the message. */
  | { type: 'not_found' }
  /** It could not answer now. */
  | { type: 'unavailable' }

/**
 * Who carries messages. Batches go in and positional answers come out, one for each job and in their order. Every job
 * is answered within 20 seconds: the whole batch waits for its slowest, and after 30 counts as unanswered. Nothing is
 * retried inside: `retry` and `ambiguous` are answers, and the dispatcher alone decides what follows.
 */
export interface Provider {
  readonly name: string
  /** Whether sending one `message_id` twice reaches the recipient once. */
  readonly idempotent: boolean
  send(jobs: readonly SendJob[]): Promise<Outcome[]>
  /** Absent where the provider cannot be asked. */
  lookup?(jobs: readonly LookupJob[]): Promise<LookupResult[]>
}
