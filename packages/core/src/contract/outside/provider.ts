import type { RecipientRole } from '../resources/mail-recipients.ts'
import type { Channel, Content, MessageStatus } from '../resources/messages.ts'

/** Identifies one message. Providers put both ids into their callbacks, so that no search is needed. */
export interface MessageRef {
  workspace_id: string
  message_id: string
}

/** A DKIM key (RFC 6376) and its place in DNS: `<selector>._domainkey.<domain>`. */
export interface DkimKey {
  domain: string
  selector: string
  /** PEM. It must not reach a log, a trace or an error text. */
  private_key: string
}

/** One message for a provider: plain data that can be sent to other threads. */
export interface SendJob extends MessageRef {
  channel: Channel
  /**
   * The sender in the request, otherwise the first sender in the settings of the channel. For e-mail, the sender is a
   * display name.
   */
  sender: string | null
  recipient: string
  /**
   * Present for an e-mail with several recipients, of which `recipient` is the first: all of them, in the order to, cc, bcc.
   * The mail names all recipients except bcc, and is sent to those that are due: the others have it, or cannot get it.
   */
  recipients?: readonly JobRecipient[]
  content: Content
  /** The number of the attempt, from 1. It is more than 1 after a temporary error. */
  attempt: number
  /** The time when the service accepted the message, in epoch milliseconds; the same for every attempt. */
  created_at_ms: number
  /** The maximum duration of a call in seconds, for which the held credits pay. Null on other channels. */
  max_duration_s: number | null
  /**
   * The key that signs the mail, if the mail has an address of a sending domain in its header `From`. Only providers whose
   * traits have `signs` get it.
   */
  dkim?: DkimKey
}

/** One of several recipients of an e-mail. `is_due`: whether this attempt sends the mail to the recipient. */
export interface JobRecipient {
  address: string
  role: RecipientRole
  is_due: boolean
}

/**
 * The result for one of several recipients that differs from the result of the attempt. `rejected`: the provider will never
 * accept the mail for the recipient. `retry`: it did not accept the mail for the recipient now; the mail is sent again to such
 * recipients only.
 */
export interface RecipientOutcome {
  address: string
  type: 'rejected' | 'retry'
  error_code: string
  error_message: string
  /** Only with `rejected`: the recipient must not get any other message either. */
  suppress?: SuppressionReason
}

/** The state of one of several recipients in a receipt. */
export interface RecipientReceipt {
  /** The addresses that the report has for the recipient, such as its final and its original address. */
  addresses: readonly string[]
  status: Exclude<MessageStatus, 'queued'>
  error_code: string | null
  error_message: string | null
  suppress?: SuppressionReason
}

/** Why an address must not get messages again. */
export type SuppressionReason = 'opt_out' | 'bounce' | 'complaint'

/**
 * The result of one attempt. Providers return it and never throw. For a message with several recipients, `recipients` has the
 * results of those that differ; the result holds for all other recipients that were due. It is `accepted` if the provider
 * accepted the message for at least one.
 */
export type Outcome = AttemptOutcome & { recipients?: readonly RecipientOutcome[] }

/** The result of one call to a provider, for the whole message. */
export type AttemptOutcome =
  /** The provider has the message. */
  | {
      type: 'accepted'
      provider_message_id: string | null
      /** The time until the message is looked up; null if the provider sends receipts. */
      lookup_after_ms: number | null
      /** Present if receipts do not have our id: the ids that receipts will have, one for each part, in order. */
      part_ids?: string[]
      /** Other names of the recipient at the provider: a number in another form (E.164), or an id without a number. */
      identities?: string[]
      /** The status if no receipt follows, for example for a mail that the recipient's own server accepted. */
      status?: 'sent' | 'delivered'
    }
  /** The provider will never accept this message. With `suppress`, the recipient must not get any other message either. */
  | { type: 'rejected'; error_code: string; error_message: string; suppress?: SuppressionReason }
  /** The provider did not accept the message now. `delay_ms` is the delay that the provider stated, if any. */
  | {
      type: 'retry'
      error_code: string
      error_message: string
      delay_ms: number | null
      /**
       * The fault is in the settings or the account, not in the message: nothing more is sent through the provider, or
       * from this sender, until the fault is fixed.
       */
      misconfigured?: 'provider' | 'sender'
      /**
       * No request was begun, because `may_start` answered false or no connection became free in time. It is no failure of the
       * provider, which gets the message again.
       */
      not_begun?: true
      /**
       * A part of the message was sent. Only this provider may send the rest, from the place where it stopped. No credits
       * are returned.
       */
      partial?: true
    }
  /** The provider may have the message: the request was written, and no answer shows for certain what happened. */
  | {
      type: 'ambiguous'
      error_code: string
      error_message: string
      /** Present if the provider answered with a server error. `delay_ms` is the delay that the provider stated, if any. */
      answered?: { delay_ms: number | null }
    }

/** The provider's report on a message that it accepted. */
export interface Receipt {
  status: Exclude<MessageStatus, 'queued'>
  provider_message_id: string | null
  error_code: string | null
  error_message: string | null
  /** The reason why the recipient must not get messages again. */
  suppress?: SuppressionReason
  /**
   * Only with `failed`, after `ambiguous`: it became known late that the provider never accepted the message. Only the
   * provider itself reports this, with the id of the message.
   */
  never_accepted?: true
  /** Present if it became known late that the provider accepted the message: the same ids as in `Outcome`. */
  part_ids?: string[]
  /** The state of each recipient that the report names. It counts, in place of `status`, for a message with several. */
  recipients?: readonly RecipientReceipt[]
  /** The duration of a call in whole seconds; 0 if the call was not answered. Absent before its end and on other channels. */
  duration_s?: number
}

/** A look-up of a message that the provider has or may have. */
export interface LookupJob extends SendJob {
  provider_message_id: string | null
  /** The start of the attempt that may have reached the provider, in epoch milliseconds. */
  attempted_at_ms: number
  /** The time, after that start, from which the answer is missing; absent if the provider accepted the message. */
  unknown_since_ms?: number
  now_ms: number
}

/** A reply of the recipient. */
export interface Reply {
  provider_message_id: string
  text: string
}

/** The result of a look-up. */
export type LookupResult =
  /** The provider knows the message. `lookup_after_ms`: wait before the next look-up; null: final state, or callbacks follow. */
  | { type: 'found'; receipts: Receipt[]; replies: Reply[]; lookup_after_ms: number | null }
  /** The provider never got the message. `certain`: no request for the message can still arrive. */
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
  /**
   * The recipient of this message wants no more messages, for example by pressing "spam". `addresses` has the addresses that
   * the report names. A message with several recipients needs them: it is not known otherwise which recipient it was.
   */
  | {
      type: 'suppress'
      about: MessageRef
      reason: SuppressionReason
      addresses?: readonly string[]
    }
  | Received

/** A message from a recipient. */
export interface Received {
  type: 'received'
  channel: Channel
  /** The provider's id of the message, or null. A repeated report with the same id is ignored. */
  provider_message_id: string | null
  /** The author's number: E.164 with its plus sign; the author's id at the provider if the provider discloses no number. */
  sender: string
  /** Other names of the author at the provider, as in `Outcome`. */
  identities?: string[]
  /** The provider's id of the message that the author answered, if the provider reports it. */
  answers?: string
  /** The sender of ours that received the message. */
  recipient: string
  content: ReceivedContent
  /** The position of this part in a long text. `units` is the part's text as UTF-16BE in hex; `content.text` is null. */
  part?: { reference: number; total: number; number: number; units: string }
  /** The keyword that the provider recognised, if it handles keywords itself. */
  keyword?: 'stop' | 'start' | 'help'
}

/** A request of a provider to us, unchanged. */
export interface CallbackRequest {
  method: 'GET' | 'POST'
  /** The public URL that the provider called: `public_url`, the path, and the query in its original encoding. */
  url: string
  /** The headers, indexed by lower-case name. */
  headers: Readonly<Record<string, string | undefined>>
  body: Uint8Array
}

/** The content of a callback. */
export type CallbackReading =
  /** The client that sent the request does not know the secret. */
  | { type: 'forged' }
  /** The signature is valid, but the content cannot be read. `reason` never repeats the content. */
  | { type: 'unreadable'; reason: string }
  /** The reports of the callback. `answer` is set if the provider expects more than an empty 200. */
  | { type: 'read'; reports: Report[]; answer?: { content_type: string; body: string } }

/** A template of an account, in one language. */
export interface ProviderTemplate {
  name: string
  language: string
  /** Whether messages may be sent with it now. */
  is_approved: boolean
  /** The provider's word for its state, for example `PAUSED`. */
  status: string
  /** Whether the provider has not decided about it yet. */
  is_pending?: boolean
  /** Why the provider rejected it, in a word of the provider, for example `PROMOTIONAL`. */
  reason?: string
}

/** The templates of WhatsApp that a provider has. */
export type TemplateList =
  | {
      type: 'listed'
      templates: ProviderTemplate[]
      /** The meaning of `content.template.id`. */
      ids: Readonly<Record<string, { name: string; language: string }>>
      /**
       * What stands for one template whatever the language of the message: an id, `name:language`, or `name` for every language. Absent: a
       * name is that of a template.
       */
      aliases?: Readonly<Record<string, { name: string; language: string }>>
      /** A sentence at the end of the refusal of a template that is not approved: how the operator allows it. */
      advice?: string
    }
  /** The provider could not be asked. `reason` is for operators. */
  | { type: 'unavailable'; reason: string }

/** Accepts reports that do not arrive over HTTP. */
export interface Sink {
  /** Resolves when the reports are stored. The provider must not acknowledge them earlier. */
  receive(reports: readonly Report[]): Promise<void>
  /** Logs an event of a connection for operators. Text and fields never contain a secret or the content of a message. */
  note(level: 'info' | 'warn' | 'error', text: string, fields: object): void
}

/** A provider that listens. */
export interface Listening {
  /** The state of each connection, for operators. */
  states(): { name: string; state: 'up' | 'connecting' | 'down'; detail: string }[]
  /** Stops accepting reports and ends the connections, at most after `grace_ms`. */
  close(grace_ms: number): Promise<void>
}

/**
 * Carries messages. A provider gets batches and returns one answer for each job, in the same order, within 20 s: the
 * whole batch waits for its slowest job, and after 30 s the batch counts as unanswered. A provider does not retry: it returns
 * `retry` or `ambiguous`, and the dispatcher decides what follows. A provider does not log.
 */
export interface Provider {
  readonly name: string
  send(jobs: readonly SendJob[]): Promise<Outcome[]>
  /** Looks messages up; absent if the provider has no look-up. */
  lookup?(jobs: readonly LookupJob[]): Promise<LookupResult[]>
  /** Reads a callback; absent if the provider sends no callbacks. The request is untrusted: any client can send one. */
  readCallback?(request: CallbackRequest): CallbackReading | Promise<CallbackReading>
  /** Starts to accept reports that do not arrive over HTTP; absent if there are no such reports. Called once. */
  listen?(sink: Sink): Promise<Listening>
  /** Makes a harmless request with the credentials; returns the fault for the operator, or null. */
  check?(): Promise<string | null>
  /**
   * Lists the templates of WhatsApp, within a minute. Absent if the provider lists none: then templates are not checked before a charge.
   * Traits: `lists_templates`.
   */
  templates?(): Promise<TemplateList>
  /** Ends the connections of the provider. */
  close?(): Promise<void>
}

/** The context of an open provider: plain data that can be sent to other threads. */
export interface ProviderContext {
  /** The public URL of the service, without a slash at its end. */
  public_url: string
  /** The URL of this provider's callbacks: `<public_url>/callbacks/<name>`. */
  callback_url: string
  /** A secret of the service that signs values in callbacks. It is constant, and the same on every server. */
  secret: string
  /**
   * Whether a request may begin now: false while an operator pauses the provider, or all sending. A provider whose requests wait, for example
   * for a connection, asks again right before it begins each of them, and returns `retry` for those that may not begin.
   */
  may_start?: () => boolean
  /**
   * Reports how long a request took, in milliseconds from its first byte to the end of its answer. With `Traits.connections`,
   * the service learns from it how many messages the provider can carry.
   */
  note_call?: (duration_ms: number) => void
}

/** The traits that follow from a provider's settings, without opening it. */
export interface Traits {
  channels: readonly Channel[]
  /** The allowed senders of each channel; the first sender is the default. Without senders, any sender is allowed. */
  senders: Readonly<Partial<Record<Channel, readonly string[]>>>
  /** Whether the recipient gets a message only once if the same `message_id` is sent twice. */
  idempotent: boolean
  /** Whether the provider can look up a message without its own id for that message. */
  lookup: boolean
  /** The maximum size of a callback's body in bytes; null if the provider makes no callbacks. */
  callback_bytes: number | null
  /** Whether reports arrive by another way than HTTP. */
  listens: boolean
  /** Whether the provider sends on the connection on which it listens: both are then in the main thread. */
  connected: boolean
  /** The maximum number of messages that one sender may send in a second; null: no limit. */
  messages_per_second: number | null
  /** Whether the provider answers STOP, START and HELP itself. */
  handles_stop: boolean
  /**
   * Whether the provider sends one e-mail to several recipients (`SendJob.recipients`). Default: false; the service then
   * refuses such e-mails.
   */
  several_recipients?: boolean
  /** Whether e-mails get a header for one-click unsubscribe (RFC 8058). Absent: not known. */
  one_click?: boolean
  /** Whether `Provider.templates` lists the templates. The service then refuses messages with others. */
  lists_templates?: boolean
  /**
   * The templates of WhatsApp that the settings name: `name:language`, or `name` for every language, and the form of their ids. The service
   * then refuses messages with others, also while the provider cannot list its templates.
   */
  known_templates?: { names: readonly string[]; id_form: RegExp }
  /** Whether the provider signs mails with the keys of sending domains. */
  signs?: boolean
  /**
   * The maximum number of requests that the provider makes at once in each thread, if each message is one request that the
   * provider reports by `note_call`. The service then hands over only as many messages as these can carry.
   */
  connections?: number
}
