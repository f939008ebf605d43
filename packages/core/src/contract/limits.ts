const KB = 1024
const MB = 1024 * KB
const MINUTE_S = 60
const HOUR_S = 60 * MINUTE_S
const DAY_S = 24 * HOUR_S

/** The maximum number of requests (or failures) in a window of whole seconds. */
export interface RateLimit {
  readonly max: number
  readonly window_s: number
}

/** The default rate limits; each can be configured. Source: contract section 1. */
export const RATES = {
  /** Counted per API key, or per workspace for a JWT. */
  general: { max: 100, window_s: MINUTE_S },
  /** Counted per workspace, over all its API keys and sessions. */
  workspace: { max: 500, window_s: MINUTE_S },
  /** Requests of the console, counted per person over all tabs. They do not count in `general`, and reads not in `workspace`. */
  console: { max: 600, window_s: MINUTE_S },
  /** Counted per workspace. */
  bulk: { max: 10, window_s: 5 * MINUTE_S },
  /** Estimates of bulks, counted per workspace. `svc bulk` requests one estimate for each batch before it sends. */
  bulk_estimate: { max: 60, window_s: 5 * MINUTE_S },
  /** Counted per route and client address; login and forgot-password also per e-mail address. */
  auth: { max: 5, window_s: 15 * MINUTE_S },
  /** Requests without credentials, counted per client address (IPv6: its /64). */
  anonymous: { max: 100, window_s: MINUTE_S },
  /** Requests with a bad key or a bad token, counted per client address. */
  failed_auth: { max: 60, window_s: 15 * MINUTE_S },
  /** Logins of all clients together, except clients in a network from which the account logged in: 200 times `auth`. */
  login_all: { max: 1000, window_s: 15 * MINUTE_S },
  /** Signups of all clients together: 200 times `auth`. */
  signup_all: { max: 1000, window_s: 15 * MINUTE_S },
} as const satisfies Record<string, RateLimit>

/** The limit of all clients of an IPv6 /48 together, as a multiple of the limit of one client (a /64). */
export const WIDE_NETWORK_FACTOR = 8

/** The maximum that a workspace may have and use. */
export interface Quotas {
  /** API keys that are active and not expired. */
  readonly api_keys: number
  readonly webhooks: number
  /** Webhooks to one host and port. */
  readonly webhooks_per_host: number
  readonly contacts: number
  /** Sending domains, verified or not. */
  readonly domains: number
  /** Messages of test keys in a day (UTC). Test messages are free. */
  readonly test_messages_per_day: number
  /** The content and metadata of these test messages, and rejected recipients of test bulks, in a day (UTC), as JSON in UTF-8. */
  readonly test_bytes_per_day: number
  /** Attempts of webhook deliveries about test messages in a day (UTC). Further deliveries are discarded. */
  readonly test_deliveries_per_day: number
  /** Webhook deliveries about test messages that begin in a second, after those of the first 20 s, which begin at once. */
  readonly test_deliveries_per_second: number
}

/** The default quotas; each can be configured. */
export const QUOTAS: Quotas = {
  api_keys: 100,
  webhooks: 100,
  webhooks_per_host: 20,
  contacts: 100_000,
  domains: 20,
  test_messages_per_day: 10_000,
  test_bytes_per_day: 64 * MB,
  test_deliveries_per_day: 20_000,
  test_deliveries_per_second: 50,
}

/** All other numbers of the contract. A name ends with its unit: `_s`, `_ms`, `_bytes`; `_length` counts UTF-16 code units. */
export const LIMITS = {
  /** The maximum sizes of request bodies. Source: contract section 1. */
  body_bytes: 256 * KB,
  send_body_bytes: 4 * MB,
  bulk_body_bytes: 4 * MB,
  callback_body_bytes: 256 * KB,
  /** The maximum for a provider that sends its callbacks in batches. */
  callback_body_bytes_max: 4 * MB,
  /** The maximum depth; the outermost value is level 1. */
  json_depth: 16,
  /** Members and items. Each item of the longest list in the outermost object is counted separately. */
  json_values: 10_000,
  /** Values in a whole body. A body of 4 MB cannot hold more named members, but it can hold 2.8 million empty lists. */
  json_values_of_all: 700_000,
  /** Items in one list: more than any endpoint accepts. */
  json_items: 50_000,

  page_default: 1,
  /** This limit keeps the offset of a page within 64 bits; the specification names no last page. */
  page_max: 999_999_999_999,
  page_size_default: 50,
  page_size_max: 100,
  cursor_length: 512,
  /** Events in one answer. */
  events_page: 100,
  /** Below the 30 s after which clients and proxies give up a request. */
  events_wait_s: 25,
  /** Requests that wait for events: of one API key or session, and of one workspace. */
  events_waiting_per_key: 5,
  events_waiting_per_workspace: 20,
  /** The filters that a person saves in a workspace: more do not fit into a menu. */
  saved_filters: 50,
  saved_filter_name_length: 60,
  /** The rows of one export. A file with a million messages has some hundred megabytes. */
  export_rows: 1_000_000,
  /** The exports in flight of one workspace, and of one process: each reads a page at a time. */
  exports_per_workspace: 2,
  exports: 16,
  /** A longer JSON content is read separately, because 100 e-mails of 2 MB would block the event loop for seconds. */
  list_content_length: 32 * KB,
  message_search_length: 255,
  bulk_name_length: 255,
  bulk_list_content_length: 2 * KB,
  /** The messages that one request of a search reads; the next request continues. */
  messages_examined: 50_000,

  jwt_lifetime_s: 30 * DAY_S,
  jwt_secret_bytes: 32,
  verify_token_lifetime_s: 24 * HOUR_S,
  reset_token_lifetime_s: 30 * MINUTE_S,
  token_bytes: 32,
  /** The maximum length of a token in a request. */
  token_length: 256,
  /** The time after the last login for which the login's network keeps its own rate limit for the account. */
  login_network_lifetime_s: 30 * DAY_S,
  /** The maximum number of networks of a workspace with their own rate limit. */
  login_networks: 50,

  /** Members of a workspace besides its owner. */
  members: 100,
  /** Open invitations of a workspace. */
  invitations: 100,
  /** Invitations that a workspace may send in a day: each is a mail to a person who may not expect it. */
  invitations_per_day: 100,
  invitation_lifetime_s: 7 * DAY_S,
  /** Sessions in the list of a login. */
  sessions: 100,
  /** The minimum time between two writes of a session's `last_seen_at`. */
  session_touch_s: 5 * MINUTE_S,
  session_agent_length: 200,
  user_name_length: 100,
  /** The name of an operator, which may be an e-mail address. */
  operator_name_length: 254,
  operator_session_s: 12 * HOUR_S,
  /** Simultaneous sessions of an operator; a further one ends the oldest. */
  operator_sessions: 10,
  /** Issuer, subject and other claims of an OIDC provider. */
  oidc_claim_length: 1_000,

  email_length: 254,
  email_local_length: 64,
  password_length_min: 8,
  password_length_max: 256,
  /** Characters of a code of a second factor, with the blanks between its groups. */
  otp_length: 32,
  /** Passkeys of a person. */
  passkeys: 20,
  passkey_name_length: 100,
  /** Seconds in which a browser answers the challenge for a passkey. */
  passkey_challenge_s: 300,
  /** Challenges without an answer in the whole service; the oldest end first. */
  passkey_challenges: 5_000,
  workspace_name_length: 200,
  sender_name_length: 100,
  country_length: 64,

  api_key_name_length: 100,
  /** The minimum time between two writes of a key's `last_used_at`. */
  api_key_touch_s: MINUTE_S,
  allowed_ips: 100,

  sms_text_length: 1600,
  email_subject_length: 998,
  /** The maximum size of `html` and `text` of one e-mail together, as UTF-8. */
  email_body_bytes: 2 * MB,
  email_header_length: 998,
  email_headers: 20,
  /** Recipients of one e-mail together, in to, cc and bcc. */
  email_recipients: 50,
  email_reply_to: 10,
  email_tags: 20,
  email_tag_length: 256,
  email_content_id_length: 128,
  email_attachments: 10,
  /** The default maximum of all attachments of one e-mail together, decoded; the operator can set at most `…_max`. */
  email_attachments_bytes: 10 * MB,
  email_attachments_bytes_max: 40 * MB,
  email_filename_length: 255,
  /** Type, subtype and parameters together. */
  email_content_type_length: 255,
  email_content_type_parameters: 10,
  whatsapp_text_length: 4096,
  whatsapp_caption_length: 1024,
  whatsapp_filename_length: 240,
  whatsapp_template_name_length: 512,
  whatsapp_template_variables: 100,
  whatsapp_template_variable_length: 1024,
  voice_text_length: 4096,
  language_length: 35,
  voice_name_length: 100,
  url_length: 2048,
  metadata_keys: 50,
  metadata_bytes: 8 * KB,
  schedule_ahead_s: 35 * DAY_S,
  /** The quiet hours that a workspace may list: two for each day and category. */
  postal_address_length: 500,
  sms_opt_out_text_length: 160,
  quiet_hours: 28,
  /** The minutes of a week in which messages must be allowed, so that none waits for longer than a week. */
  quiet_hours_free_minutes: 240,
  time_zone_length: 64,
  expires_in_s: 35 * DAY_S,
  /** The default maximum; the operator can set at most `bulk_recipients_max`. */
  bulk_recipients: 1000,
  bulk_recipients_max: 10_000,
  /** The maximum length of a text with placeholders, as a multiple of the maximum length of the filled-in text. */
  bulk_template_factor: 4,
  /** The maximum number of placeholders in the content of one bulk. */
  bulk_placeholders: 1000,
  /** The maximum of placeholders times recipients: filling in this number takes about 50 ms. */
  bulk_fillings: 200_000,
  bulk_variables: 100,
  bulk_variable_name_length: 100,
  bulk_variable_length: 10_000,
  /** How much of a rejected recipient is stored: no address is longer. */
  bulk_rejected_to_length: 254,
  /** How much of the reason is stored: it can name many variables. */
  bulk_rejected_message_length: 500,
  /** The maximum length of all filled-in contents and metadata of a bulk, which are in memory at the same time. */
  bulk_stored_length: 64 * MB,
  /** The same for a test key, which is free: enough for 1,000 WhatsApp texts and metadata of the maximum sizes. */
  test_bulk_stored_length: 16 * MB,
  /** E-mails of one bulk that have a content each: with all their recipients, 5,000 addresses. */
  bulk_emails: 100,
  /** The maximum number of characters that an estimate lists for one message. */
  estimate_characters: 100,
  /** The maximum number of characters that an estimate lists for all messages: each character is a record. */
  estimate_characters_of_all: 5_000,

  /** Templates of a workspace, without deleted ones. */
  templates: 1_000,
  template_name_length: 100,
  template_description_length: 500,
  /** Variants of one template: 4 channels in 25 locales. */
  template_variants: 100,
  /** All variants of one template as JSON: what a request of a template may have. */
  template_body_bytes: MB,
  /** Templates in one push, which is one transaction. */
  template_push: 200,
  template_push_bytes: 4 * MB,
  /** All versions of a workspace, as JSON in UTF-8. */
  template_versions_bytes: 256 * MB,
  /** The longest HTML of a template of which a plain text is made, or that svc changes: at most 40 ms. */
  template_html_length: 150_000,
  /** What publishing makes of the e-mails of one template, which each message from it reads: 10 ms. */
  template_mails_bytes: 2 * MB,
  /** The same for all templates of one push, which are in memory at the same time. */
  template_push_mails_bytes: 32 * MB,
  /** Mail programs show at most 140 characters beside the subject. */
  template_preview_text_length: 250,
  /** Blocks of a template in one another, and lists of a value in one another. */
  template_depth: 5,
  /** Items of one list of a template's variable. */
  template_list_items: 1_000,
  /** Placeholders, blocks and repetitions of one message from a template: 5 to 10 ms. */
  template_steps: 20_000,

  broadcast_name_length: 200,
  /** Broadcasts of a workspace that are not finished. */
  broadcasts_open: 100,
  /** Messages in a minute. */
  broadcast_rate_max: 1_000_000,
  /** Contacts whose messages are made at once: they take some 10 ms, and requests of others wait meanwhile. */
  broadcast_step: 500,
  /** The contacts whose messages a preview makes: more than that takes seconds. */
  broadcast_priced: 5_000,
  broadcast_samples: 5,
  /** The zones that are named at one time of departure. */
  broadcast_zones: 5,
  broadcast_pause_message_length: 500,

  /** How long a code is valid at most, also if it is sent again. */
  verification_lifetime_s: HOUR_S,
  /** Wrong codes that end a verification. */
  verification_attempts: 5,
  /** The time after the first message with a code in which no further one is sent; it doubles with each message. */
  verification_cooldown_s: 30,
  verification_cooldown_max_s: 10 * MINUTE_S,
  /** Messages with codes to one address of a workspace. */
  verification_sends_per_hour: 5,
  verification_sends_per_day: 10,
  /** The default time after a message with a code until the next channel is tried, and its bounds. */
  verification_fallback_s: 30,
  verification_fallback_min_s: 10,
  verification_fallback_max_s: 10 * MINUTE_S,
  /** The channels of a verification after the first one. */
  verification_fallbacks: 3,
  /** The newest verifications that the funnel of a period counts. */
  verifications_counted: 10_000,
  /** How long the counts of codes are kept, and by default a verification after its end. */
  verification_kept_s: 30 * DAY_S,
  /** How long the stored messages of a verification say from what its code is derived. */
  verification_code_kept_s: DAY_S,
  /** The countries that a workspace may list for its codes. */
  verification_countries: 250,
  /** Verifications that one network of a client, as the request names it, starts in an hour. */
  verifications_per_network: 20,

  contact_name_length: 200,
  contact_external_id_length: 255,
  contact_tags: 50,
  contact_tag_length: 50,
  /** This limit is less than `json_depth`, so that stored attributes fit into an import. */
  contact_attributes_depth: 12,
  contact_search_length: 255,
  /** The words of a search for a person: each is one more query. */
  person_search_words: 4,
  contact_import_rows: 10_000,
  /** An address book whose contacts have many numbers and addresses has more than 100. */
  contact_import_columns: 250,
  contact_import_choices_length: 10_000,
  contact_import_body_bytes: 4 * MB,
  /** A file that is imported in several requests. */
  contact_preview_rows: 50_000,
  contact_preview_bytes: 20 * MB,

  /** How long a checkout can be paid. Payment providers allow half an hour to a day. */
  checkout_lifetime_s: HOUR_S,
  package_id_length: 64,
  package_name_length: 100,
  package_description_length: 500,
  credit_packages: 100,
  /** The maximum price in minor units, which is the maximum of payment providers for one payment. */
  price_amount: 99_999_999,

  idempotency_key_length: 255,
  idempotency_lifetime_s: 24 * HOUR_S,

  webhook_description_length: 500,
  webhook_headers: 20,
  /** The origins of the status callbacks of a workspace: each is a webhook with a share of its own. */
  status_callback_origins: 100,
  webhook_header_name_length: 100,
  webhook_header_value_length: 1024,
  /** The time limit for connection, headers and body of one attempt. */
  webhook_deadline_ms: 15_000,
  /** How much of a receiver's answer is stored. */
  webhook_capture_bytes: 16 * KB,
  webhook_secret_bytes: 32,
  /** How long both secrets are valid after a rotation. */
  webhook_rotation_overlap_s: DAY_S,
  /** A webhook is disabled if it had no success for this time and `webhook_failing_deliveries` deliveries failed. */
  webhook_failing_s: 5 * DAY_S,
  /** The minimum number of failed deliveries before a webhook is disabled. */
  webhook_failing_deliveries: 10,
  /** The maximum age of deliveries that can be queued again. */
  webhook_recover_s: 30 * DAY_S,
  /** The maximum number of deliveries that one request can queue again. */
  webhook_recover_deliveries: 10_000,
  /** A signature is stale if its time differs from the receiver's clock by more than this. */
  signature_tolerance_s: 5 * MINUTE_S,

  domain_length: 253,
  /** The minimum time between two checks of one sending domain. */
  domain_check_s: 10,
  /** How often the service checks the records of a verified domain. */
  domain_recheck_s: 6 * HOUR_S,
  /** The same while a record is missing, or while a new key waits for its record. */
  domain_recheck_soon_s: HOUR_S,
  /** How long addresses of a verified domain are accepted after its record disappeared. */
  domain_grace_s: 3 * DAY_S,
} as const

/** Seconds before each attempt of a webhook delivery; a random share is added. Source: contract section 7. */
export const WEBHOOK_RETRY_DELAYS_S: readonly number[] = [
  0,
  5,
  30,
  2 * MINUTE_S,
  10 * MINUTE_S,
  30 * MINUTE_S,
  2 * HOUR_S,
  5 * HOUR_S,
  10 * HOUR_S,
  14 * HOUR_S,
  20 * HOUR_S,
  24 * HOUR_S,
]

/** The maximum random share that is added to a retry delay. */
export const WEBHOOK_RETRY_JITTER = 0.1
