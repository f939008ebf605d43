import type { Channel, Content, MessageStatus } from '../resources/messages.ts'

/** Identifies one message. Providers put both ids into their callbacks, so that no search is needed. */
export interface MessageRef {
  workspace_id: string
  message_id: string
}

/** One message for a provider. Plain data, sent to other threads. */
export interface SendJob extends MessageRef {
  channel: Channel
  /**
   * The sender: the one in the request, or the first sender in the settings of the channel. For e-mail, the display
   * name.
   */
  sender: string | null
  recipient: string
  content: Content
  /** Counted from 1; more than 1 after a temporary error. */
  attempt: number
  /** When the service accepted the message, epoch milliseconds: the same for every attempt. */
  created_at_ms: number
  /** The maximum duration of a call in seconds, which its held credits pay for. Null on other channels. */
  max_duration_s: number | null
}

/** Why an address must not get messages again. */
export type SuppressionReason = 'opt_out' | 'bounce' | 'complaint'

/** The result of one attempt. Providers return it and never throw. */
export type Outcome =
  /** The provider has the message. */
  | {
      type: 'accepted'
      provider_message_id: string | null
      /** When to look the message up; null if the provider sends receipts. */
      lookup_after_ms: number | null
      /** If receipts do not have our id: the ids that they will have, one for each part of the message in order. */
      part_ids?: string[]
      /** The status if no receipt follows, as for a mail that the recipient's own server accepted. */
      status?: 'sent' | 'delivered'
    }
  /** The provider will never accept this message. `suppress`: nor any other for this recipient. */
  | { type: 'rejected'; error_code: string; error_message: string; suppress?: SuppressionReason }
  /** The provider did not accept the message now; `delay_ms` if it stated a delay. */
  | {
      type: 'retry'
      error_code: string
      error_message: string
      delay_ms: number | null
      /**
       * The fault is in the settings or the account, not in the message: nothing more is sent through the provider, or
       * from this sender, until it is fixed.
       */
      misconfigured?: 'provider' | 'sender'
      /**
       * A part of the message was sent: only this provider may send the rest, from where it stopped, and no credits are
       * returned.
       */
      partial?: true
    }
  /** The provider may have the message: the request was written, and no answer says for certain what happened. */
  | {
      type: 'ambiguous'
      error_code: string
      error_message: string
      /** The provider answered with a server error; `delay_ms` if it stated a delay. */
      answered?: { delay_ms: number | null }
    }

/** The provider's report on a message that it accepted. */
export interface Receipt {
  status: Exclude<MessageStatus, 'queued'>
  provider_message_id: string | null
  error_code: string | null
  error_message: string | null
  /** The recipient must not get messages again. */
  suppress?: SuppressionReason
  /**
   * With `failed`, after `ambiguous`: it became known late that the provider never accepted the message. Only in reports
   * of the provider itself, with the id of the message.
   */
  never_accepted?: true
  /** If an acceptance became known late: as in `Outcome`. */
  part_ids?: string[]
  /** The duration of the call in whole seconds; 0 if it was not answered. Absent on other channels and before its end. */
  duration_s?: number
}

/** A look-up of a message that the provider has or may have. */
export interface LookupJob extends SendJob {
  provider_message_id: string | null
  /** The start of the attempt that may have reached the provider, epoch milliseconds. */
  attempted_at_ms: number
  /** Since when its answer is missing, which is later; absent if the provider accepted the message. */
  unknown_since_ms?: number
  now_ms: number
}

/** A reply of the recipient. */
export interface Reply {
  provider_message_id: string
  text: string
}

export type LookupResult =
  /** The provider knows the message. The next look-up is after `lookup_after_ms`; null: this state is final, or callbacks follow. */
  | { type: 'found'; receipts: Receipt[]; replies: Reply[]; lookup_after_ms: number | null }
  /** The provider never got the message; `certain`: and no request for it can still arrive. */
  | { type: 'not_found'; certain?: true }
  /** The provider could not answer now. */
  | { type: 'unavailable' }

/** The content of a received message: a text, media, or both. */
export interface ReceivedContent {
  text: string | null
  media: { url: string; content_type: string | null }[]
}

/** A report that a provider sends by itself. */
export type Report =
  /** The state of a message; `about` is null if the report has only the provider's id. */
  | {
      type: 'receipt'
      about: MessageRef | null
      provider_message_id: string | null
      receipt: Receipt
    }
  /** The recipient of this message wants no more messages, for example by pressing "spam". */
  | { type: 'suppress'; about: MessageRef; reason: SuppressionReason }
  | Received

/** A message from a recipient. */
export interface Received {
  type: 'received'
  channel: Channel
  /** Null if the provider has none. Otherwise a repeated report is ignored. */
  provider_message_id: string | null
  /** The author: E.164 with its plus sign. */
  sender: string
  /** One of our senders. */
  recipient: string
  content: ReceivedContent
  /** Which part of a long text this is; `units` is its text as UTF-16BE in hex, and `content.text` is null. */
  part?: { reference: number; total: number; number: number; units: string }
  /** The keyword that the provider recognised, if it handles keywords itself. */
  keyword?: 'stop' | 'start' | 'help'
}

/** A request of a provider to us, unchanged. */
export interface CallbackRequest {
  method: 'GET' | 'POST'
  /** The public URL that the provider called: `public_url`, the path, and the query in its original encoding. */
  url: string
  /** By lower-case name. */
  headers: Readonly<Record<string, string | undefined>>
  body: Uint8Array
}

/** The content of a callback. */
export type CallbackReading =
  /** The sender does not know the secret. */
  | { type: 'forged' }
  /** The signature is valid, but the content cannot be read. `reason` never repeats the content. */
  | { type: 'unreadable'; reason: string }
  /** `answer` if the provider expects more than an empty 200. */
  | { type: 'read'; reports: Report[]; answer?: { content_type: string; body: string } }

/** Accepts reports that do not arrive over HTTP. */
export interface Sink {
  /** Resolves when the reports are stored: only then may the provider acknowledge them. */
  receive(reports: readonly Report[]): Promise<void>
  /** Logs an event of a connection for operators: never a secret, never the content of a message. */
  note(level: 'info' | 'warn' | 'error', text: string, fields: object): void
}

export interface Listening {
  /** The state of each connection, for operators. */
  states(): { name: string; state: 'up' | 'connecting' | 'down'; detail: string }[]
  /** Accepts no more reports and ends its connections, at most after `grace_ms`. */
  close(grace_ms: number): Promise<void>
}

/**
 * Carries messages. It gets batches and returns one answer for each job, in the order of the jobs, within 20 s: the whole
 * batch waits for its slowest job, and after 30 s it counts as unanswered. A provider does not retry: it returns `retry` or
 * `ambiguous`, and the dispatcher decides what follows. A provider does not log.
 */
export interface Provider {
  readonly name: string
  send(jobs: readonly SendJob[]): Promise<Outcome[]>
  /** Absent if the provider has no look-up. */
  lookup?(jobs: readonly LookupJob[]): Promise<LookupResult[]>
  /** Reads a callback; absent if the provider makes none. The request is untrusted: any client can send one. */
  readCallback?(request: CallbackRequest): CallbackReading
  /** Accepts reports that do not arrive over HTTP; absent if there are none. Called once. */
  listen?(sink: Sink): Promise<Listening>
  /** Makes a harmless request with the credentials; returns the fault for the operator, or null. */
  check?(): Promise<string | null>
  /** Ends its connections. */
  close?(): Promise<void>
}

/** The context of an open provider. Plain data, sent to other threads. */
export interface ProviderContext {
  /** The public URL of the service, without a slash at its end. */
  public_url: string
  /** The URL of this provider's callbacks: `<public_url>/callbacks/<name>`. */
  callback_url: string
  /** A secret of the service, constant and the same on every server: it signs values that come back in callbacks. */
  secret: string
}

/** The traits that follow from a provider's settings, without opening it. */
export interface Traits {
  channels: readonly Channel[]
  /** The allowed senders, the first being the default; none if any sender is allowed. */
  senders: Readonly<Partial<Record<Channel, readonly string[]>>>
  /** Whether the recipient gets a message once if the same `message_id` is sent twice. */
  idempotent: boolean
  /** Whether it can look up a message without its own id for it. */
  lookup: boolean
  /** The maximum size of a callback's body in bytes; null if the provider makes no callbacks. */
  callback_bytes: number | null
  /** Whether reports arrive by another way than HTTP. */
  listens: boolean
  /** Whether it sends on the connection that it listens on: both are then in the main thread. */
  connected: boolean
  /** How many messages a second one sender may send; null: no limit. */
  messages_per_second: number | null
  /** Whether it answers STOP, START and HELP itself. */
  handles_stop: boolean
}
