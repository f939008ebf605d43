// Made from the table of the API by `npm run docs`; a test compares the two.
import type { Call, CallOptions, List } from '../transport/call.ts'

/** An instant of a request: a `Date`, or ISO 8601. A date alone is its first instant; without an offset it is UTC. */
export type Instant = string | Date

/** The stored content of a message; the channel decides which fields it has. Empty after an erasure. */
export interface MessageContent {
  text?: string
  subject?: string
  html?: string
  [field: string]: unknown
}

/** An error code of the API, with its HTTP status. */
export interface ErrorStatuses {
  validation_error: 400
  unauthorized: 401
  token_expired: 401
  insufficient_credits: 402
  forbidden: 403
  not_found: 404
  rate_limit_exceeded: 429
  internal_error: 500
}

/** A word of the API: one `Channel`. */
export type Channel = 'sms' | 'whatsapp' | 'email' | 'voice'

/** A word of the API: one `MessageStatus`. */
export type MessageStatus = 'queued' | 'sent' | 'delivered' | 'failed' | 'read'

/** A word of the API: one `EventKind`. */
export type EventKind = 'message.sent' | 'message.delivered' | 'message.failed' | 'message.recipients_failed' | 'message.read' | 'message.received' | 'credits.low' | 'verification.approved' | 'verification.failed' | 'verification.expired' | 'verification.paused' | 'broadcast.paused' | 'broadcast.finished' | 'webhook.test'

/** A word of the API: one `Scope`. */
export type Scope = 'send_messages' | 'read_messages' | 'manage_contacts' | 'manage_webhooks'

/** A word of the API: one `AuditAction`. */
export type AuditAction = 'workspace.created' | 'account.updated' | 'session.created' | 'session.refused' | 'session.ended' | 'sessions.ended' | 'email.verified' | 'sign_in.linked' | 'sign_in.unlinked' | 'second_factor.added' | 'second_factor.removed' | 'passkey.added' | 'passkey.removed' | 'second_factor.reset' | 'password.reset' | 'password.changed' | 'member.added' | 'member.changed' | 'member.renamed' | 'member.removed' | 'owner.changed' | 'invitation.created' | 'invitation.withdrawn' | 'api_key.created' | 'api_key.deactivated' | 'credentials.revoked' | 'webhook.created' | 'webhook.updated' | 'webhook.deleted' | 'webhook.secret_rotated' | 'webhook.enabled' | 'webhook.recovered' | 'domain.added' | 'domain.verified' | 'domain.failing' | 'domain.failed' | 'domain.rotation_started' | 'domain.rotated' | 'domain.removed' | 'template.created' | 'template.updated' | 'template.published' | 'template.deleted' | 'broadcast.created' | 'broadcast.updated' | 'broadcast.paused' | 'broadcast.resumed' | 'broadcast.canceled' | 'verification.allowed' | 'credits.granted' | 'credits.adjusted' | 'terms.updated' | 'workspace.frozen' | 'workspace.unfrozen' | 'purchase.checked' | 'purchase.refunded' | 'recipient.erased' | 'message.erased' | 'message.redacted' | 'dispatch.paused' | 'dispatch.resumed' | 'provider.paused' | 'provider.resumed' | 'secrets.encrypted' | 'secrets.decrypted' | 'secrets.discarded' | 'operator.added' | 'operator.removed' | 'operator.reset' | 'operator.password_changed' | 'operator.second_factor_added' | 'operator.second_factor_removed' | 'operator.passkey_added' | 'operator.passkey_removed' | 'operator.signed_in' | 'operator.refused' | 'operator.signed_out' | 'ledger.verified' | 'backup.made' | 'settings.changed'

/** A word of the API: one `RecipientFault`. */
export type RecipientFault = 'invalid_recipient' | 'contact_not_found' | 'missing_variable' | 'invalid_variable' | 'invalid_content' | 'invalid_metadata' | 'country_not_allowed' | 'suppressed'

/** A word of the API: one `TransactionType`. */
export type TransactionType = 'purchase' | 'purchase_adjust' | 'grant' | 'send' | 'refund' | 'hold' | 'settle' | 'void' | 'expire' | 'adjustment' | 'opening'

/** `ApiKey` in JSON. */
export interface ApiKey {
  id: string
  name: string
  key_prefix: string
  scopes: (Scope)[]
  is_active: boolean
  last_used_at: string | null
  created_at: string
  mode: 'live' | 'test'
  expires_at: string | null
  allowed_ips: string[] | null
  daily_credit_limit: number | null
  /** Whether the key also signs callbacks, in place of an auth token of Twilio. */
  signs: boolean
}

/** `Audience` in JSON. */
export interface Audience {
  /** Contacts with at least one of these tags. Absent or empty: all contacts. */
  tags?: string[]
  /** Without the contacts that have one of these tags. */
  exclude_tags?: string[]
  /** Only contacts whose attributes have all these values. */
  attributes?: Record<string, string | number | boolean>
  /** Without the contacts that have one of these attributes with its value. */
  exclude_attributes?: Record<string, string | number | boolean>
}

/** `AuditEntry` in JSON. */
export interface AuditEntry {
  id: string
  action: AuditAction
  actor: {
    kind: 'session' | 'api_key' | 'client' | 'operator' | 'service'
    /** The id of the API key or of the member, or the name of the operator; otherwise null. It is null for the owner of the workspace too. */
    id: string | null
    /** The present e-mail address of the login, or name of the API key; null for other actors, and for a login that was removed. */
    name: string | null
  }
  /** The IP address of the client; null for the command line. */
  address: string | null
  /** The changed object; null for the workspace itself. */
  target: { type: string; id: string } | null
  details: Record<string, unknown>
  request_id: string | null
  created_at: string
}

/** `Broadcast` in JSON. */
export interface Broadcast {
  id: string
  name: string | null
  channel: Channel
  /** `scheduled`: it begins at `scheduled_at`, or within a second. `finished`: each contact of the audience had its turn; messages may still be queued. */
  status: 'draft' | 'scheduled' | 'running' | 'paused' | 'finished' | 'canceled'
  /** Why it is paused; null in other states. `requested` and `restored`: its queued messages wait for `resume` too. Otherwise they are still sent. */
  pause: {
    reason: 'requested' | 'insufficient_credits' | 'credential' | 'forbidden' | 'template' | 'restored'
    message: string
  } | null
  template: {
    name: string
    /** Fixed when the broadcast begins; before, null stands for the latest version. */
    version: number | null
    locale: string | null
    /** Strings of at most 10000 characters, numbers, booleans, and lists of at most 1000 such values or objects. */
    variables: Record<string, unknown>
  }
  from: string | null
  audience: Audience
  rate: number | null
  scheduled_at: string | null
  /** `recipient`: `scheduled_at` is the local time of each recipient, as if it were UTC. */
  time_zone: 'recipient' | null
  /** With `time_zone`: how many messages go when, the earliest first; a past time stands for at once. Null otherwise. Quiet hours and `rate` can delay messages further. */
  departures: {
    at: string
    messages: number
    /** The first 5 zones. */
    time_zones: string[]
  }[] | null
  counts: {
    /** The contacts of the audience when the broadcast began; null before, and for an audience with attributes or exclude_attributes. */
    audience: number | null
    /** The contacts that had their turn. */
    contacts: number
    /** The messages. */
    accepted: number
    /** Contacts whose address is suppressed. */
    suppressed: number
    /** Contacts without an address for the channel. */
    no_address: number
    /** Contacts whose message is not possible, for example without a value. */
    rejected: number
  }
  credits_used: number
  created_at: string
  updated_at: string
  started_at: string | null
  /** When each contact had had its turn, or the broadcast was canceled. */
  finished_at: string | null
}

/** `BroadcastPreview` in JSON. */
export interface BroadcastPreview {
  /** The size of the audience. */
  contacts: number
  /** The messages that would be sent. */
  sendable: number
  suppressed: number
  no_address: number
  rejected: number
  credits_needed: number
  /** Whether the audience has more than 5000 contacts that can get a message: `rejected` and the price of the others are then those of the first 5000, in proportion. */
  is_estimate: boolean
  credits_balance: number
  /** With `time_zone`: how many messages go when, the earliest first; a past time stands for at once. Null otherwise. Quiet hours and `rate` can delay messages further. */
  departures: {
    at: string
    messages: number
    /** The first 5 zones. */
    time_zones: string[]
  }[] | null
  template: UsedTemplate
  /** The first 5 messages. */
  samples: {
    contact_id: string
    to: string
    content: Record<string, unknown>
    credits: number
    segments: number | null
  }[]
  /** Why contacts are rejected: the first 5. */
  faults: { contact_id: string; message: string }[]
}

/** `BroadcastResults` in JSON. */
export interface BroadcastResults {
  queued: number
  sent: number
  delivered: number
  read: number
  failed: number
  /** The part of `failed` that was canceled. */
  canceled: number
  /** The failed messages by reason, the most frequent first, at most 20, without canceled ones. */
  failures: { error_code: string | null; count: number }[]
  /** Recipients that opted out of the channel since the broadcast began. */
  unsubscribed: number
  credits_refunded: number
}

/** `Bulk` in JSON. */
export interface Bulk {
  id: string
  channel: Channel
  /** `queued`: no message was sent yet. `completed`: no message is queued any more; receipts may still follow. */
  status: 'queued' | 'processing' | 'completed'
  total: number
  accepted: number
  rejected: number
  duplicates: number
  counts: {
    queued: number
    sent: number
    delivered: number
    failed: number
    read: number
  }
  /** The part of `counts.failed` that was canceled. */
  canceled: number
  /** The other part of `counts.failed` by the error, the most frequent first. `GET /api/v1/messages` lists the messages. */
  failures: { error_code: string | null; count: number }[]
  /** The messages that `POST /api/v1/messages/bulk/:id/retry` would send: they failed before a provider accepted them. 0 while messages are queued, and after that request. */
  retryable: number
  /** The `campaign` of the metadata of the request; null without one. */
  name: string | null
  /** The `from` of the request. */
  sender: string | null
  /** The content of the request with its placeholders. Null for a bulk of different e-mails, for a step of a broadcast, for a bulk of an earlier version, and after the retention time. */
  content: Record<string, unknown> | null
  credits_used: number
  credits_refunded: number
  livemode: boolean
  created_at: string
  /** When a request paused it; null if it is not paused, or no message is queued. */
  paused_at: string | null
  /** The broadcast whose step it is; null for most bulks. */
  broadcast_id: string | null
}

/** `BulkRecipient` in JSON. */
export interface BulkRecipient {
  to?: string | undefined
  /** In place of `to`. */
  contact_id?: string | undefined
  name?: string | undefined
  variables?: Record<string, string | number | boolean | null> | undefined
  /** Its keys override those of the request. */
  metadata?: Record<string, unknown> | undefined
}

/** `BulkRejection` in JSON. */
export interface BulkRejection {
  index: number
  /** The first 254 characters of the address; null if the contact does not exist, `erased` after an erasure. */
  to: string | null
  error: RecipientFault
  /** The first 500 characters; empty after an erasure. */
  message: string
}

/** `CodeVerification` in JSON. */
export interface CodeVerification {
  id: string
  status: 'pending' | 'approved' | 'expired' | 'canceled' | 'max_attempts' | 'external'
  /** The first address; `erased` after its erasure. */
  to: string
  /** The channel of the last message. */
  channel: Channel
  /** The language of the last text. */
  locale: string
  livemode: boolean
  /** How many wrong codes were given. */
  attempts: number
  /** How many more wrong codes are allowed. */
  attempts_left: number
  /** Messages with the code. */
  messages_sent: number
  /** The last message with the code. */
  message_id: string
  /** The messages with the code, oldest first. */
  messages: {
    message_id: string
    channel: Channel
    to: string
    sent_at: string
  }[]
  /** The channels that were not tried yet, in their order. */
  fallback: { channel: Channel; to: string }[]
  /** When the first channel of `fallback` is tried, unless the last message is delivered before. Null: never. */
  next_fallback_at: string | null
  /** The price of all its messages. */
  credits_used: number
  metadata: Record<string, unknown>
  created_at: string
  expires_at: string
  /** The earliest time for another message with the code. A start before it sends nothing and costs nothing. */
  next_send_at: string
  /** When it was approved, or ended otherwise. Null while it is pending. */
  ended_at: string | null
}

/** `Contact` in JSON. */
export interface Contact {
  id: string
  name: string | null
  phone: string | null
  email: string | null
  external_id: string | null
  tags: string[]
  attributes: Record<string, unknown>
  subscriptions: {
    sms?: 'subscribed' | 'unsubscribed'
    whatsapp?: 'subscribed' | 'unsubscribed'
    email?: 'subscribed' | 'unsubscribed'
    voice?: 'subscribed' | 'unsubscribed'
  }
  created_at: string
  updated_at: string
}

/** `CreditPackage` in JSON. */
export interface CreditPackage {
  id: string
  name: string
  description: string
  credits: number
  bonus_credits: number
  price: {
    /** In minor units of the currency: 1000 is 10.00 USD, and 1000 JPY. */
    amount: number
    /** ISO 4217. */
    currency: string
  }
}

/** `Delivery` in JSON. */
export interface Delivery {
  id: string
  webhook_id: string
  event: EventKind
  message_id: string | null
  status: 'pending' | 'delivered' | 'failed' | 'discarded'
  trigger: 'event' | 'test' | 'manual'
  livemode: boolean
  attempt_count: number
  max_attempts: number
  next_attempt_at: string | null
  /** Why the delivery is not attempted before: `due` for its turn, `retry` after a failed attempt, `receiver_unavailable` while the receiver gets nothing because it failed several times in a row or asked to wait. */
  next_attempt_reason: 'due' | 'retry' | 'receiver_unavailable' | null
  response_status: number | null
  response_time_ms: number | null
  error: string | null
  created_at: string
  delivered_at: string | null
}

/** `DeliveryAttempt` in JSON. */
export interface DeliveryAttempt {
  number: number
  started_at: string
  duration_ms: number
  response_status: number | null
  response_body: string | null
  error: string | null
}

/** `DeliveryWithAttempts` in JSON. */
export interface DeliveryWithAttempts {
  id: string
  webhook_id: string
  event: EventKind
  message_id: string | null
  status: 'pending' | 'delivered' | 'failed' | 'discarded'
  trigger: 'event' | 'test' | 'manual'
  livemode: boolean
  attempt_count: number
  max_attempts: number
  next_attempt_at: string | null
  /** Why the delivery is not attempted before: `due` for its turn, `retry` after a failed attempt, `receiver_unavailable` while the receiver gets nothing because it failed several times in a row or asked to wait. */
  next_attempt_reason: 'due' | 'retry' | 'receiver_unavailable' | null
  response_status: number | null
  response_time_ms: number | null
  error: string | null
  created_at: string
  delivered_at: string | null
  payload: Record<string, unknown>
  attempts: DeliveryAttempt[]
}

/** `Domain` in JSON. */
export interface Domain {
  id: string
  domain: string
  status: 'pending' | 'verified' | 'failing' | 'failed'
  records: {
    purpose: 'dkim' | 'dkim_next' | 'dmarc'
    type: 'TXT'
    name: string
    /** The text to publish. For `dmarc` it is a proposal. */
    value: string
    /** False for advice. */
    is_required: boolean
    state: 'pending' | 'verified' | 'mismatch' | 'missing'
    /** The beginning of the text that was found instead, with `mismatch`. */
    found: string | null
  }[]
  /** The selector before the last rotation. Its record may be removed a week later. */
  previous_selector: string | null
  /** Why the last check found nothing out, for example because no server answered. */
  check_error: string | null
  checked_at: string | null
  verified_at: string | null
  failing_since: string | null
  /** With `failing`, the time from which addresses of the domain are refused. */
  accepted_until: string | null
  created_at: string
  updated_at: string
}

/** `EmailAdditions` in JSON. */
export interface EmailAdditions {
  subject?: string
  /** One address or several, to which answers go. */
  reply_to?: string | string[]
  /** The address of the sender, at a verified domain of the workspace. Test keys, and a service whose e-mail goes to the sandbox, accept any domain. */
  from_address?: string
  headers?: Record<string, string>
  tags?: { name: string; value: string }[]
  /** The addresses that get a copy. */
  cc?: string[]
  /** The addresses that get a copy, of which the other recipients do not learn. */
  bcc?: string[]
  attachments?: {
    filename: string
    content_type?: string
    /** Shows the file in the HTML body, in place of `cid:<content_id>`. */
    content_id?: string
    content: string
  }[]
}

/** `EmailBulk` in JSON. */
export interface EmailBulk {
  channel: 'email'
  content: {
    subject: string
    html?: string | undefined
    text?: string | undefined
    /** One address or several, to which answers go. */
    reply_to?: string | string[] | undefined
    /** The address of the sender, at a verified domain of the workspace. Test keys, and a service whose e-mail goes to the sandbox, accept any domain. */
    from_address?: string | undefined
    headers?: Record<string, string> | undefined
    tags?: { name: string; value: string }[] | undefined
  }
  /** The display name of the sender. */
  from?: string | undefined
  recipients: (string | BulkRecipient)[]
  /** Values of placeholders that neither the recipient nor its contact has. */
  defaults?: Record<string, string | number | boolean | null> | undefined
  /** `strict`: nothing is sent if one recipient is faulty. `permissive`: only faulty recipients are left out. */
  validation?: 'strict' | 'permissive' | undefined
  /** At most 50 keys and 8192 bytes of JSON. */
  metadata?: Record<string, unknown> | undefined
  /** ISO 8601. A date alone is its first instant; without an offset it is UTC. */
  scheduled_at?: Instant | undefined
  /** Seconds after which the message is not sent any more. */
  expires_in?: number | undefined
}

/** `EmailBulkFromTemplate` in JSON. */
export interface EmailBulkFromTemplate {
  channel: 'email'
  template: TemplateUse
  /** The display name of the sender. */
  from?: string
  recipients: (string | BulkRecipient)[]
  /** Values of placeholders that neither the recipient nor its contact has. */
  defaults?: Record<string, string | number | boolean | null>
  /** `strict`: nothing is sent if one recipient is faulty. `permissive`: only faulty recipients are left out. */
  validation?: 'strict' | 'permissive'
  /** At most 50 keys and 8192 bytes of JSON. */
  metadata?: Record<string, unknown>
  /** ISO 8601. A date alone is its first instant; without an offset it is UTC. */
  scheduled_at?: string
  /** Seconds after which the message is not sent any more. */
  expires_in?: number
}

/** `EmailContent` in JSON. */
export interface EmailContent {
  subject: string
  html?: string | undefined
  text?: string | undefined
  /** One address or several, to which answers go. */
  reply_to?: string | string[] | undefined
  /** The address of the sender, at a verified domain of the workspace. Test keys, and a service whose e-mail goes to the sandbox, accept any domain. */
  from_address?: string | undefined
  headers?: Record<string, string> | undefined
  tags?: { name: string; value: string }[] | undefined
  /** The addresses that get a copy. */
  cc?: string[] | undefined
  /** The addresses that get a copy, of which the other recipients do not learn. */
  bcc?: string[] | undefined
  attachments?: {
    filename: string
    content_type?: string | undefined
    /** Shows the file in the HTML body, in place of `cid:<content_id>`. */
    content_id?: string | undefined
    content: string
  }[] | undefined
}

/** `EmailFromTemplate` in JSON. */
export interface EmailFromTemplate {
  to: string | string[]
  channel: 'email'
  template: TemplateUse
  /** The display name of the sender. */
  from?: string
  /** At most 50 keys and 8192 bytes of JSON. */
  metadata?: Record<string, unknown>
  /** ISO 8601. A date alone is its first instant; without an offset it is UTC. */
  scheduled_at?: string
  /** Seconds after which the message is not sent any more. */
  expires_in?: number
  content?: EmailAdditions
}

/** `EmailRequest` in JSON. */
export interface EmailRequest {
  to: string | string[]
  channel: 'email'
  content: EmailContent
  /** The display name of the sender. */
  from?: string | undefined
  /** At most 50 keys and 8192 bytes of JSON. */
  metadata?: Record<string, unknown> | undefined
  /** ISO 8601. A date alone is its first instant; without an offset it is UTC. */
  scheduled_at?: Instant | undefined
  /** Seconds after which the message is not sent any more. */
  expires_in?: number | undefined
}

/** `ExportedMessage` in JSON. */
export interface ExportedMessage {
  id: string
  workspace_id: string
  channel: Channel
  recipient: string
  /** Only for an e-mail with several recipients: the state of each recipient. `recipient` is then the first one. */
  recipients?: MailRecipient[]
  /** The `from` of the request. Null without one, and after an erasure; for an e-mail the display name. */
  sender: string | null
  /** Null if it is longer than 32 KB: `GET /api/v1/messages/:id` has it. */
  content: Record<string, unknown> | null
  status: MessageStatus
  credits_used: number
  credits_refunded: number
  provider: string | null
  provider_message_id: string | null
  error_code: string | null
  error_message: string | null
  metadata: Record<string, unknown>
  segments: number | null
  encoding: 'GSM-7' | 'UCS-2' | null
  bulk_id: string | null
  livemode: boolean
  created_at: string
  updated_at: string
  scheduled_at: string | null
  expires_at: string | null
  sent_at: string | null
  delivered_at: string | null
  read_at: string | null
  failed_at: string | null
  /** Only for a call that ended, if the provider reported it: its duration in seconds, 0 if it was not answered. */
  duration_s?: number
  /** Only for a message from a stored template. `content` is the filled-in text. */
  template?: UsedTemplate
  /** Only for a message that quiet hours deferred: their end. It is also its `scheduled_at`. */
  deferred_until?: string
  /** When recipient, content and metadata were erased: `recipient` is then `erased`, `content` and `metadata` are empty. */
  erased_at: string | null
}

/** `Invitation` in JSON. */
export interface Invitation {
  id: string
  email: string
  /** admin: everything except the change of the owner; developer: messages, contacts, webhooks, keys and domains; billing: credits and the account; viewer: reads. */
  role: 'admin' | 'developer' | 'billing' | 'viewer'
  expires_at: string
  created_at: string
}

/** `ListedEvent` in JSON. */
export interface ListedEvent {
  /** The id of the event: the header `webhook-id` of its deliveries. */
  id: string
  event: EventKind
  data: { [field: string]: unknown }
  created_at: string
}

/** `ListedTemplate` in JSON. */
export interface ListedTemplate {
  id: string
  name: string
  description: string | null
  /** What the messages are for. A `layout` is sent by no message: it is the HTML around the e-mails of other templates, with `{{content}}` at their place. */
  category: 'marketing' | 'transactional' | 'layout'
  default_locale: string
  variants: { channel: Channel; locale: string }[]
  /** The latest version, which messages use; null before the first one. */
  version: number | null
  /** Whether the draft differs from the latest version. */
  is_changed: boolean
  published_at: string | null
  created_at: string
  updated_at: string
}

/** `ListedTemplateVersion` in JSON. */
export interface ListedTemplateVersion {
  name: string
  description: string | null
  /** What the messages are for. A `layout` is sent by no message: it is the HTML around the e-mails of other templates, with `{{content}}` at their place. */
  category: 'marketing' | 'transactional' | 'layout'
  default_locale: string
  version: number
  published_at: string
}

/** `MailRecipient` in JSON. */
export interface MailRecipient {
  address: string
  role: 'to' | 'cc' | 'bcc'
  status: MessageStatus
  error_code: string | null
  error_message: string | null
}

/** `Member` in JSON. */
export interface Member {
  /** The id of the login; for the owner, the id of the workspace. */
  id: string
  email: string
  name: string | null
  role: 'owner' | 'admin' | 'developer' | 'billing' | 'viewer'
  created_at: string
}

/** `Pagination` in JSON. */
export interface Pagination {
  total: number
  page: number
  pages: number
  limit: number
}

/** `PushedTemplate` in JSON. */
export interface PushedTemplate {
  name: string
  change: 'created' | 'updated' | 'unchanged'
  /** The fields of the draft that changed. */
  changed: string[]
  /** Whether it became a new version. */
  is_published: boolean
  /** The latest version afterwards. */
  version: number | null
}

/** `QuietHours` in JSON. */
export interface QuietHours {
  /** The category of the template of a message. A message without a template is `transactional`. */
  category: 'marketing' | 'transactional'
  start: string
  /** The first minute after the quiet hours, on the next day if not after `start`. */
  end: string
  /** The days on which they begin; default: every day. */
  days?: ('mon' | 'tue' | 'wed' | 'thu' | 'fri' | 'sat' | 'sun')[]
}

/** `ReceivedMessage` in JSON. */
export interface ReceivedMessage {
  id: string
  channel: Channel
  sender: string
  recipient: string
  content: { text: string | null; media: { url: string; content_type: string | null }[] }
  /** The meaning of the text if it was one of the words that the service acts on. */
  keyword: 'stop' | 'start' | 'help' | null
  provider: string
  livemode: boolean
  created_at: string
}

/** `Session` in JSON. */
export interface Session {
  id: string
  /** Whether it is the session of the request. */
  is_current: boolean
  /** The workspace in which the session began. */
  workspace_id: string
  /** The network of the login: an IPv4 /24 or an IPv6 /48. */
  network: string | null
  /** The first 200 characters of the User-Agent header of the login. */
  agent: string | null
  created_at: string
  /** Exact to about 5 minutes. */
  last_seen_at: string
  expires_at: string
}

/** `SignInLink` in JSON. */
export interface SignInLink {
  id: string
  issuer: string
  /** The person at the provider. */
  subject: string
  created_at: string
}

/** `SmsBulk` in JSON. */
export interface SmsBulk {
  channel: 'sms'
  content: {
    /** 1 to 1600 UTF-16 code units with placeholders filled in. */
    text: string
  }
  from?: string | undefined
  recipients: (string | BulkRecipient)[]
  /** Values of placeholders that neither the recipient nor its contact has. */
  defaults?: Record<string, string | number | boolean | null> | undefined
  /** `strict`: nothing is sent if one recipient is faulty. `permissive`: only faulty recipients are left out. */
  validation?: 'strict' | 'permissive' | undefined
  /** At most 50 keys and 8192 bytes of JSON. */
  metadata?: Record<string, unknown> | undefined
  /** ISO 8601. A date alone is its first instant; without an offset it is UTC. */
  scheduled_at?: Instant | undefined
  /** Seconds after which the message is not sent any more. */
  expires_in?: number | undefined
}

/** `SmsBulkFromTemplate` in JSON. */
export interface SmsBulkFromTemplate {
  channel: 'sms'
  template: TemplateUse
  from?: string
  recipients: (string | BulkRecipient)[]
  /** Values of placeholders that neither the recipient nor its contact has. */
  defaults?: Record<string, string | number | boolean | null>
  /** `strict`: nothing is sent if one recipient is faulty. `permissive`: only faulty recipients are left out. */
  validation?: 'strict' | 'permissive'
  /** At most 50 keys and 8192 bytes of JSON. */
  metadata?: Record<string, unknown>
  /** ISO 8601. A date alone is its first instant; without an offset it is UTC. */
  scheduled_at?: string
  /** Seconds after which the message is not sent any more. */
  expires_in?: number
}

/** `SmsContent` in JSON. */
export interface SmsContent {
  /** 1 to 1600 UTF-16 code units with placeholders filled in. */
  text: string
}

/** `SmsFromTemplate` in JSON. */
export interface SmsFromTemplate {
  to: string
  channel: 'sms'
  template: TemplateUse
  from?: string
  /** At most 50 keys and 8192 bytes of JSON. */
  metadata?: Record<string, unknown>
  /** ISO 8601. A date alone is its first instant; without an offset it is UTC. */
  scheduled_at?: string
  /** Seconds after which the message is not sent any more. */
  expires_in?: number
}

/** `SmsRequest` in JSON. */
export interface SmsRequest {
  to: string
  channel: 'sms'
  content: SmsContent
  from?: string | undefined
  /** At most 50 keys and 8192 bytes of JSON. */
  metadata?: Record<string, unknown> | undefined
  /** ISO 8601. A date alone is its first instant; without an offset it is UTC. */
  scheduled_at?: Instant | undefined
  /** Seconds after which the message is not sent any more. */
  expires_in?: number | undefined
}

/** `Suppression` in JSON. */
export interface Suppression {
  channel: Channel
  address: string
  reason: 'opt_out' | 'bounce' | 'complaint' | 'manual'
  created_at: string
}

/** `Template` in JSON. */
export interface Template {
  id: string
  name: string
  description: string | null
  /** What the messages are for. A `layout` is sent by no message: it is the HTML around the e-mails of other templates, with `{{content}}` at their place. */
  category: 'marketing' | 'transactional' | 'layout'
  default_locale: string
  variables: Record<string, unknown>[]
  variants: {
    channel: Channel
    locale: string
    content: Record<string, unknown>
  }[]
  /** The latest version, which messages use; null before the first one. */
  version: number | null
  /** Whether the draft differs from the latest version. */
  is_changed: boolean
  published_at: string | null
  created_at: string
  updated_at: string
}

/** `TemplatePreview` in JSON. */
export interface TemplatePreview {
  channel: Channel
  /** The locale of the variant that was used. */
  locale: string
  content: Record<string, unknown>
  /** The variables without a value, at most 100. Their places are empty; a send would be refused. */
  missing: string[]
  encoding: 'GSM-7' | 'UCS-2' | null
  /** Only for sms. */
  segments: number | null
  /** The price of one message at the default price of its channel. Some prefixes of numbers may have another price. */
  credits: number
}

/** `TemplateUse` in JSON. */
export interface TemplateUse {
  name: string
  /** Default: the default locale of the template. A locale without a variant falls back: de-AT, de, the default locale. */
  locale?: string
  /** Default: the latest version. */
  version?: number
  /** Strings of at most 10000 characters, numbers, booleans, and lists of at most 1000 such values or objects. */
  variables?: Record<string, unknown>
}

/** `TemplateVariant` in JSON. */
export type TemplateVariant = {
  channel: 'sms'
  locale: string
  content: {
    /** 1 to 1600 UTF-16 code units with placeholders filled in. */
    text: string
  }
} | {
  channel: 'whatsapp'
  locale: string
  content: {
    text?: string
    preview_url?: boolean
    media?: {
      type: 'image' | 'video' | 'audio' | 'document' | 'sticker'
      url: string
      caption?: string
      filename?: string
    }
    template?: {
      name?: string
      id?: string
      language?: string
      variables?: Record<string, string>
    }
  }
} | {
  channel: 'email'
  locale: string
  content: {
    /** Required, except in a layout. */
    subject?: string
    html?: string
    text?: string
    /** One address or several, to which answers go. */
    reply_to?: string | string[]
    /** The address of the sender, at a verified domain of the workspace. Test keys, and a service whose e-mail goes to the sandbox, accept any domain. */
    from_address?: string
    headers?: Record<string, string>
    tags?: { name: string; value: string }[]
    /** The layout around `html`: `default`, or the name of a template of the category `layout`. The latest version of the layout at publishing is used. */
    layout?: string
    /** The text that mail programs show beside the subject. It is hidden in the mail, and not in its plain text. */
    preview_text?: string
    /** Whether publishing copies the rules of `<style>` into `style` attributes. Default: whether there is a layout. */
    inline_css?: boolean
  }
} | {
  channel: 'voice'
  locale: string
  content: { text?: string; language?: string; voice?: string; audio_url?: string }
}

/** `TemplateVersion` in JSON. */
export interface TemplateVersion {
  name: string
  description: string | null
  /** What the messages are for. A `layout` is sent by no message: it is the HTML around the e-mails of other templates, with `{{content}}` at their place. */
  category: 'marketing' | 'transactional' | 'layout'
  default_locale: string
  variables: Record<string, unknown>[]
  variants: {
    channel: Channel
    locale: string
    content: Record<string, unknown>
  }[]
  version: number
  published_at: string
}

/** `Transaction` in JSON. */
export interface Transaction {
  id: string
  type: TransactionType
  credits: number
  balance_after: number
  description: string | null
  channel: Channel | null
  reference: { type: string; id: string }
  created_at: string
}

/** `UsedTemplate` in JSON. */
export interface UsedTemplate {
  name: string
  version: number
  /** The locale of the variant that was used. */
  locale: string
}

/** `VoiceContent` in JSON. */
export interface VoiceContent {
  text?: string | undefined
  language?: string | undefined
  voice?: string | undefined
  audio_url?: string | undefined
}

/** `VoiceFromTemplate` in JSON. */
export interface VoiceFromTemplate {
  to: string
  channel: 'voice'
  template: TemplateUse
  from?: string
  /** At most 50 keys and 8192 bytes of JSON. */
  metadata?: Record<string, unknown>
  /** ISO 8601. A date alone is its first instant; without an offset it is UTC. */
  scheduled_at?: string
  /** Seconds after which the message is not sent any more. */
  expires_in?: number
}

/** `VoiceRequest` in JSON. */
export interface VoiceRequest {
  to: string
  channel: 'voice'
  content: VoiceContent
  from?: string | undefined
  /** At most 50 keys and 8192 bytes of JSON. */
  metadata?: Record<string, unknown> | undefined
  /** ISO 8601. A date alone is its first instant; without an offset it is UTC. */
  scheduled_at?: Instant | undefined
  /** Seconds after which the message is not sent any more. */
  expires_in?: number | undefined
}

/** `Webhook` in JSON. */
export interface Webhook {
  id: string
  url: string
  description: string | null
  events: ('*' | EventKind)[]
  /** Whether it gets events of live messages, of test messages (`livemode` false), or of both. */
  mode: 'all' | 'live' | 'test'
  /** The form of the requests: of this service, or of the webhooks of another vendor. */
  format: 'svc' | 'twilio' | 'resend'
  /** The API key that signs the deliveries, in place of the secret of the webhook; null for none. */
  api_key_id: string | null
  is_active: boolean
  status: 'active' | 'failing' | 'disabled'
  disabled_reason: string | null
  secret_prefix: string
  headers: string[]
  consecutive_failures: number
  last_success_at: string | null
  last_failure_at: string | null
  created_at: string
  updated_at: string
}

/** `WebhookHealth` in JSON. */
export interface WebhookHealth {
  period: '24h' | '7d' | '30d'
  unit: 'hour' | 'day'
  attempts: number
  /** The attempts with a 2xx. */
  succeeded: number
  /** Half of all answers came within this time, at most 19 % too high; null without an answer. Attempts without an answer are not part of it. */
  p50_ms: number | null
  /** 99 % of all answers came within this time. */
  p99_ms: number | null
  /** The share of attempts with a 2xx; null without an attempt. */
  success_rate: number | null
  /** One for each hour or day (UTC), oldest first, also for those without attempts. */
  points: {
    since: string
    attempts: number
    /** The attempts with a 2xx. */
    succeeded: number
    /** Half of all answers came within this time, at most 19 % too high; null without an answer. Attempts without an answer are not part of it. */
    p50_ms: number | null
    /** 99 % of all answers came within this time. */
    p99_ms: number | null
  }[]
  /** The last failed attempts, newest first, at most 20. */
  failures: {
    delivery_id: string
    event: EventKind
    attempt: number
    at: string
    duration_ms: number
    response_status: number | null
    /** The first 1,000 characters of the answer; the delivery has all of it. */
    response_body: string | null
    error: string | null
  }[]
  /** The first failure since the last success; null if none failed since. */
  failing_since: string | null
  disabled_at: string | null
  disabled_reason: string | null
}

/** `WhatsappBulk` in JSON. */
export interface WhatsappBulk {
  channel: 'whatsapp'
  content: {
    text?: string | undefined
    preview_url?: boolean | undefined
    media?: {
      type: 'image' | 'video' | 'audio' | 'document' | 'sticker'
      url: string
      caption?: string | undefined
      filename?: string | undefined
    } | undefined
    template?: {
      name?: string | undefined
      id?: string | undefined
      language?: string | undefined
      variables?: Record<string, string> | undefined
    } | undefined
  }
  from?: string | undefined
  recipients: (string | BulkRecipient)[]
  /** Values of placeholders that neither the recipient nor its contact has. */
  defaults?: Record<string, string | number | boolean | null> | undefined
  /** `strict`: nothing is sent if one recipient is faulty. `permissive`: only faulty recipients are left out. */
  validation?: 'strict' | 'permissive' | undefined
  /** At most 50 keys and 8192 bytes of JSON. */
  metadata?: Record<string, unknown> | undefined
  /** ISO 8601. A date alone is its first instant; without an offset it is UTC. */
  scheduled_at?: Instant | undefined
  /** Seconds after which the message is not sent any more. */
  expires_in?: number | undefined
}

/** `WhatsappBulkFromTemplate` in JSON. */
export interface WhatsappBulkFromTemplate {
  channel: 'whatsapp'
  template: TemplateUse
  from?: string
  recipients: (string | BulkRecipient)[]
  /** Values of placeholders that neither the recipient nor its contact has. */
  defaults?: Record<string, string | number | boolean | null>
  /** `strict`: nothing is sent if one recipient is faulty. `permissive`: only faulty recipients are left out. */
  validation?: 'strict' | 'permissive'
  /** At most 50 keys and 8192 bytes of JSON. */
  metadata?: Record<string, unknown>
  /** ISO 8601. A date alone is its first instant; without an offset it is UTC. */
  scheduled_at?: string
  /** Seconds after which the message is not sent any more. */
  expires_in?: number
}

/** `WhatsappContent` in JSON. */
export interface WhatsappContent {
  text?: string | undefined
  preview_url?: boolean | undefined
  media?: {
    type: 'image' | 'video' | 'audio' | 'document' | 'sticker'
    url: string
    caption?: string | undefined
    filename?: string | undefined
  } | undefined
  template?: {
    name?: string | undefined
    id?: string | undefined
    language?: string | undefined
    variables?: Record<string, string> | undefined
  } | undefined
}

/** `WhatsappFromTemplate` in JSON. */
export interface WhatsappFromTemplate {
  to: string
  channel: 'whatsapp'
  template: TemplateUse
  from?: string
  /** At most 50 keys and 8192 bytes of JSON. */
  metadata?: Record<string, unknown>
  /** ISO 8601. A date alone is its first instant; without an offset it is UTC. */
  scheduled_at?: string
  /** Seconds after which the message is not sent any more. */
  expires_in?: number
}

/** `WhatsappRequest` in JSON. */
export interface WhatsappRequest {
  to: string
  channel: 'whatsapp'
  content: WhatsappContent
  from?: string | undefined
  /** At most 50 keys and 8192 bytes of JSON. */
  metadata?: Record<string, unknown> | undefined
  /** ISO 8601. A date alone is its first instant; without an offset it is UTC. */
  scheduled_at?: Instant | undefined
  /** Seconds after which the message is not sent any more. */
  expires_in?: number | undefined
}

/** `Workspace` in JSON. */
export interface Workspace {
  id: string
  name: string
  email: string
  email_verified: boolean
  credits_balance: number
  phone: string | null
  country: string | null
  sender_name: string | null
  credits_held: number
  low_balance: number | null
  verification_daily_credits: number | null
  verification_countries: string[] | null
  quiet_hours: QuietHours[] | null
  time_zone: string | null
  postal_address: string | null
  sms_opt_out_text: string | null
  webhook_mails: boolean
  created_at: string
  updated_at: string
}

/** `WorkspaceSummary` in JSON. */
export interface WorkspaceSummary {
  id: string
  name: string
  email: string
  email_verified: boolean
  credits_balance: number
}

/** `Message` in JSON. */
export interface Message {
  id: string
  workspace_id: string
  channel: Channel
  recipient: string
  /** Only for an e-mail with several recipients: the state of each recipient. `recipient` is then the first one. */
  recipients?: MailRecipient[]
  /** The `from` of the request. Null without one, and after an erasure; for an e-mail the display name. */
  sender: string | null
  content: MessageContent
  status: MessageStatus
  credits_used: number
  credits_refunded: number
  provider: string | null
  provider_message_id: string | null
  error_code: string | null
  error_message: string | null
  metadata: Record<string, unknown>
  segments: number | null
  encoding: 'GSM-7' | 'UCS-2' | null
  bulk_id: string | null
  livemode: boolean
  created_at: string
  updated_at: string
  scheduled_at: string | null
  expires_at: string | null
  sent_at: string | null
  delivered_at: string | null
  read_at: string | null
  failed_at: string | null
  /** Only for a call that ended, if the provider reported it: its duration in seconds, 0 if it was not answered. */
  duration_s?: number
  /** Only for a message from a stored template. `content` is the filled-in text. */
  template?: UsedTemplate
  /** Only for a message that quiet hours deferred: their end. It is also its `scheduled_at`. */
  deferred_until?: string
  /** When recipient, content and metadata were erased: `recipient` is then `erased`, `content` and `metadata` are empty. */
  erased_at: string | null
}

/** The `data` of an event. */
export interface MessageChangeData {
  message_id: string
  recipient: string
  channel: Channel
  status: MessageStatus
  credits_used: number
  metadata: Record<string, unknown>
  bulk_id: string | null
  livemode: boolean
  provider_message_id: string | null
  error_code: string | null
  error_message: string | null
  occurred_at: string
  sequence: number
  /** Only for an e-mail with several recipients: the state of each recipient. */
  recipients?: MailRecipient[]
  /** Only for an e-mail with several recipients: the addresses that failed with this change, for the same reason. */
  failed_recipients?: string[]
  /** Only for an e-mail with tags. */
  tags?: { name: string; value: string }[]
  /** Only for a call that ended: its duration in seconds, 0 if it was not answered. */
  duration_s?: number
}

/** The `data` of an event. */
export interface MessageReceivedData {
  message_id: string
  channel: Channel
  sender: string
  recipient: string
  content: Record<string, unknown>
  provider_message_id: string | null
  livemode: boolean
  occurred_at: string
}

/** The `data` of an event. */
export interface CreditsLowData {
  credits_balance: number
  threshold: number
  livemode: boolean
  occurred_at: string
}

/** The `data` of an event. */
export interface VerificationEndData {
  verification_id: string
  to: string
  channel: Channel
  status: 'pending' | 'approved' | 'expired' | 'canceled' | 'max_attempts' | 'external'
  /** How many wrong codes were given. */
  attempts: number
  credits_used: number
  metadata: Record<string, unknown>
  livemode: boolean
  occurred_at: string
}

/** The `data` of an event. */
export interface VerificationPausedData {
  /** ISO 3166-1, or `ZZ` for numbers of no country. */
  country: string
  sent: number
  approved: number
  /** When the pause ends by itself: approvals, or the operator, end it earlier. */
  ends_at: string
  livemode: boolean
  occurred_at: string
}

/** The `data` of an event. */
export interface BroadcastChangeData {
  broadcast_id: string
  name: string | null
  channel: Channel
  status: 'draft' | 'scheduled' | 'running' | 'paused' | 'finished' | 'canceled'
  pause_reason: 'requested' | 'insufficient_credits' | 'credential' | 'forbidden' | 'template' | 'restored' | null
  /** Its messages so far. */
  accepted: number
  livemode: boolean
  occurred_at: string
}

/** The `data` of an event. */
export interface WebhookTestData {
  webhook_id: string
  message: string
  livemode: boolean
  occurred_at: string
}

/** The `data` of each kind of event. */
export interface EventData {
  /** A message was handed to the provider or carrier. */
  'message.sent': MessageChangeData
  /** A message reached its recipient. */
  'message.delivered': MessageChangeData
  /** A message will not reach its recipient; error_code and error_message say why. */
  'message.failed': MessageChangeData
  /** Some recipients of an e-mail with several will not get it, and the others got it or may get it. error_code and error_message say why; failed_recipients has their addresses; status is that of the whole e-mail. */
  'message.recipients_failed': MessageChangeData
  /** A message was read by its recipient. */
  'message.read': MessageChangeData
  /** A message arrived at one of your numbers or addresses. */
  'message.received': MessageReceivedData
  /** The credit balance fell below the threshold. */
  'credits.low': CreditsLowData
  /** A person gave the right code. */
  'verification.approved': VerificationEndData
  /** Too many wrong codes were given. */
  'verification.failed': VerificationEndData
  /** No right code was given in time. */
  'verification.expired': VerificationEndData
  /** Codes to the numbers of a country are paused, because too few of them were approved. */
  'verification.paused': VerificationPausedData
  /** A broadcast is paused; pause_reason says why. */
  'broadcast.paused': BroadcastChangeData
  /** Each contact of a broadcast had its turn; messages may still be queued. */
  'broadcast.finished': BroadcastChangeData
  /** A requested test, to check whether deliveries arrive. */
  'webhook.test': WebhookTestData
}

/** The body of `POST /api/v1/auth/signup`. */
export interface WorkspacesSignupBody {
  email: string
  password: string
  company_name: string
  phone?: string | undefined
  country?: string | undefined
}

/** The answer of `POST /api/v1/auth/login`. */
export interface WorkspacesLoginData {
  workspace: WorkspaceSummary
  /** A JWT, valid for 30 days. */
  token: string
}

/** The body of `POST /api/v1/auth/login`. */
export interface WorkspacesLoginBody {
  email: string
  password: string
  /** For a login with a second factor: the code of its authenticator app, or a recovery code. Each is valid once. */
  otp?: string | undefined
  /** One of the workspaces of the login. Default: its own workspace, otherwise the one that it joined first. */
  workspace_id?: string | undefined
}

/** The body of `POST /api/v1/auth/verify-email`. */
export interface WorkspacesVerifyEmailBody {
  /** The token of the e-mail. */
  token: string
}

/** The body of `POST /api/v1/auth/resend-verification`. */
export interface WorkspacesResendVerificationBody {
  email: string
}

/** The body of `POST /api/v1/auth/forgot-password`. */
export interface WorkspacesForgotPasswordBody {
  email: string
}

/** The body of `POST /api/v1/auth/reset-password`. */
export interface WorkspacesResetPasswordBody {
  /** The token of the e-mail. */
  token: string
  password: string
  /** Whether to revoke all API keys, disable all webhooks and end all links to OIDC providers too. */
  revoke_api_keys?: boolean | undefined
  /** Whether to keep what the login added since its last verified sign-in. Default: its API keys, webhooks, links to OIDC providers and invitations end, and members who accepted these invitations are removed. */
  keep_recent?: boolean | undefined
}

/** The body of `POST /api/v1/auth/change-password`. */
export interface WorkspacesChangePasswordBody {
  current_password: string
  new_password: string
}

/** The answer of `GET /api/v1/balance`. */
export interface WorkspacesBalanceData {
  credits_balance: number
  credits_held: number
}

/** The body of `PUT /api/v1/account`. */
export interface WorkspacesUpdateAccountBody {
  name?: string | undefined
  phone?: string | null | undefined
  country?: string | null | undefined
  sender_name?: string | null | undefined
  /** Below this number of credits the owner is notified; null: never. */
  low_balance?: number | null | undefined
  /** The credits that may be spent on one-time codes on a day (UTC); null: no limit. Refunds do not reduce what was spent. */
  verification_daily_credits?: number | null | undefined
  /** The countries to whose numbers one-time codes are sent, as ISO 3166-1 codes; null: all. E-mail addresses have no country. */
  verification_countries?: string[] | null | undefined
  /** Messages that would be sent between these local times of their recipient wait until the end; null: none. One-time codes do not wait. */
  quiet_hours?: QuietHours[] | null | undefined
  /** The IANA zone of recipients whose own zone is not known: no attribute `time_zone` of a contact, and no number of a country with one zone. null: UTC. */
  time_zone?: string | null | undefined
  /** The end of each e-mail from a template of the category `marketing`, in HTML and text; null: none. */
  postal_address?: string | null | undefined
  /** Whether the owner gets a mail when a webhook begins to fail and when the service disables it. Default: true. */
  webhook_mails?: boolean | undefined
  /** The last line of each SMS from a template of the category `marketing`, which counts in its segments; null: none. */
  sms_opt_out_text?: string | null | undefined
}

/** The methods of `svc.workspaces`. */
export interface WorkspacesResource {
  /** Create a workspace. Sends an e-mail to verify the address. An address in use is refused. */
  signup(body: WorkspacesSignupBody, options?: CallOptions): Call<{ workspace: WorkspaceSummary; message: string }>
  /** Get a token with e-mail address and password. A login with a second factor needs its code too: after the right password, a missing or wrong code is a `validation_error` whose `details` name `otp`. */
  login(body: WorkspacesLoginBody, options?: CallOptions): Call<WorkspacesLoginData>
  /** End the session of the token. The token is refused from the next request on, by every server. Other tokens of the workspace and API keys stay valid. */
  logout(options?: CallOptions): Call<{ message: string }>
  /** Verify an e-mail address. The token is valid once, for 24 hours, and until a newer one is sent. The first verification revokes all API keys and disables all webhooks that exist. Sessions continue. */
  verifyEmail(body: WorkspacesVerifyEmailBody, options?: CallOptions): Call<{ workspace: WorkspaceSummary; message: string }>
  /** Send the verification e-mail again. The answer is the same whether or not the address has an account. */
  resendVerification(body: WorkspacesResendVerificationBody, options?: CallOptions): Call<{ message: string }>
  /** Send an e-mail to choose a new password. The answer is the same whether or not the address has an account. */
  forgotPassword(body: WorkspacesForgotPasswordBody, options?: CallOptions): Call<{ message: string }>
  /** Choose a new password with the token of an e-mail. The token is valid once, for 30 minutes, and until a newer one is sent. All sessions end. This also verifies an unverified address: API keys are revoked and webhooks disabled as by verify-email. What the login added since its last verified sign-in ends: the last login from the network of this request, or the last verification or reset by e-mail. */
  resetPassword(body: WorkspacesResetPasswordBody, options?: CallOptions): Call<{ message: string }>
  /** Change the password. All sessions end, also that of the request. */
  changePassword(body: WorkspacesChangePasswordBody, options?: CallOptions): Call<{ message: string }>
  /** Get the workspace of the token. */
  account(options?: CallOptions): Call<Workspace>
  /** Get the credits of the workspace. For programs that have an API key and no token. A test key, which is charged nothing, also gets the real credits. */
  balance(options?: CallOptions): Call<WorkspacesBalanceData>
  /** Change the workspace of the token. Missing fields do not change; null clears a field. */
  updateAccount(body: WorkspacesUpdateAccountBody, options?: CallOptions): Call<Workspace>
}

/** The body of `PUT /api/v1/members/:id`. */
export interface MembersUpdateBody {
  /** admin: everything except the change of the owner; developer: messages, contacts, webhooks, keys and domains; billing: credits and the account; viewer: reads. */
  role: 'admin' | 'developer' | 'billing' | 'viewer'
}

/** The body of `POST /api/v1/members/:id/end-sessions`. */
export interface MembersEndSessionsBody {
  /** The password of the caller. Not needed for a login that has none. */
  current_password?: string | undefined
}

/** The body of `POST /api/v1/members/:id/owner`. */
export interface MembersMakeOwnerBody {
  current_password: string
}

/** The methods of `svc.members`. */
export interface MembersResource {
  /** List the members of the workspace, the owner first. A workspace has at most 100 members besides its owner. */
  list(options?: CallOptions): Call<{ members: Member[] }>
  /** Change the role of a member. The new role holds from the next request on, also in sessions that exist. The role of the owner does not change here. */
  update(id: string, body: MembersUpdateBody, options?: CallOptions): Call<{ member: Member }>
  /** Remove a member, or leave the workspace. Every member may leave; only owner and admins remove others. The sessions of the member no longer reach the workspace. API keys belong to the workspace and stay valid. The owner cannot be removed. */
  remove(id: string, options?: CallOptions): Call<{ message: string }>
  /** End all sessions of a member. For owner and admins. Only the owner ends the sessions of the owner. */
  endSessions(id: string, body: MembersEndSessionsBody, options?: CallOptions): Call<{ message: string }>
  /** Make a member the owner of the workspace. The owner becomes an admin. All sessions of both end. The new owner must own no other workspace, and must have a password. */
  makeOwner(id: string, body: MembersMakeOwnerBody, options?: CallOptions): Call<{ message: string }>
}

/** The body of `POST /api/v1/invitations`. */
export interface InvitationsCreateBody {
  email: string
  /** admin: everything except the change of the owner; developer: messages, contacts, webhooks, keys and domains; billing: credits and the account; viewer: reads. */
  role: 'admin' | 'developer' | 'billing' | 'viewer'
}

/** The answer of `POST /api/v1/invitations/accept`. */
export interface InvitationsAcceptData {
  workspace: WorkspaceSummary
  /** A JWT for the workspace, valid for 30 days. */
  token: string
}

/** The body of `POST /api/v1/invitations/accept`. */
export interface InvitationsAcceptBody {
  /** The token of the e-mail. */
  token: string
  /** The password of the login with this address. If there is no such login, the password of a new one. */
  password: string
  name?: string | undefined
  /** For a login with a second factor: the code of its authenticator app, or a recovery code. Each is valid once. */
  otp?: string | undefined
}

/** The methods of `svc.invitations`. */
export interface InvitationsResource {
  /** List the open invitations. */
  list(options?: CallOptions): Call<{ invitations: Invitation[] }>
  /** Invite a person by e-mail. Sends a link that is valid once, for 7 days. Another invitation to the same address replaces the earlier one. At most 100 open invitations, and 100 in a day. The address of the workspace must be verified. */
  create(body: InvitationsCreateBody, options?: CallOptions): Call<{ invitation: Invitation }>
  /** Withdraw an invitation. */
  delete(id: string, options?: CallOptions): Call<{ message: string }>
  /** Accept an invitation. */
  accept(body: InvitationsAcceptBody, options?: CallOptions): Call<InvitationsAcceptData>
}

/** The body of `POST /api/v1/sessions/end`. */
export interface SessionsEndWithPasswordBody {
  /** The password of the login. Not needed for a login that has none. */
  current_password?: string | undefined
  /** The session. Default: all sessions of the login. */
  id?: string | undefined
}

/** The methods of `svc.sessions`. */
export interface SessionsResource {
  /** List the sessions of the login behind the token, newest first. The list has the newest 100 sessions. Sessions that began before lists existed are not in it. */
  list(options?: CallOptions): Call<{ sessions: Session[] }>
  /** End one session of the login. */
  end(id: string, options?: CallOptions): Call<{ message: string }>
  /** End all sessions of the login, also that of the request. */
  endAll(options?: CallOptions): Call<{ message: string }>
  /** End one session or all sessions of the login, with its password. The console uses it for other sessions than its own, so that a person at an open browser cannot end them. */
  endWithPassword(body: SessionsEndWithPasswordBody, options?: CallOptions): Call<{ message: string }>
  /** List the OIDC subjects that sign in as the login, oldest first. */
  links(options?: CallOptions): Call<{ links: SignInLink[] }>
  /** End the link of an OIDC subject to the login. The subject does not sign in as this login any more. Sessions continue. */
  unlink(id: string, options?: CallOptions): Call<{ message: string }>
}

/** The answer of `POST /api/v1/api-keys`. */
export interface ApiKeysCreateData {
  id: string
  name: string
  key_prefix: string
  scopes: (Scope)[]
  created_at: string
  mode: 'live' | 'test'
  expires_at: string | null
  allowed_ips: string[] | null
  daily_credit_limit: number | null
  /** Whether the key also signs callbacks, in place of an auth token of Twilio. */
  signs: boolean
  /** The whole key. It is shown only once. */
  key: string
  warning: string
  /** Present with `signs`: the account SID for clients of Twilio. `key` is the auth token. */
  account_sid?: string
  /** Present with `signs`: the SID of this key, in place of the account SID. */
  key_sid?: string
}

/** The body of `POST /api/v1/api-keys`. */
export interface ApiKeysCreateBody {
  name: string
  /** Default: all scopes for a live key, send_messages and read_messages for a test key. */
  scopes?: (Scope)[] | undefined
  mode?: 'live' | 'test' | undefined
  /** ISO 8601. A date alone is its first instant; without an offset it is UTC. */
  expires_at?: Instant | undefined
  allowed_ips?: string[] | undefined
  daily_credit_limit?: number | undefined
  /** Whether the key also signs callbacks, as the auth token of a Twilio account does. The service then keeps the key itself, encrypted; it keeps only the hash of other keys. */
  signs?: boolean | undefined
}

/** The answer of `GET /api/v1/api-keys`. */
export interface ApiKeysListData {
  api_keys: ApiKey[]
  pagination: Pagination
  /** The `after` of the next page; null on the last page. */
  next_after: string | null
}

/** The query of `GET /api/v1/api-keys`. */
export interface ApiKeysListQuery {
  page?: number | undefined
  limit?: number | undefined
  /** Only the items after the item with this id, in the order of the list; `next_after` of the previous page. Not with `page`. */
  after?: string | undefined
}

/** The methods of `svc.apiKeys`. */
export interface ApiKeysResource {
  /** Create an API key. */
  create(body: ApiKeysCreateBody, options?: CallOptions): Call<ApiKeysCreateData>
  /** List API keys. */
  list(query?: ApiKeysListQuery, options?: CallOptions): List<ApiKeysListData, ApiKey>
  /** Deactivate an API key immediately and permanently. */
  deactivate(id: string, options?: CallOptions): Call<{ message: string }>
}

/** The answer of `POST /api/v1/messages/send`. */
export interface MessagesSendData {
  message_id: string
  status: 'queued'
  credits_used: number
  created_at: string
  /** Only for a message from a template: its version and locale. */
  template?: UsedTemplate
  /** Only for a message that waits for the end of quiet hours: when it is sent. */
  deferred_until?: string
}

/** The body of `POST /api/v1/messages/send`. */
export type MessagesSendBody = SmsRequest | WhatsappRequest | EmailRequest | VoiceRequest | SmsFromTemplate | WhatsappFromTemplate | EmailFromTemplate | VoiceFromTemplate

/** The answer of `GET /api/v1/messages/:id/timeline`. */
export interface MessagesTimelineData {
  timeline: ({
    at: string
    kind: 'status'
    status: string
    applied: boolean
    error_code: string | null
    error_message: string | null
  } | {
    at: string
    kind: 'provider'
    provider: string
    attempt: number
    outcome: string
    error_code: string | null
    error_message: string | null
    finished_at: string | null
  } | {
    at: string
    kind: 'ledger'
    type: string
    /** The signed amount of this message, also where one debit paid for a whole bulk. */
    credits: number
    /** The balance after the entry; for a message of a bulk after the whole bulk. */
    balance_after: number
    reference: { type: string; id: string }
  } | {
    at: string
    kind: 'webhook'
    delivery_id: string
    webhook_id: string
    event: string
    status: string
    attempt_count: number
    response_status: number | null
    error: string | null
    next_attempt_at: string | null
    next_attempt_reason: 'due' | 'retry' | 'receiver_unavailable' | null
  })[]
}

/** The body of `POST /api/v1/messages/:id/reschedule`. */
export interface MessagesRescheduleBody {
  /** The new time, at most 35 days ahead; a past time means now. */
  scheduled_at: Instant
}

/** The answer of `POST /api/v1/messages/estimate`. */
export interface MessagesEstimateData {
  can_send: boolean
  /** Why nothing would be sent; null if only `block_reason` of messages says why. */
  block_reason: 'account_frozen' | 'insufficient_credits' | 'daily_limit' | null
  recipients: number
  sendable: number
  blocked: number
  credits_needed: number
  credits_balance: number
  messages: {
    index: number
    to: string | null
    encoding: 'GSM-7' | 'UCS-2' | null
    /** Unicode code points. */
    characters: number | null
    /** Septets in GSM-7, UTF-16 code units in UCS-2. */
    units: number | null
    segments: number | null
    credits: number
    /** The characters that force UCS-2: the first 100 of a message, and the first 5000 of all messages. */
    non_gsm_characters: { char: string; index: number }[]
    /** A text with the same meaning in GSM-7, if there is one. */
    gsm7_suggestion: { text: string; segments: number } | null
    block_reason: RecipientFault | 'duplicate' | null
  }[]
  /** Only for a template: its version and locale. */
  template?: UsedTemplate
}

/** The body of `POST /api/v1/messages/estimate`. */
export type MessagesEstimateBody = SmsRequest | WhatsappRequest | EmailRequest | VoiceRequest | SmsFromTemplate | WhatsappFromTemplate | EmailFromTemplate | VoiceFromTemplate | SmsBulk | WhatsappBulk | EmailBulk | SmsBulkFromTemplate | WhatsappBulkFromTemplate | EmailBulkFromTemplate

/** The answer of `GET /api/v1/messages`. */
export interface MessagesListData {
  messages: Message[]
  pagination: Pagination
  /** Null on the last page. `next_after` has the same use and is in every list. */
  next_cursor: string | null
  /** The `after` of the next page; null on the last page. */
  next_after: string | null
}

/** The query of `GET /api/v1/messages`. */
export interface MessagesListQuery {
  channel?: Channel | undefined
  /** `failed` includes canceled messages; `canceled` selects only these. */
  status?: 'queued' | 'sent' | 'delivered' | 'failed' | 'canceled' | undefined
  /** ISO 8601. A date alone is its first instant; without an offset it is UTC. */
  startDate?: Instant | undefined
  /** ISO 8601. A date alone is its first instant; without an offset it is UTC. */
  endDate?: Instant | undefined
  bulk_id?: string | undefined
  recipient?: string | undefined
  /** Only messages whose request had this `from`. */
  sender?: string | undefined
  /** Only messages from the template with this name. */
  template?: string | undefined
  /** Only the items before the item with this id, in the order of the list: the page that precedes it. Not with `page`, `after` or `cursor`. */
  before?: string | undefined
  /** The `next_cursor` of the previous page; `page` is then ignored. */
  cursor?: string | undefined
  page?: number | undefined
  limit?: number | undefined
  /** Only the items after the item with this id, in the order of the list; `next_after` of the previous page. Not with `page`. */
  after?: string | undefined
}

/** The answer of `GET /api/v1/messages/export`. */
export interface MessagesExportData {
  messages: ExportedMessage[]
  /** The `after` that continues: after `limit` rows, or earlier if too many messages were examined that the filter does not select. Null if no rows follow. */
  next_after: string | null
}

/** The query of `GET /api/v1/messages/export`. */
export interface MessagesExportQuery {
  channel?: Channel | undefined
  /** `failed` includes canceled messages; `canceled` selects only these. */
  status?: 'queued' | 'sent' | 'delivered' | 'failed' | 'canceled' | undefined
  /** ISO 8601. A date alone is its first instant; without an offset it is UTC. */
  startDate?: Instant | undefined
  /** ISO 8601. A date alone is its first instant; without an offset it is UTC. */
  endDate?: Instant | undefined
  bulk_id?: string | undefined
  recipient?: string | undefined
  /** Only messages whose request had this `from`. */
  sender?: string | undefined
  /** Only messages from the template with this name. */
  template?: string | undefined
  /** The maximum number of rows. `after` continues. */
  limit?: number | undefined
  /** Only the rows after the row with this id: the last one of an earlier export, `next_after` in JSON. */
  after?: string | undefined
}

/** The methods of `svc.messages`. */
export interface MessagesResource {
  /** Send one message. The answer follows when the message and its debit are stored durably. Unknown fields are refused. `template` in place of `content` sends a stored template. */
  send(body: MessagesSendBody, options?: CallOptions): Call<MessagesSendData>
  /** Get one message. */
  get(id: string, options?: CallOptions): Call<{ message: Message }>
  /** Get the history of a message, oldest first. Changes of its status, attempts to send it, credits, and deliveries to webhooks. A cause stands before its effect, even if both have the same millisecond or a clock was set back. */
  timeline(id: string, options?: CallOptions): Call<MessagesTimelineData>
  /** Cancel a message that is still queued. It fails as `canceled` and is refunded. */
  cancel(id: string, options?: CallOptions): Call<{ message: Message }>
  /** Give a message that is still queued a new time. The expiry of the message keeps its distance from the time. A call keeps its time. */
  reschedule(id: string, body: MessagesRescheduleBody, options?: CallOptions): Call<{ message: Message }>
  /** Erase one message. Takes the id of a sent or a received message. A sent message keeps its status and its price; its recipient, content and metadata are removed. A received message is removed. A message that is still queued is refused: cancel it first. */
  erase(id: string, options?: CallOptions): Call<{ message: string }>
  /** Remove the content of one message. Takes the id of a sent or a received message. Recipient, status and metadata stay. A message that is still queued is refused. */
  redact(id: string, options?: CallOptions): Call<{ message: string }>
  /** Estimate the cost of a send or a bulk. Takes the body of either. Nothing is stored or sent. Default limit for estimates of bulks: 60 for each workspace in 300 s. */
  estimate(body: MessagesEstimateBody, options?: CallOptions): Call<MessagesEstimateData>
  /** List messages, newest first. */
  list(query?: MessagesListQuery, options?: CallOptions): List<MessagesListData, Message>
  /** Export messages, newest first. The answer is streamed while it is read, without the messages that are accepted meanwhile. In CSV, `subject` and `text` are empty for a content longer than 32 KB, and no cell runs as a formula in a spreadsheet. A workspace may have 2 exports in flight. */
  export(query?: MessagesExportQuery, options?: CallOptions): List<MessagesExportData, ExportedMessage>
}

/** The answer of `POST /api/v1/messages/bulk`. */
export interface BulksSendData {
  bulk_id: string
  status: 'queued'
  total: number
  accepted: number
  rejected: number
  duplicates: number
  credits_used: number
  created_at: string
  messages: {
    index: number
    message_id: string
    to: string
    status: 'queued'
    credits_used: number
    segments: number | null
    /** Only for a message that waits for the end of quiet hours: when it is sent. */
    deferred_until?: string
  }[]
  errors: {
    index: number
    to: string | null
    error: RecipientFault
    message: string
  }[]
  /** Only for a bulk from a template: its version and locale. */
  template?: UsedTemplate
}

/** The body of `POST /api/v1/messages/bulk`. */
export type BulksSendBody = SmsBulk | WhatsappBulk | EmailBulk | SmsBulkFromTemplate | WhatsappBulkFromTemplate | EmailBulkFromTemplate

/** The answer of `GET /api/v1/bulks/:id/rejected`. */
export interface BulksRejectedData {
  rejected: BulkRejection[]
  /** `false`: recipients were rejected, but they are not stored. A version that stored only their number accepted the bulk, or retention removed them. */
  is_stored: boolean
  pagination: Pagination
  /** The `after` of the next page; null on the last page. */
  next_after: string | null
}

/** The query of `GET /api/v1/bulks/:id/rejected`. */
export interface BulksRejectedQuery {
  page?: number | undefined
  limit?: number | undefined
  /** The `next_after` of the previous page: only the items after that page. Not with `page`. */
  after?: string | undefined
}

/** The answer of `POST /api/v1/bulks/:id/retry`. */
export interface BulksRetryData {
  bulk_id: string
  status: 'queued'
  total: number
  accepted: number
  rejected: number
  duplicates: number
  credits_used: number
  created_at: string
  messages: {
    index: number
    message_id: string
    to: string
    status: 'queued'
    credits_used: number
    segments: number | null
    /** Only for a message that waits for the end of quiet hours: when it is sent. */
    deferred_until?: string
  }[]
  errors: {
    index: number
    to: string | null
    error: RecipientFault
    message: string
  }[]
  /** Only for a bulk from a template: its version and locale. */
  template?: UsedTemplate
}

/** The methods of `svc.bulks`. */
export interface BulksResource {
  /** Send to many recipients. `{{name}}`, `{{ name }}` and `{{name|fallback}}` in the texts are filled in for each recipient. One debit pays for all messages, or nothing is sent. A repeated address gets one message. */
  send(body: BulksSendBody, options?: CallOptions): Call<BulksSendData>
  /** Get one bulk and its progress. `GET /api/v1/messages?bulk_id=…` lists its messages. */
  get(id: string, options?: CallOptions): Call<{ bulk: Bulk }>
  /** List the rejected recipients of a bulk, as in the request. The same as `errors` in the answer to the request. The recipients have no message and cost nothing. */
  rejected(id: string, query?: BulksRejectedQuery, options?: CallOptions): List<BulksRejectedData, BulkRejection>
  /** Pause a bulk. Its messages that no worker has begun to send stay queued and paid until it is resumed. Refused for a bulk without queued messages, and for a step of a broadcast. */
  pause(id: string, options?: CallOptions): Call<{ bulk: Bulk }>
  /** Resume a paused bulk. Held messages go at once; quiet hours defer them. Refused for a bulk that is not paused, as after a cancellation. */
  resume(id: string, options?: CallOptions): Call<{ bulk: Bulk }>
  /** Cancel the queued messages of a bulk. Canceled messages fail as `canceled` and are refunded. The pause of a bulk ends. */
  cancel(id: string, options?: CallOptions): Call<{ bulk: Bulk; canceled: number }>
  /** Send the failed messages of a bulk again. Each message that failed before a provider accepted it, and was not canceled, becomes a message of a new bulk and is charged again. This is possible once, when no message of the bulk is queued any more; a repeat gets the same answer. */
  retry(id: string, options?: CallOptions): Call<BulksRetryData>
}

/** The answer of `POST /api/v1/verifications`. */
export interface VerificationsStartData {
  verification_id: string
  status: 'pending' | 'approved' | 'expired' | 'canceled' | 'max_attempts' | 'external'
  to: string
  channel: Channel
  expires_at: string
  /** The earliest time for another message with the code. A start before it sends nothing and costs nothing. */
  next_send_at: string
  /** How many more wrong codes are allowed. */
  attempts_left: number
  /** The price of the message of this request; 0 if none was sent. */
  credits_used: number
  message_id: string
  /** Only for a test key, which sends nothing: the code. */
  test_code?: string
}

/** The body of `POST /api/v1/verifications`. */
export interface VerificationsStartBody {
  to: string
  channel: Channel
  /** The sender, as in a send. The settings of the provider decide which are allowed. */
  from?: string | undefined
  /** The language of the text. A language without a text gets English. Default: English, or the default of a stored template. */
  locale?: string | undefined
  code_length?: number | undefined
  /** Seconds for which the code is valid. */
  expires_in?: number | undefined
  /** A stored template in place of the built-in text: it has `{{code}}`, and may have `{{brand}}` and `{{minutes}}`. As text, only for `whatsapp`: the authentication template that the provider approved; the code is its first variable. */
  template?: string | {
    name: string
    /** Default: the latest version. */
    version?: number | undefined
    /** Strings of at most 10000 characters, numbers, booleans, and lists of at most 1000 such values or objects. */
    variables?: Record<string, unknown> | undefined
  } | undefined
  /** Only for `sms`: the site whose form browsers fill in (WebOTP). */
  domain?: string | undefined
  /** Only for `sms`: the hash of the Android app that reads the code. */
  app_hash?: string | undefined
  /** The channels that are tried next, in this order, with the same code: each when the message before failed, or when no receipt of its delivery arrived within `fallback_after`. Each message is paid. A channel that is refused is skipped. */
  fallback?: {
    channel: Channel
    /** The address, if the channel needs one of the other kind than `to` of the request: an e-mail address, or a number. */
    to?: string | undefined
  }[] | undefined
  /** Seconds after a message until the next channel of `fallback`. */
  fallback_after?: number | undefined
  /** The address of the person's device, stored for the limit, IPv6 as its /64. One network (IPv6: /64) may start 20 verifications in an hour. */
  client_ip?: string | undefined
  /** At most 50 keys and 8192 bytes of JSON. */
  metadata?: Record<string, unknown> | undefined
}

/** The answer of `POST /api/v1/verifications/check`. */
export interface VerificationsCheckAddressData {
  verification_id: string
  status: 'pending' | 'approved' | 'expired' | 'canceled' | 'max_attempts' | 'external'
  /** How many more wrong codes are allowed. */
  attempts_left: number
}

/** The body of `POST /api/v1/verifications/check`. */
export interface VerificationsCheckAddressBody {
  to: string
  /** Blanks and hyphens between the digits are ignored. */
  code: string
}

/** The answer of `POST /api/v1/verifications/:id/check`. */
export interface VerificationsCheckData {
  verification_id: string
  status: 'pending' | 'approved' | 'expired' | 'canceled' | 'max_attempts' | 'external'
  /** How many more wrong codes are allowed. */
  attempts_left: number
}

/** The body of `POST /api/v1/verifications/:id/check`. */
export interface VerificationsCheckBody {
  /** Blanks and hyphens between the digits are ignored. */
  code: string
}

/** The answer of `POST /api/v1/verifications/:id/resend`. */
export interface VerificationsResendData {
  verification_id: string
  status: 'pending' | 'approved' | 'expired' | 'canceled' | 'max_attempts' | 'external'
  to: string
  channel: Channel
  expires_at: string
  /** The earliest time for another message with the code. A start before it sends nothing and costs nothing. */
  next_send_at: string
  /** How many more wrong codes are allowed. */
  attempts_left: number
  /** The price of the message of this request; 0 if none was sent. */
  credits_used: number
  message_id: string
  /** Only for a test key, which sends nothing: the code. */
  test_code?: string
}

/** The body of `POST /api/v1/verifications/:id/resend`. */
export interface VerificationsResendBody {
  channel?: Channel | undefined
}

/** The answer of `GET /api/v1/verifications/stats`. */
export interface VerificationsStatsData {
  since: string
  total: {
    /** Messages with codes. */
    sent: number
    /** Codes that were approved. */
    approved: number
    credits_used: number
    /** `approved` ÷ `sent`; null if nothing was sent. */
    conversion: number | null
  }
  /** The most messages first. */
  countries: {
    /** ISO 3166-1, or `ZZ` for numbers of no country. */
    country: string
    /** Messages with codes. */
    sent: number
    /** Codes that were approved. */
    approved: number
    credits_used: number
    /** `approved` ÷ `sent`; null if nothing was sent. */
    conversion: number | null
  }[]
  /** The countries with a pause in the last day, with its counts. */
  paused: {
    /** ISO 3166-1, or `ZZ` for numbers of no country. */
    country: string
    paused_at: string
    /** Whether codes are still refused. False: the pause has ended. */
    is_active: boolean
    /** When the pause ends by itself: approvals, or the operator, end it earlier. If it has ended: the latest end that it could have. */
    ends_at: string
    /** Messages with codes. */
    sent: number
    /** Codes that were approved. */
    approved: number
  }[]
  /** How far the verifications of the period came, by country and by hour (UTC): e-mail addresses too, and for a test key its tests. Codes of other services are left out. */
  funnel: {
    /** The begin of the period, or the time of the oldest of the newest 10000 verifications: older ones are not counted. */
    since: string
    total: {
      /** Verifications that began. */
      requested: number
      /** Those whose last message was sent, or whose code was approved. */
      sent: number
      /** Those whose last message was delivered, or whose code was approved. */
      delivered: number
      /** Those whose code was approved. */
      approved: number
    }
    /** The most requested first. */
    countries: {
      /** Null: e-mail addresses. */
      country: string | null
      /** Verifications that began. */
      requested: number
      /** Those whose last message was sent, or whose code was approved. */
      sent: number
      /** Those whose last message was delivered, or whose code was approved. */
      delivered: number
      /** Those whose code was approved. */
      approved: number
    }[]
    /** The hours in which verifications began, oldest first. */
    hours: {
      since: string
      /** Verifications that began. */
      requested: number
      /** Those whose last message was sent, or whose code was approved. */
      sent: number
      /** Those whose last message was delivered, or whose code was approved. */
      delivered: number
      /** Those whose code was approved. */
      approved: number
    }[]
  }
}

/** The query of `GET /api/v1/verifications/stats`. */
export interface VerificationsStatsQuery {
  days?: number | undefined
}

/** The answer of `GET /api/v1/verifications`. */
export interface VerificationsListData {
  verifications: CodeVerification[]
  pagination: Pagination
  /** The `after` of the next page; null on the last page. */
  next_after: string | null
}

/** The query of `GET /api/v1/verifications`. */
export interface VerificationsListQuery {
  status?: 'pending' | 'approved' | 'expired' | 'canceled' | 'max_attempts' | 'external' | undefined
  channel?: Channel | undefined
  to?: string | undefined
  page?: number | undefined
  limit?: number | undefined
  /** Only the items after the item with this id, in the order of the list; `next_after` of the previous page. Not with `page`. */
  after?: string | undefined
}

/** The methods of `svc.verifications`. */
export interface VerificationsResource {
  /** Send a one-time code. While a code for the address is pending, the same code is sent again, at the earliest at `next_send_at`; before, the answer is the pending verification, and nothing is sent. An address gets at most 5 codes in an hour and 10 in a day. */
  start(body: VerificationsStartBody, options?: CallOptions): Call<VerificationsStartData>
  /** Check a code by the address that got it. The same as the check by id, for the newest verification of the address. */
  checkAddress(body: VerificationsCheckAddressBody, options?: CallOptions): Call<VerificationsCheckAddressData>
  /** Check a code. `approved`: the code is right, and the verification ends: a further check gets 404, so that a code works once. `pending`: the code is wrong. After 5 wrong codes the status is `max_attempts`. */
  check(id: string, body: VerificationsCheckBody, options?: CallOptions): Call<VerificationsCheckData>
  /** Send the code of a pending verification again. By the same channel, or by another channel for numbers: `sms`, `whatsapp` or `voice`. Before `next_send_at` nothing is sent. */
  resend(id: string, body: VerificationsResendBody, options?: CallOptions): Call<VerificationsResendData>
  /** Cancel a pending verification. Its code is not valid any more. A message that was sent stays paid. */
  cancel(id: string, options?: CallOptions): Call<{ verification: CodeVerification }>
  /** Count codes and approvals by country. Counts live messages with codes to numbers, by hour: e-mail addresses have no country, and tests are not counted. `funnel` counts verifications in place of messages. A low conversion in one country is the sign of pumping: bots that request codes to numbers that earn from them. */
  stats(query?: VerificationsStatsQuery, options?: CallOptions): Call<VerificationsStatsData>
  /** Get one verification. */
  get(id: string, options?: CallOptions): Call<{ verification: CodeVerification }>
  /** List verifications, newest first. */
  list(query?: VerificationsListQuery, options?: CallOptions): List<VerificationsListData, CodeVerification>
}

/** The answer of `GET /api/v1/messages/received`. */
export interface ReceivedListData {
  received: ReceivedMessage[]
  pagination: Pagination
  /** The `after` of the next page; null on the last page. */
  next_after: string | null
}

/** The query of `GET /api/v1/messages/received`. */
export interface ReceivedListQuery {
  channel?: Channel | undefined
  /** Only messages of this author. */
  sender?: string | undefined
  /** Only messages to this number or address. */
  recipient?: string | undefined
  /** ISO 8601. A date alone is its first instant; without an offset it is UTC. */
  startDate?: Instant | undefined
  /** ISO 8601. A date alone is its first instant; without an offset it is UTC. */
  endDate?: Instant | undefined
  page?: number | undefined
  limit?: number | undefined
  /** Only the items after the item with this id, in the order of the list; `next_after` of the previous page. Not with `page`. */
  after?: string | undefined
}

/** The methods of `svc.received`. */
export interface ReceivedResource {
  /** List messages received, newest first. */
  list(query?: ReceivedListQuery, options?: CallOptions): List<ReceivedListData, ReceivedMessage>
}

/** The body of `POST /api/v1/templates`. */
export interface TemplatesCreateBody {
  name: string
  description?: string | undefined
  /** What the messages are for. A `layout` is sent by no message: it is the HTML around the e-mails of other templates, with `{{content}}` at their place. */
  category?: 'marketing' | 'transactional' | 'layout' | undefined
  /** The last locale of the fall-back, which every channel of the template must have. Default: the locale of the first variant. */
  default_locale?: string | undefined
  variables?: {
    name: string
    type: 'text' | 'number' | 'boolean' | 'list'
    /** The value without one in the request. Not for a list. */
    fallback?: string | number | boolean | undefined
    /** A value of the type, for previews; not used to send. */
    example?: unknown | undefined
  }[] | undefined
  /** One for each channel and locale, with placeholders. */
  variants: TemplateVariant[]
}

/** The body of `POST /api/v1/templates/push`. */
export interface TemplatesPushBody {
  templates: {
    name: string
    description?: string | undefined
    /** What the messages are for. A `layout` is sent by no message: it is the HTML around the e-mails of other templates, with `{{content}}` at their place. */
    category?: 'marketing' | 'transactional' | 'layout' | undefined
    /** The last locale of the fall-back, which every channel of the template must have. Default: the locale of the first variant. */
    default_locale?: string | undefined
    variables?: {
      name: string
      type: 'text' | 'number' | 'boolean' | 'list'
      /** The value without one in the request. Not for a list. */
      fallback?: string | number | boolean | undefined
      /** A value of the type, for previews; not used to send. */
      example?: unknown | undefined
    }[] | undefined
    /** One for each channel and locale, with placeholders. */
    variants: TemplateVariant[]
  }[]
  /** Whether drafts that differ from their latest version are published. */
  publish?: boolean | undefined
  /** Whether the request is only checked, and the answer says what it would do. */
  dry_run?: boolean | undefined
}

/** The body of `POST /api/v1/templates/preview`. */
export interface TemplatesPreviewBody {
  name?: string | undefined
  /** Default: the draft. */
  version?: number | undefined
  /** A template that is not stored, in place of `name`. */
  template?: {
    /** What the messages are for. A `layout` is sent by no message: it is the HTML around the e-mails of other templates, with `{{content}}` at their place. */
    category?: 'marketing' | 'transactional' | 'layout' | undefined
    /** The last locale of the fall-back, which every channel of the template must have. Default: the locale of the first variant. */
    default_locale?: string | undefined
    variables?: {
      name: string
      type: 'text' | 'number' | 'boolean' | 'list'
      /** The value without one in the request. Not for a list. */
      fallback?: string | number | boolean | undefined
      /** A value of the type, for previews; not used to send. */
      example?: unknown | undefined
    }[] | undefined
    /** One for each channel and locale, with placeholders. */
    variants: TemplateVariant[]
  } | undefined
  /** Layouts of `template` that are not stored, such as those of the same push. They come before the published ones. */
  layouts?: {
    name: string
    description?: string | undefined
    /** What the messages are for. A `layout` is sent by no message: it is the HTML around the e-mails of other templates, with `{{content}}` at their place. */
    category?: 'marketing' | 'transactional' | 'layout' | undefined
    /** The last locale of the fall-back, which every channel of the template must have. Default: the locale of the first variant. */
    default_locale?: string | undefined
    variables?: {
      name: string
      type: 'text' | 'number' | 'boolean' | 'list'
      /** The value without one in the request. Not for a list. */
      fallback?: string | number | boolean | undefined
      /** A value of the type, for previews; not used to send. */
      example?: unknown | undefined
    }[] | undefined
    /** One for each channel and locale, with placeholders. */
    variants: TemplateVariant[]
  }[] | undefined
  channel: Channel
  locale?: string | undefined
  /** Strings of at most 10000 characters, numbers, booleans, and lists of at most 1000 such values or objects. */
  variables?: Record<string, unknown> | undefined
}

/** The answer of `GET /api/v1/templates`. */
export interface TemplatesListData {
  templates: ListedTemplate[]
  pagination: Pagination
  /** The `after` of the next page; null on the last page. */
  next_after: string | null
}

/** The query of `GET /api/v1/templates`. */
export interface TemplatesListQuery {
  page?: number | undefined
  limit?: number | undefined
  /** Only the items after the item with this id, in the order of the list; `next_after` of the previous page. Not with `page`. */
  after?: string | undefined
}

/** The body of `PUT /api/v1/templates/:name`. */
export interface TemplatesUpdateBody {
  description?: string | null | undefined
  /** What the messages are for. A `layout` is sent by no message: it is the HTML around the e-mails of other templates, with `{{content}}` at their place. */
  category?: 'marketing' | 'transactional' | 'layout' | undefined
  /** The last locale of the fall-back, which every channel of the template must have. Default: the locale of the first variant. */
  default_locale?: string | undefined
  variables?: {
    name: string
    type: 'text' | 'number' | 'boolean' | 'list'
    /** The value without one in the request. Not for a list. */
    fallback?: string | number | boolean | undefined
    /** A value of the type, for previews; not used to send. */
    example?: unknown | undefined
  }[] | undefined
  /** One for each channel and locale, with placeholders. */
  variants?: TemplateVariant[] | undefined
}

/** The body of `POST /api/v1/templates/:name/publish`. */
export interface TemplatesPublishBody {
  /** An earlier version: it becomes the draft and is published again, under a new number. */
  version?: number | undefined
}

/** The answer of `GET /api/v1/templates/:name/versions`. */
export interface TemplatesVersionsData {
  versions: ListedTemplateVersion[]
  pagination: Pagination
  /** The `after` of the next page; null on the last page. */
  next_after: string | null
}

/** The query of `GET /api/v1/templates/:name/versions`. */
export interface TemplatesVersionsQuery {
  page?: number | undefined
  limit?: number | undefined
  /** The `next_after` of the previous page: only the items after that page. Not with `page`. */
  after?: string | undefined
}

/** The methods of `svc.templates`. */
export interface TemplatesResource {
  /** Create a template as a draft. Messages use it once it is published. */
  create(body: TemplatesCreateBody, options?: CallOptions): Call<{ template: Template }>
  /** Create, change and publish templates together. All of them or, on an error, none. A template of the workspace that the request does not name stays as it is. The order of variants does not count as a change. */
  push(body: TemplatesPushBody, options?: CallOptions): Call<{ templates: PushedTemplate[] }>
  /** Show what a template becomes with values. The same content, to the byte, as a send with these values. A variable without a value and without a fallback takes its example. Nothing is stored or sent. */
  preview(body: TemplatesPreviewBody, options?: CallOptions): Call<{ preview: TemplatePreview }>
  /** List templates, newest first. */
  list(query?: TemplatesListQuery, options?: CallOptions): List<TemplatesListData, ListedTemplate>
  /** Get one template with its draft. */
  get(name: string, options?: CallOptions): Call<{ template: Template }>
  /** Change the draft of a template. Changes the fields given. `variables` and `variants` replace their whole list. Messages use the latest version until the draft is published. */
  update(name: string, body: TemplatesUpdateBody, options?: CallOptions): Call<{ template: Template }>
  /** Publish the draft as a new version. A version never changes. A draft that equals the latest version makes no new one: the answer has the latest. */
  publish(name: string, body: TemplatesPublishBody, options?: CallOptions): Call<{ version: TemplateVersion }>
  /** List the versions of a template, newest first. Also of a deleted template. */
  versions(name: string, query?: TemplatesVersionsQuery, options?: CallOptions): List<TemplatesVersionsData, ListedTemplateVersion>
  /** Get one version of a template. Also of a deleted template, so that the version of an old message stays readable. */
  version(name: string, version: string, options?: CallOptions): Call<{ version: TemplateVersion }>
  /** Delete a template. Messages cannot use it any more. Its versions stay readable until the workspace needs their space. */
  delete(name: string, options?: CallOptions): Call<{ message: string }>
}

/** The body of `POST /api/v1/broadcasts`. */
export interface BroadcastsCreateBody {
  name?: string | undefined
  channel: 'sms' | 'whatsapp' | 'email'
  template: TemplateUse
  audience: Audience
  /** The sender, as in a send. For an e-mail the display name of the sender. */
  from?: string | undefined
  /** Default: at once. */
  scheduled_at?: Instant | undefined
  /** `recipient`: each message goes when the clocks of its recipient show the date and the time of `scheduled_at` in UTC. `2026-05-04T09:00` is then nine in the morning for each of them. Where this time is past, messages go at once. */
  time_zone?: 'recipient' | undefined
  /** Messages in a minute. Default: as fast as the provider takes them. */
  rate?: number | undefined
  /** Whether the broadcast waits for `resume`. */
  draft?: boolean | undefined
}

/** The body of `POST /api/v1/broadcasts/preview`. */
export interface BroadcastsPreviewBody {
  name?: string | undefined
  channel: 'sms' | 'whatsapp' | 'email'
  template: TemplateUse
  audience: Audience
  /** The sender, as in a send. For an e-mail the display name of the sender. */
  from?: string | undefined
  /** Default: at once. */
  scheduled_at?: Instant | undefined
  /** `recipient`: each message goes when the clocks of its recipient show the date and the time of `scheduled_at` in UTC. `2026-05-04T09:00` is then nine in the morning for each of them. Where this time is past, messages go at once. */
  time_zone?: 'recipient' | undefined
  /** Messages in a minute. Default: as fast as the provider takes them. */
  rate?: number | undefined
  /** Whether the broadcast waits for `resume`. */
  draft?: boolean | undefined
}

/** The answer of `GET /api/v1/broadcasts`. */
export interface BroadcastsListData {
  broadcasts: Broadcast[]
  pagination: Pagination
  /** The `after` of the next page; null on the last page. */
  next_after: string | null
}

/** The query of `GET /api/v1/broadcasts`. */
export interface BroadcastsListQuery {
  status?: 'draft' | 'scheduled' | 'running' | 'paused' | 'finished' | 'canceled' | undefined
  page?: number | undefined
  limit?: number | undefined
  /** Only the items after the item with this id, in the order of the list; `next_after` of the previous page. Not with `page`. */
  after?: string | undefined
}

/** The answer of `GET /api/v1/broadcasts/:id`. */
export interface BroadcastsGetData {
  broadcast: Broadcast
  results: BroadcastResults
}

/** The body of `PUT /api/v1/broadcasts/:id`. */
export interface BroadcastsUpdateBody {
  name?: string | null | undefined
  template?: TemplateUse | undefined
  audience?: Audience | undefined
  from?: string | null | undefined
  /** null: at once. */
  scheduled_at?: Instant | null | undefined
  time_zone?: 'recipient' | null | undefined
  rate?: number | null | undefined
  /** true: it waits for `resume` from now on. false: it begins at its time. */
  draft?: boolean | undefined
}

/** The methods of `svc.broadcasts`. */
export interface BroadcastsResource {
  /** Send a template to all contacts of an audience. Each contact gets one message, which is charged when its turn comes. Suppressed contacts get none. The fields and attributes of a contact fill in the placeholders of the template first, then `variables`, then its fallbacks. */
  create(body: BroadcastsCreateBody, options?: CallOptions): Call<{ broadcast: Broadcast }>
  /** Show size, price and samples of a broadcast. Nothing is stored, sent or charged. */
  preview(body: BroadcastsPreviewBody, options?: CallOptions): Call<{ preview: BroadcastPreview }>
  /** List broadcasts, newest first. */
  list(query?: BroadcastsListQuery, options?: CallOptions): List<BroadcastsListData, Broadcast>
  /** Get one broadcast, its progress and its results. The results leave out messages whose history was removed. */
  get(id: string, options?: CallOptions): Call<BroadcastsGetData>
  /** Change a broadcast that has not begun. Changes the fields given; `template` and `audience` as a whole. null removes a value. The broadcast is sent with the API key of this request from now on. */
  update(id: string, body: BroadcastsUpdateBody, options?: CallOptions): Call<{ broadcast: Broadcast }>
  /** Pause a broadcast. Its messages that no worker has begun to send are held, also those that wait for their time, and also after it is finished or paused itself. */
  pause(id: string, options?: CallOptions): Call<{ broadcast: Broadcast }>
  /** Continue a paused broadcast, or begin a draft. The broadcast is sent with the API key of this request from now on. Held messages go at their time, or at once if it is past; quiet hours defer them. */
  resume(id: string, options?: CallOptions): Call<{ broadcast: Broadcast }>
  /** Cancel a broadcast. Also after it is finished. Its queued messages fail as `canceled` and are refunded, within some seconds. */
  cancel(id: string, options?: CallOptions): Call<{ broadcast: Broadcast }>
}

/** The body of `POST /api/v1/contacts`. */
export interface ContactsCreateBody {
  name?: string | null | undefined
  phone?: string | null | undefined
  email?: string | null | undefined
  /** The id of the contact in your own system. */
  external_id?: string | null | undefined
  tags?: string[] | null | undefined
  attributes?: Record<string, unknown> | null | undefined
  /** `unsubscribed` suppresses the address on that channel as `opt_out`, `subscribed` lifts that; other channels do not change. */
  subscriptions?: {
    sms?: 'subscribed' | 'unsubscribed' | undefined
    whatsapp?: 'subscribed' | 'unsubscribed' | undefined
    email?: 'subscribed' | 'unsubscribed' | undefined
    voice?: 'subscribed' | 'unsubscribed' | undefined
  } | null | undefined
}

/** The answer of `GET /api/v1/contacts`. */
export interface ContactsListData {
  contacts: Contact[]
  pagination: Pagination
  /** The `after` of the next page; null on the last page. */
  next_after: string | null
}

/** The query of `GET /api/v1/contacts`. */
export interface ContactsListQuery {
  /** A part of name, phone, email or external_id; case is ignored. */
  search?: string | undefined
  tag?: string | undefined
  page?: number | undefined
  limit?: number | undefined
  /** Only the items after the item with this id, in the order of the list; `next_after` of the previous page. Not with `page`. */
  after?: string | undefined
}

/** The answer of `POST /api/v1/contacts/import`. */
export interface ContactsImportData {
  created: number
  updated: number
  unchanged: number
  rejected: number
  /** The first fault of each rejected contact. */
  errors: {
    index: number
    path: string
    message: string
    /** The line of a file, from 1. */
    line?: number
  }[]
  /** Columns of a file whose use may be a mistake; missing without a warning. */
  warnings?: string[]
  /** How the file was read; only with `dry_run`. */
  file?: {
    encoding: string
    separator: string
    columns: { name: string; field: string; examples: string[] }[]
  }
}

/** The body of `POST /api/v1/contacts/import`. */
export interface ContactsImportBody {
  contacts: Record<string, unknown>[]
  /** Whether the import only reports what it would do. */
  dry_run?: boolean | undefined
}

/** The answer of `GET /api/v1/contacts/export`. */
export interface ContactsExportData {
  contacts: Contact[]
  /** The `after` that continues: after `limit` rows, or earlier if too many messages were examined that the filter does not select. Null if no rows follow. */
  next_after: string | null
}

/** The query of `GET /api/v1/contacts/export`. */
export interface ContactsExportQuery {
  /** A part of name, phone, email or external_id; case is ignored. */
  search?: string | undefined
  tag?: string | undefined
  /** The maximum number of rows. `after` continues. */
  limit?: number | undefined
  /** Only the rows after the row with this id: the last one of an earlier export, `next_after` in JSON. */
  after?: string | undefined
}

/** The body of `PUT /api/v1/contacts/:id`. */
export interface ContactsUpdateBody {
  name?: string | null | undefined
  phone?: string | null | undefined
  email?: string | null | undefined
  /** The id of the contact in your own system. */
  external_id?: string | null | undefined
  tags?: string[] | null | undefined
  attributes?: Record<string, unknown> | null | undefined
  /** `unsubscribed` suppresses the address on that channel as `opt_out`, `subscribed` lifts that; other channels do not change. */
  subscriptions?: {
    sms?: 'subscribed' | 'unsubscribed' | undefined
    whatsapp?: 'subscribed' | 'unsubscribed' | undefined
    email?: 'subscribed' | 'unsubscribed' | undefined
    voice?: 'subscribed' | 'unsubscribed' | undefined
  } | null | undefined
}

/** The methods of `svc.contacts`. */
export interface ContactsResource {
  /** Create a contact. A contact needs a phone number or an e-mail address; each is unique in the workspace. */
  create(body: ContactsCreateBody, options?: CallOptions): Call<{ contact: Contact }>
  /** List contacts, newest first. */
  list(query?: ContactsListQuery, options?: CallOptions): List<ContactsListData, Contact>
  /** Create and update many contacts. Finds a contact by external_id, else by phone, else by email, and updates it, or creates it. A contact that is not valid is rejected without the others. CSV needs a header row, and may be any export of a spreadsheet or an address book. */
  import(body: ContactsImportBody, options?: CallOptions): Call<ContactsImportData>
  /** Export all contacts, newest first. The answer is streamed while it is read. A workspace may have 2 exports in flight. */
  export(query?: ContactsExportQuery, options?: CallOptions): List<ContactsExportData, Contact>
  /** Get one contact. */
  get(id: string, options?: CallOptions): Call<{ contact: Contact }>
  /** Change a contact. Changes the fields in the body and keeps the others; null clears a field. */
  update(id: string, body: ContactsUpdateBody, options?: CallOptions): Call<{ contact: Contact }>
  /** Delete a contact. Suppressions of its addresses stay. */
  delete(id: string, options?: CallOptions): Call<{ message: string }>
}

/** The answer of `GET /api/v1/contacts/suppressions`. */
export interface SuppressionsListData {
  suppressions: Suppression[]
  pagination: Pagination
  /** The `after` of the next page; null on the last page. */
  next_after: string | null
}

/** The query of `GET /api/v1/contacts/suppressions`. */
export interface SuppressionsListQuery {
  channel?: Channel | undefined
  reason?: 'opt_out' | 'bounce' | 'complaint' | 'manual' | undefined
  /** A part of the address; case is ignored. */
  search?: string | undefined
  page?: number | undefined
  limit?: number | undefined
  /** The `next_after` of the previous page: only the items after that page. Not with `page`. */
  after?: string | undefined
}

/** The body of `POST /api/v1/contacts/suppressions`. */
export interface SuppressionsAddBody {
  channel: Channel
  address: string
  reason?: 'opt_out' | 'bounce' | 'complaint' | 'manual' | undefined
}

/** The methods of `svc.suppressions`. */
export interface SuppressionsResource {
  /** List suppressions, newest first. */
  list(query?: SuppressionsListQuery, options?: CallOptions): List<SuppressionsListData, Suppression>
  /** Suppress an address on a channel. An existing suppression does not change and is the answer. */
  add(body: SuppressionsAddBody, options?: CallOptions): Call<{ suppression: Suppression }>
  /** Remove a suppression, with any reason. */
  remove(channel: string, address: string, options?: CallOptions): Call<{ message: string }>
}

/** The answer of `POST /api/v1/webhooks`. */
export interface WebhooksCreateData {
  webhook: {
    id: string
    url: string
    description: string | null
    events: ('*' | EventKind)[]
    /** Whether it gets events of live messages, of test messages (`livemode` false), or of both. */
    mode: 'all' | 'live' | 'test'
    /** The form of the requests: of this service, or of the webhooks of another vendor. */
    format: 'svc' | 'twilio' | 'resend'
    /** The API key that signs the deliveries, in place of the secret of the webhook; null for none. */
    api_key_id: string | null
    is_active: boolean
    status: 'active' | 'failing' | 'disabled'
    disabled_reason: string | null
    secret_prefix: string
    headers: string[]
    consecutive_failures: number
    last_success_at: string | null
    last_failure_at: string | null
    created_at: string
    updated_at: string
    /** Signs the deliveries. It is shown only once. */
    secret: string
  }
  /** Present while the e-mail address of the workspace is not verified. */
  warning?: string
}

/** The body of `POST /api/v1/webhooks`. */
export interface WebhooksCreateBody {
  url: string
  description?: string | undefined
  events?: ('*' | EventKind)[] | undefined
  /** Default: `all`; with a test key `test`, the only value that it may set. */
  mode?: 'all' | 'live' | 'test' | undefined
  /** Sent with every delivery. Values are never shown again. */
  headers?: Record<string, string> | undefined
  /** The form of the requests; default: `svc`. `twilio`: a form as Twilio posts it, for messages by SMS and WhatsApp; it needs `api_key_id`. `resend`: JSON as Resend posts it, for e-mails, with the headers of Svix. */
  format?: 'svc' | 'twilio' | 'resend' | undefined
  /** For `twilio`: the API key whose text signs the requests, created with `signs`. `secret` of the answer is then an empty text. */
  api_key_id?: string | undefined
}

/** The answer of `GET /api/v1/webhooks`. */
export interface WebhooksListData {
  webhooks: Webhook[]
  pagination: Pagination
  /** The `after` of the next page; null on the last page. */
  next_after: string | null
}

/** The query of `GET /api/v1/webhooks`. */
export interface WebhooksListQuery {
  page?: number | undefined
  limit?: number | undefined
  /** Only the items after the item with this id, in the order of the list; `next_after` of the previous page. Not with `page`. */
  after?: string | undefined
}

/** The answer of `GET /api/v1/webhooks/events`. */
export interface WebhooksEventsData {
  events: {
    name: EventKind
    description: string
    example: {
      event: EventKind
      data: { [field: string]: unknown }
    }
  }[]
}

/** The query of `GET /api/v1/webhooks/:id/health`. */
export interface WebhooksHealthQuery {
  period?: '24h' | '7d' | '30d' | undefined
}

/** The answer of `PUT /api/v1/webhooks/:id`. */
export interface WebhooksUpdateData {
  webhook: Webhook
  /** Present when a changed `url` removed the headers. */
  warning?: string
}

/** The body of `PUT /api/v1/webhooks/:id`. */
export interface WebhooksUpdateBody {
  url?: string | undefined
  description?: string | null | undefined
  events?: ('*' | EventKind)[] | null | undefined
  /** Pending deliveries that do not fit the new mode are discarded. A test key may set `test` only. */
  mode?: 'all' | 'live' | 'test' | undefined
  headers?: Record<string, string> | string[] | null | undefined
  is_active?: boolean | undefined
}

/** The answer of `POST /api/v1/webhooks/:id/rotate-secret`. */
export interface WebhooksRotateSecretData {
  webhook: {
    id: string
    url: string
    description: string | null
    events: ('*' | EventKind)[]
    /** Whether it gets events of live messages, of test messages (`livemode` false), or of both. */
    mode: 'all' | 'live' | 'test'
    /** The form of the requests: of this service, or of the webhooks of another vendor. */
    format: 'svc' | 'twilio' | 'resend'
    /** The API key that signs the deliveries, in place of the secret of the webhook; null for none. */
    api_key_id: string | null
    is_active: boolean
    status: 'active' | 'failing' | 'disabled'
    disabled_reason: string | null
    secret_prefix: string
    headers: string[]
    consecutive_failures: number
    last_success_at: string | null
    last_failure_at: string | null
    created_at: string
    updated_at: string
    /** Signs the deliveries. It is shown only once. */
    secret: string
    /** Until then the previous secret is valid too. */
    previous_secret_ends_at: string
  }
}

/** The answer of `GET /api/v1/webhooks/:id/deliveries`. */
export interface WebhooksDeliveriesData {
  deliveries: Delivery[]
  pagination: Pagination
  /** The `after` of the next page; null on the last page. */
  next_after: string | null
}

/** The query of `GET /api/v1/webhooks/:id/deliveries`. */
export interface WebhooksDeliveriesQuery {
  status?: 'pending' | 'delivered' | 'failed' | 'discarded' | undefined
  event?: EventKind | undefined
  page?: number | undefined
  limit?: number | undefined
  /** Only the items after the item with this id, in the order of the list; `next_after` of the previous page. Not with `page`. */
  after?: string | undefined
}

/** The answer of `POST /api/v1/webhooks/:id/recover`. */
export interface WebhooksRecoverData {
  recovered: number
  /** Whether to repeat the request for the rest. */
  has_more: boolean
}

/** The body of `POST /api/v1/webhooks/:id/recover`. */
export interface WebhooksRecoverBody {
  /** ISO 8601. A date alone is its first instant; without an offset it is UTC. */
  since: Instant
  /** ISO 8601. A date alone is its first instant; without an offset it is UTC. */
  until?: Instant | undefined
}

/** The methods of `svc.webhooks`. */
export interface WebhooksResource {
  /** Create a webhook. */
  create(body: WebhooksCreateBody, options?: CallOptions): Call<WebhooksCreateData>
  /** List webhooks. */
  list(query?: WebhooksListQuery, options?: CallOptions): List<WebhooksListData, Webhook>
  /** List the kinds of events. */
  events(options?: CallOptions): Call<WebhooksEventsData>
  /** Get one webhook. */
  get(id: string, options?: CallOptions): Call<{ webhook: Webhook }>
  /** Get how the receiver of a webhook answers. Counts attempts by their outcome, with the times of the answers, and has the last failed ones. `24h` has a point for each hour, `7d` and `30d` for each day. */
  health(id: string, query?: WebhooksHealthQuery, options?: CallOptions): Call<{ health: WebhookHealth }>
  /** Change a webhook. Changes the fields in the body and keeps the others; null clears one: no description, every event, no headers. `is_active` disables and enables. A `url` with another scheme, host or port removes the headers, unless `headers` has them with their values; the signing secret stays, because it is never sent. */
  update(id: string, body: WebhooksUpdateBody, options?: CallOptions): Call<WebhooksUpdateData>
  /** Delete a webhook. */
  delete(id: string, options?: CallOptions): Call<{ message: string }>
  /** Replace the secret of a webhook. Both secrets are valid for 24 hours. Only the newest two are valid: a second rotation ends the oldest immediately. A webhook that an API key signs has no secret to replace. */
  rotateSecret(id: string, options?: CallOptions): Call<WebhooksRotateSecretData>
  /** Enable a disabled webhook. Pending deliveries continue on their schedule. Deliveries that fell due while it was disabled were discarded and can be recovered. */
  enable(id: string, options?: CallOptions): Call<{ webhook: Webhook }>
  /** Send a webhook.test event to a webhook. It is delivered in one attempt, whatever the webhook is subscribed to, and also while the webhook is disabled. */
  test(id: string, options?: CallOptions): Call<{ delivery: Delivery }>
  /** List the deliveries of a webhook, newest first. */
  deliveries(id: string, query?: WebhooksDeliveriesQuery, options?: CallOptions): List<WebhooksDeliveriesData, Delivery>
  /** Get one delivery with its payload and its attempts. */
  delivery(id: string, deliveryId: string, options?: CallOptions): Call<{ delivery: DeliveryWithAttempts }>
  /** Retry a delivery now. A pending delivery is attempted now and continues on its schedule; a finished one gets one more attempt. A delivered one stays `delivered`. While an attempt is in flight, the retry follows it if it fails; until then `next_attempt_at` is null. */
  retry(id: string, deliveryId: string, options?: CallOptions): Call<{ delivery: Delivery }>
  /** Queue the missed deliveries of a webhook again. Failed and discarded deliveries of events between `since` and `until` (default: now), each with all its attempts; at most 10000 in one request and 30 days back. */
  recover(id: string, body: WebhooksRecoverBody, options?: CallOptions): Call<WebhooksRecoverData>
}

/** The answer of `GET /api/v1/events`. */
export interface EventsListData {
  events: ListedEvent[]
  /** The `after` of the next request. */
  next_after: string
}

/** The query of `GET /api/v1/events`. */
export interface EventsListQuery {
  /** `next_after` of the last answer. Default: the present; the answer has no events then. */
  after?: string | undefined
  wait?: number | undefined
}

/** The methods of `svc.events`. */
export interface EventsResource {
  /** List the events of the workspace, and wait for new ones. The events that webhooks get, in the order in which they happened, at most 100 in one answer. With `wait`, an answer without events is sent after that number of seconds. A test key gets events of test messages only. At most 5 requests of one API key or session, and 20 of a workspace, may wait at the same time; others get 429. An `after` behind which events are missing, for example after a restore, is 400: begin again without `after`. */
  list(query?: EventsListQuery, options?: CallOptions): List<EventsListData, ListedEvent>
}

/** The body of `POST /api/v1/domains`. */
export interface DomainsCreateBody {
  /** An international name may be in Unicode. */
  domain: string
}

/** The answer of `GET /api/v1/domains`. */
export interface DomainsListData {
  domains: Domain[]
  pagination: Pagination
  /** The `after` of the next page; null on the last page. */
  next_after: string | null
}

/** The query of `GET /api/v1/domains`. */
export interface DomainsListQuery {
  page?: number | undefined
  limit?: number | undefined
  /** Only the items after the item with this id, in the order of the list; `next_after` of the previous page. Not with `page`. */
  after?: string | undefined
}

/** The methods of `svc.domains`. */
export interface DomainsResource {
  /** Add a sending domain. Makes the DKIM key of the domain and returns the DNS records to publish. Answers 403 unless the operator allows self-service. */
  create(body: DomainsCreateBody, options?: CallOptions): Call<{ domain: Domain }>
  /** List sending domains. */
  list(query?: DomainsListQuery, options?: CallOptions): List<DomainsListData, Domain>
  /** Get one sending domain with its DNS records. */
  get(id: string, options?: CallOptions): Call<{ domain: Domain }>
  /** Look for the DNS records of a domain now. At most once in 10 seconds for one domain. */
  verify(id: string, options?: CallOptions): Call<{ domain: Domain }>
  /** Make a new DKIM key for a verified domain. The old key signs until the record of the new key is verified. Answers 403 unless the operator allows self-service. */
  rotate(id: string, options?: CallOptions): Call<{ domain: Domain }>
  /** Remove a sending domain and its key. Addresses of the domain are refused from the next request on. Answers 403 unless the operator allows self-service. */
  delete(id: string, options?: CallOptions): Call<{ message: string }>
}

/** The answer of `POST /api/v1/billing/checkout`. */
export interface BillingCheckoutData {
  purchase_id: string
  /** The session at the payment provider. */
  session_id: string
  /** The page to pay on. */
  checkout_url: string
  expires_at: string
}

/** The body of `POST /api/v1/billing/checkout`. */
export interface BillingCheckoutBody {
  package_id: string
  /** The page after the payment. `{CHECKOUT_SESSION_ID}` is replaced by the session id. */
  success_url?: string | undefined
  /** The page if the payer cancels. */
  cancel_url?: string | undefined
}

/** The answer of `GET /api/v1/billing/transactions`. */
export interface BillingTransactionsData {
  transactions: Transaction[]
  pagination: Pagination
  /** The `after` of the next page; null on the last page. */
  next_after: string | null
}

/** The query of `GET /api/v1/billing/transactions`. */
export interface BillingTransactionsQuery {
  page?: number | undefined
  limit?: number | undefined
  /** The `next_after` of the previous page: only the items after that page. Not with `page`. */
  after?: string | undefined
}

/** The answer of `GET /api/v1/billing/transactions/export`. */
export interface BillingExportData {
  transactions: Transaction[]
  /** The `after` that continues: after `limit` rows, or earlier if too many messages were examined that the filter does not select. Null if no rows follow. */
  next_after: string | null
}

/** The query of `GET /api/v1/billing/transactions/export`. */
export interface BillingExportQuery {
  /** The maximum number of rows. `after` continues. */
  limit?: number | undefined
  /** The `next_after` of an earlier export, `number` of the last row in CSV. */
  after?: string | undefined
  /** `funding`: only changes that no message caused, such as purchases and grants. */
  only?: 'funding' | undefined
}

/** The methods of `svc.billing`. */
export interface BillingResource {
  /** List the credit packages. */
  packages(options?: CallOptions): Call<{ packages: CreditPackage[] }>
  /** Start the purchase of a credit package. Returns the page to pay on. The credits are added when the payment provider confirms the payment. */
  checkout(body: BillingCheckoutBody, options?: CallOptions): Call<BillingCheckoutData>
  /** List the changes of the balance, newest first. */
  transactions(query?: BillingTransactionsQuery, options?: CallOptions): List<BillingTransactionsData, Transaction>
  /** Export the changes of the balance, newest first. The answer is streamed while it is read. In CSV, no cell runs as a formula in a spreadsheet. A workspace may have 2 exports in flight. */
  export(query?: BillingExportQuery, options?: CallOptions): List<BillingExportData, Transaction>
}

/** The answer of `GET /api/v1/audit`. */
export interface AuditListData {
  audit_entries: AuditEntry[]
  pagination: Pagination
  /** The `after` of the next page; null on the last page. */
  next_after: string | null
}

/** The query of `GET /api/v1/audit`. */
export interface AuditListQuery {
  action?: AuditAction | undefined
  /** ISO 8601. A date alone is its first instant; without an offset it is UTC. */
  startDate?: Instant | undefined
  /** ISO 8601. A date alone is its first instant; without an offset it is UTC. */
  endDate?: Instant | undefined
  page?: number | undefined
  limit?: number | undefined
  /** Only the items after the item with this id, in the order of the list; `next_after` of the previous page. Not with `page`. */
  after?: string | undefined
}

/** The methods of `svc.audit`. */
export interface AuditResource {
  /** List the audit log, newest first. Logins and changes of passwords, API keys, webhooks, granted credits, limits and erasures. Each entry is written in the transaction of its change and kept for a year by default. */
  list(query?: AuditListQuery, options?: CallOptions): List<AuditListData, AuditEntry>
}

/** The answer of `GET /health`. */
export interface HealthCheckData {
  status: string
  timestamp: string
  services: { database: string; cache: string; queue: string }
}

/** The methods of `svc.health`. */
export interface HealthResource {
  /** Get the state of the service and its dependencies. The status is always 200. */
  check(options?: CallOptions): Call<HealthCheckData>
  /** Check whether the process answers. 503 if the process must be restarted. */
  live(options?: CallOptions): Call<{ status: string }>
  /** Check whether the process takes requests. 503 while the process starts, stops, or cannot reach its database. */
  ready(options?: CallOptions): Call<{ status: string }>
}
