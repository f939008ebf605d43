import type { Channel } from '../../contract/resources/content.ts'
import type { EventKind } from '../../contract/resources/events.ts'

/**
 * The columns of a sent message that formats need, as plain data. They do not change before the message is erased, so every
 * attempt of a delivery sends the same bytes.
 */
export interface FormattedMessage {
  sender: string | null
  /** Of an e-mail; null for other channels. */
  subject: string | null
  /** Of an e-mail that names an address of the sender. */
  from_address: string | null
  /** Of a status callback that is not a POST. */
  callback_method: 'GET' | null
}

/** One attempt of a delivery. Plain data. */
export interface FormattedAttempt {
  workspace_id: string
  delivery_id: string
  event_id: string
  event: string
  /** The URL of the request. */
  url: string
  /** The secret that signs. */
  secret: string
  /** The other secret during a rotation. A format with several signatures in a request signs with both. */
  other_secret: string | null
  /** The stored body of the event: `{"event":…,"data":…}`. */
  body: string
  /** The message; null if the event is not about a sent message, and in the format `svc`. */
  message: FormattedMessage | null
  /** The number of the attempt, from 1. */
  attempt: number
}

/** The form of the requests to a webhook. Pure: equal attempts give equal requests. */
export interface WebhookFormat {
  /** Whether the format has a form for an event; default: it has one for each. `channel` is null for an event without a channel. */
  takes?(event: EventKind, channel: Channel | null): boolean
  /** `at`: the time of the attempt. */
  request(attempt: FormattedAttempt, at: Date): FormattedRequest
}

/** A request, with the content type and the signature among its headers. */
export interface FormattedRequest {
  /** Default: POST. */
  method?: 'GET'
  /** Default: the URL of the attempt. */
  url?: string
  /** Absent with GET. */
  body?: string
  headers: Record<string, string>
}
