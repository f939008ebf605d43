const KB = 1024
const MB = 1024 * KB
const MINUTE_S = 60
const HOUR_S = 60 * MINUTE_S
const DAY_S = 24 * HOUR_S

/** How many requests (or failures) are allowed within a window of whole seconds. */
export interface RateLimit {
  readonly max: number
  readonly window_s: number
}

/** The default rate limits; each can be configured. Source: contract section 1. */
export const RATES = {
  /** Per API key, or per workspace of a JWT. */
  general: { max: 100, window_s: MINUTE_S },
  /** Per workspace, over all its API keys and sessions. */
  workspace: { max: 500, window_s: MINUTE_S },
  /** Per workspace. */
  bulk: { max: 10, window_s: 5 * MINUTE_S },
  /** Per workspace: estimates of bulks. `svc bulk` asks for one per batch before it sends. */
  bulk_estimate: { max: 60, window_s: 5 * MINUTE_S },
  /** Per route and client address; login and forgot-password also per e-mail address. */
  auth: { max: 5, window_s: 15 * MINUTE_S },
  /** Per client address (IPv6: its /64), for requests without credentials. */
  anonymous: { max: 100, window_s: MINUTE_S },
  /** Per client address: bad keys and bad tokens. */
  failed_auth: { max: 60, window_s: 15 * MINUTE_S },
  /** Of all clients together, but for those in a network that the account logged in from: 200 times `auth`. */
  login_all: { max: 1000, window_s: 15 * MINUTE_S },
  /** Of all clients together: 200 times `auth`. */
  signup_all: { max: 1000, window_s: 15 * MINUTE_S },
} as const satisfies Record<string, RateLimit>

/** How many times the limit of one client (a /64) the clients of an IPv6 /48 have together. */
export const WIDE_NETWORK_FACTOR = 8

/** How much a workspace may have and use at the most. */
export interface Quotas {
  /** Keys that are neither deactivated nor expired. */
  readonly api_keys: number
  readonly webhooks: number
  /** Webhooks that go to one host and port. */
  readonly webhooks_per_host: number
  readonly contacts: number
  /** What its test keys, which cost nothing, send on a day (UTC) … */
  readonly test_messages_per_day: number
  /** … and have stored: content and metadata, as JSON in UTF-8. */
  readonly test_bytes_per_day: number
}

/** The default quotas; each can be configured. */
export const QUOTAS: Quotas = {
  api_keys: 100,
  webhooks: 100,
  webhooks_per_host: 20,
  contacts: 100_000,
  test_messages_per_day: 10_000,
  test_bytes_per_day: 64 * MB,
}

/**
 * Every other number of the contract. Units stand last in the name: `_s` seconds, `_ms`
 * milliseconds, `_bytes` bytes; texts are counted in UTF-16 code units.
 */
export const LIMITS = {
  /** Request bodies: contract section 1. */
  body_bytes: 256 * KB,
  send_body_bytes: 4 * MB,
  bulk_body_bytes: 4 * MB,
  callback_body_bytes: 256 * KB,
  /** For a provider that sends its callbacks in batches. */
  callback_body_bytes_max: 4 * MB,
  /** The outermost value counts as 1. */
  json_depth: 16,
  /** Members and items, not counting the items of the longest list of the outermost object; and in each of these. */
  json_values: 10_000,
  /** All together: the 4 MB of the longest body hold no more members with names, and 2.8 million empty lists. */
  json_values_of_all: 700_000,
  /** In one list: more than any endpoint takes. */
  json_items: 50_000,

  page_default: 1,
  /** Keeps the offset of a page far inside 64 bits; the specification names no last page. */
  page_max: 999_999_999_999,
  page_size_default: 50,
  page_size_max: 100,
  cursor_length: 512,
  /** A longer content, as JSON text, is read by itself: a page of 100 e-mails of 2 MB would take the event loop for seconds. */
  list_content_length: 32 * KB,

  jwt_lifetime_s: 30 * DAY_S,
  jwt_secret_bytes: 32,
  verify_token_lifetime_s: 24 * HOUR_S,
  reset_token_lifetime_s: 30 * MINUTE_S,
  token_bytes: 32,
  /** What is looked at of a token that somebody brings. */
  token_length: 256,
  /** How long the network of a login has a bucket of its own for the account, from the last login on … */
  login_network_lifetime_s: 30 * DAY_S,
  /** … and how many networks of a workspace have one. */
  login_networks: 50,

  email_length: 254,
  email_local_length: 64,
  password_length_min: 8,
  password_length_max: 256,
  workspace_name_length: 200,
  sender_name_length: 100,
  country_length: 64,

  api_key_name_length: 100,
  /** Between two writes of a key's `last_used_at`. */
  api_key_touch_s: MINUTE_S,
  allowed_ips: 100,

  sms_text_length: 1600,
  email_subject_length: 998,
  /** `html` and `text` of one e-mail together, as UTF-8. */
  email_body_bytes: 2 * MB,
  email_header_length: 998,
  email_attachments: 10,
  /** All attachments of one e-mail together, decoded. */
  email_attachments_bytes: 2 * MB,
  email_filename_length: 255,
  email_content_type_length: 127,
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
  expires_in_s: 35 * DAY_S,
  /** Unless the operator says otherwise, who may go up to `bulk_recipients_max`. */
  bulk_recipients: 1000,
  bulk_recipients_max: 10_000,
  /** How many times as long as what comes out the text of a bulk may be, placeholders not yet filled in. */
  bulk_template_factor: 4,
  /** In the content of a bulk. */
  bulk_placeholders: 1000,
  /** Placeholders times recipients: filling them all in takes about 50 ms. */
  bulk_fillings: 200_000,
  bulk_variables: 100,
  bulk_variable_name_length: 100,
  bulk_variable_length: 10_000,
  /** What a bulk stores, all contents, filled in, and all metadata together: all of it is in memory at the same time. */
  bulk_stored_length: 64 * MB,
  /** Of a test key, which costs nothing: enough for the longest WhatsApp texts with the most metadata for 1,000 recipients. */
  test_bulk_stored_length: 16 * MB,
  /** Of one message, in the answer to an estimate. */
  estimate_characters: 100,
  /** Of all messages in the answer to an estimate: each one is a record. */
  estimate_characters_of_all: 5_000,

  contact_name_length: 200,
  contact_external_id_length: 255,
  contact_tags: 50,
  contact_tag_length: 50,
  /** Less than `json_depth`, so that what was stored fits into an import. */
  contact_attributes_depth: 12,
  contact_search_length: 255,
  contact_import_rows: 10_000,
  contact_import_columns: 100,
  contact_import_body_bytes: 4 * MB,

  /** How long a checkout can be paid. Payment providers take half an hour to a day. */
  checkout_lifetime_s: HOUR_S,
  package_id_length: 64,
  package_name_length: 100,
  package_description_length: 500,
  credit_packages: 100,
  /** In minor units: the most that payment providers take at once. */
  price_amount: 99_999_999,

  idempotency_key_length: 255,
  idempotency_lifetime_s: 24 * HOUR_S,

  webhook_description_length: 500,
  webhook_headers: 20,
  webhook_header_name_length: 100,
  webhook_header_value_length: 1024,
  /** Over connect, headers and body of one attempt. */
  webhook_deadline_ms: 15_000,
  /** What is kept of a receiver's answer. */
  webhook_capture_bytes: 16 * KB,
  webhook_secret_bytes: 32,
  /** Both secrets are valid for this long after a rotation. */
  webhook_rotation_overlap_s: DAY_S,
  /** A webhook is disabled after this long without a success … */
  webhook_failing_s: 5 * DAY_S,
  /** … and this many failed deliveries, both. */
  webhook_failing_deliveries: 10,
  /** How far back deliveries can be queued again … */
  webhook_recover_s: 30 * DAY_S,
  /** … and how many with one request. */
  webhook_recover_deliveries: 10_000,
  /** A receiver's clock and ours may differ by this much before a signature counts as stale. */
  signature_tolerance_s: 5 * MINUTE_S,
} as const

/**
 * Seconds from one try of a webhook delivery to the next, the first being at once; up to
 * `WEBHOOK_RETRY_JITTER` of each is added. Source: contract section 7.
 */
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

/** The largest share of a retry delay that chance adds to it. */
export const WEBHOOK_RETRY_JITTER = 0.1
