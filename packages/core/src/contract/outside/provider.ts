import type { Channel, Content, MessageStatus } from '../resources/messages.ts'

/** Which message of ours something is about. Providers put both into what comes back to us: no look-up is needed then. */
export interface MessageRef {
  workspace_id: string
  message_id: string
}

/** One message as a provider gets it. Plain data: it crosses a thread border. */
export interface SendJob extends MessageRef {
  channel: Channel
  /**
   * Who sends: what the request named, else the first sender that the settings have for the channel. An e-mail's
   * display name.
   */
  sender: string | null
  recipient: string
  content: Content
  /** Counted from 1; more than 1 after a transient error. */
  attempt: number
  /** When the message was accepted, epoch milliseconds: the same on every attempt. */
  created_at_ms: number
  /** How long a call may last at the most, in seconds: what its held credits pay for. Null on other channels. */
  max_duration_s: number | null
}

/** Why an address must not be written to again. */
export type SuppressionReason = 'opt_out' | 'bounce' | 'complaint'

/** What one call to a provider gave. Providers return it, they never throw across the thread border. */
export type Outcome =
  /** The provider has the message. */
  | {
      type: 'accepted'
      provider_message_id: string | null
      /** When to ask how it fared; null where it tells by itself. */
      lookup_after_ms: number | null
      /** Where receipts do not bring our id: the ids they will bring, one for each part of the message in its order. */
      part_ids?: string[]
      /** Where taking it over is all there is to it, as for a mail handed to the recipient's own server. */
      status?: 'sent' | 'delivered'
    }
  /** It will never take this message. `suppress`: nor anything for this recipient. */
  | {
      type: 'rejected'
      error_code: string
      error_message: string
      suppress?: SuppressionReason
    }
  /** It did not take it now; `delay_ms` where it said how long to wait. */
  | {
      type: 'retry'
      error_code: string
      error_message: string
      delay_ms: number | null
      /**
       * What is wrong lies in the settings or the account, not in the message: nothing more is sent through the
       * provider, or from this sender, until that is mended.
       */
      misconfigured?: 'provider' | 'sender'
      /**
       * Part of it went out: the rest is to go through this provider alone, which goes on where it stopped, and nothing
       * is given back.
       */
      partial?: true
    }
  /** It may have the message: the request was written, and no answer could be read or none that says so for certain. */
  | {
      type: 'ambiguous'
      error_code: string
      error_message: string
      /** It did answer, with a server error; `delay_ms` where it said how long to wait. */
      answered?: { delay_ms: number | null }
    }

/** What a provider tells of a message after it took it. */
export interface Receipt {
  status: Exclude<MessageStatus, 'queued'>
  provider_message_id: string | null
  error_code: string | null
  error_message: string | null
  /** The recipient must not be written to again. */
  suppress?: SuppressionReason
  /**
   * With `failed`, after `ambiguous`: the provider never took it, as came to be known late. Told by itself alone, and
   * of a message by its id.
   */
  never_accepted?: true
  /** Where an acceptance came to be known late: as in `Outcome`. */
  part_ids?: string[]
  /** How long the call lasted, in whole seconds; 0 where nobody answered. Absent on other channels, and until it ended. */
  duration_s?: number
}

/** A question about a message that the provider has, or may have. */
export interface LookupJob extends SendJob {
  provider_message_id: string | null
  /** When the attempt began that may have reached the provider, epoch milliseconds. */
  attempted_at_ms: number
  /** Since when its answer is missed, which is later; absent where the provider took it. */
  unknown_since_ms?: number
  now_ms: number
}

/** What the recipient wrote back. */
export interface Reply {
  provider_message_id: string
  text: string
}

export type LookupResult =
  /** It knows the message. More is to come after `lookup_after_ms`; null: this was the last word, or callbacks follow. */
  | { type: 'found'; receipts: Receipt[]; replies: Reply[]; lookup_after_ms: number | null }
  /** It has never seen the message; `certain`: nor can a request for it still be on its way. */
  | { type: 'not_found'; certain?: true }
  /** It could not answer now. */
  | { type: 'unavailable' }

/** What a recipient wrote: a text, media, or both. */
export interface ReceivedContent {
  text: string | null
  media: { url: string; content_type: string | null }[]
}

/** What a provider tells by itself. */
export type Report =
  /** How a message fares; `about` is null where only the provider's id is told. */
  | {
      type: 'receipt'
      about: MessageRef | null
      provider_message_id: string | null
      receipt: Receipt
    }
  /** The recipient of this message wants no more, for example by pressing "spam". */
  | { type: 'suppress'; about: MessageRef; reason: SuppressionReason }
  | Received

/** Something a recipient wrote. */
export interface Received {
  type: 'received'
  channel: Channel
  /** Null where the provider gives none. Else the same thing is never taken twice. */
  provider_message_id: string | null
  /** Who wrote: E.164 with its plus sign. */
  sender: string
  /** To whom: one of our senders. */
  recipient: string
  content: ReceivedContent
  /** Which part of a long text this is; `units` is its text as UTF-16BE in hex, and `content.text` is null. */
  part?: { reference: number; total: number; number: number; units: string }
  /** What the provider took it for, where it acts on such words by itself. */
  keyword?: 'stop' | 'start' | 'help'
}

/** A request that a provider made to us, as it came. */
export interface CallbackRequest {
  method: 'GET' | 'POST'
  /** The public address as the provider called it: `public_url`, the path, and the query as it was encoded. */
  url: string
  /** By lower-case name. */
  headers: Readonly<Record<string, string | undefined>>
  body: Uint8Array
}

/** What a request of a provider turned out to be. */
export type CallbackReading =
  /** Nobody who knows the secret sent it. */
  | { type: 'forged' }
  /** It is signed, and cannot be read. `reason` never repeats its contents. */
  | { type: 'unreadable'; reason: string }
  /** `answer` where the provider expects more than an empty 200. */
  | { type: 'read'; reports: Report[]; answer?: { content_type: string; body: string } }

/** Where what comes in by itself is taken. Resolves when it is stored: only then may it be acknowledged. */
export interface Sink {
  receive(reports: readonly Report[]): Promise<void>
  /** What operators should know of a connection: never a secret, never a message's contents. */
  note(level: 'info' | 'warn' | 'error', text: string, fields: object): void
}

export interface Listening {
  /** What operators see of it, one line for each connection. */
  states(): { name: string; state: 'up' | 'connecting' | 'down'; detail: string }[]
  /** Takes nothing more in and ends its connections, at most after `grace_ms`. */
  close(grace_ms: number): Promise<void>
}

/**
 * Who carries messages. Batches go in and positional answers come out, one for each job and in their order. Every job
 * is answered within 20 seconds: the whole batch waits for its slowest, and after 30 counts as unanswered. Nothing is
 * retried inside: `retry` and `ambiguous` are answers, and the dispatcher alone decides what follows. Nothing is logged.
 */
export interface Provider {
  readonly name: string
  send(jobs: readonly SendJob[]): Promise<Outcome[]>
  /** Absent where the provider cannot be asked. */
  lookup?(jobs: readonly LookupJob[]): Promise<LookupResult[]>
  /** Reads what the provider called; absent where it calls nothing. Called with whatever anybody on the net sends. */
  readCallback?(request: CallbackRequest): CallbackReading
  /** Takes in what comes by other ways than HTTP; absent where nothing does. Called once. */
  listen?(sink: Sink): Promise<Listening>
  /** Asks the provider something harmless with the credentials; what is wrong, for the operator, or null. */
  check?(): Promise<string | null>
  /** Ends its connections. */
  close?(): Promise<void>
}

/** What the service gives a provider that it opens. Plain data: it crosses a thread border. */
export interface ProviderContext {
  /** Where the service is reached from outside, without a slash at its end. */
  public_url: string
  /** Where this provider calls us: `<public_url>/callbacks/<name>`. */
  callback_url: string
  /** Known to this service alone, the same for ever and on every server: for signing what comes back to us. */
  secret: string
}

/** What follows from a provider's settings alone, without opening it. */
export interface Traits {
  channels: readonly Channel[]
  /** From whom it may send, the first where the request names nobody; none where anything goes. */
  senders: Readonly<Partial<Record<Channel, readonly string[]>>>
  /** Whether sending one `message_id` twice reaches the recipient once. */
  idempotent: boolean
  /** Whether it can be asked about a message whose id it never told. */
  lookup: boolean
  /** How many bytes the body of a callback may have; null where the provider makes none. */
  callback_bytes: number | null
  /** Whether something comes in by other ways than HTTP. */
  listens: boolean
  /** Whether it sends on the connection that it listens on: both are then in the service's own thread. */
  connected: boolean
  /** How many messages a second one sender may send; null for as many as there are. */
  messages_per_second: number | null
  /** Whether it answers STOP, START and HELP by itself. */
  handles_stop: boolean
}
