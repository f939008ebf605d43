import { sql } from 'drizzle-orm'
import type { WebhookFormatName } from '../contract/resources/webhooks.ts'
import type { Dialect } from './dialect.ts'
import type { Sealed, SealedHeaders } from './sealed.ts'

/** What an attempt got: a 2xx, another status, or no answer. */
export type AttemptOutcome = 'succeeded' | 'refused' | 'unanswered'

/** `told` follows when the mail server took the mail; a success ends an episode of failures, enabling the other one. */
export type WebhookNoticeState =
  | 'no'
  | 'failing_due'
  | 'failing_told'
  | 'disabled_due'
  | 'disabled_told'

export function webhookTables(d: Dialect) {
  const webhooks = d.table(
    'webhooks',
    {
      id: d.text().notNull(),
      workspace_id: d.text().notNull(),
      url: d.text().notNull(),
      description: d.text(),
      events: d.json<string[]>().notNull(),
      /** Whether the webhook gets events of live messages, of test messages, or both. */
      mode: d.text().$type<'all' | 'live' | 'test'>().notNull().default('all'),
      headers: d.json<SealedHeaders>().notNull(),
      secret: d.text().$type<Sealed>().notNull(),
      /** The secret before the last rotation, valid until `previous_secret_ends_at`. */
      previous_secret: d.text().$type<Sealed>(),
      previous_secret_ends_at: d.time(),
      /** The fingerprint of the secret that signed the last request with a 2xx during a rotation's overlap. */
      accepted_secret: d.text(),
      is_active: d.boolean().notNull(),
      status: d.text().$type<'active' | 'failing' | 'disabled'>().notNull(),
      disabled_reason: d.text(),
      /** The time at which the owner last enabled the webhook again. */
      enabled_at: d.time(),
      consecutive_failures: d.int().notNull(),
      last_success_at: d.time(),
      last_failure_at: d.time(),
      /** The number of all failed attempts. */
      failed_attempts: d.long().notNull().default(0),
      /** The first failure since the last success; null if none failed since. */
      failing_since: d.time(),
      /** The mail to the owner about failures: whether one is due, and which one the owner got last in this episode. */
      notice: d.text().$type<WebhookNoticeState>().notNull().default('no'),
      /** When it was disabled; null while it is enabled, and for webhooks that earlier versions disabled. */
      disabled_at: d.time(),
      /**
       * The receiver gets nothing before this time, because it failed several times in a row or asked to wait; null for no
       * wait. It is for people: each process decides by its own results.
       */
      waits_until: d.time(),
      created_at: d.time().notNull(),
      updated_at: d.time().notNull(),
      /** The form of the requests. */
      format: d.text().$type<WebhookFormatName>().notNull().default('svc'),
      /** The API key whose text is the secret; null if the webhook has a secret of its own. */
      api_key_id: d.text(),
      /**
       * The origin of the URLs of status callbacks, for the hidden webhook that gets the callbacks of messages which named
       * such a URL; null for a webhook that its owner created. Only the latter is listed and gets other events.
       */
      callback_origin: d.text(),
      /**
       * The host at whose gate the deliveries wait, because the webhook never got a 2xx; null after the first 2xx. Webhooks of
       * versions before this column have null.
       */
      gate_host: d.text(),
    },
    (t) => [
      d.primaryKey({ columns: [t.workspace_id, t.id] }),
      d
        .uniqueIndex('webhooks_callback_origin')
        .on(t.workspace_id, t.api_key_id, t.callback_origin)
        .where(sql`callback_origin is not null`),
      // The job that mails the owners uses this index.
      d
        .index('webhooks_notice')
        .on(t.workspace_id, t.id)
        .where(sql`notice in ('failing_due', 'disabled_due') and callback_origin is null`),
      d.index('webhooks_gate').on(t.gate_host, t.id).where(sql`gate_host is not null`),
    ],
  )
  /** The hosts and addresses with deliveries at their gate, over all workspaces. A row is removed a day after its last attempt. */
  const receiver_hosts = d.table(
    'receiver_hosts',
    {
      host: d.text().primaryKey(),
      /** The number of attempts at the gate that failed. */
      failures: d.int().notNull(),
      /** The end of the lease of the delivery in flight; null if none is. */
      held_until: d.time(),
      /** No attempt begins before this time, except the first of a webhook and one that a caller requests. */
      waits_until: d.time().notNull(),
    },
    (t) => [d.index('receiver_hosts_waits').on(t.waits_until)],
  )
  /** The attempts of deliveries about the test messages of each workspace, on its last day with some. */
  const test_deliveries = d.table('test_deliveries', {
    workspace_id: d.text().primaryKey(),
    /** The day, in days since 1970. */
    day: d.int().notNull(),
    attempts: d.int().notNull(),
  })
  const events = d.table(
    'events',
    {
      workspace_id: d.text().notNull(),
      /** The header `webhook-id` of every delivery of this event. */
      id: d.text().notNull(),
      event: d.text().notNull(),
      message_id: d.text(),
      /** The exact bytes that every attempt signs and sends. */
      body: d.text().notNull(),
      created_at: d.time().notNull(),
    },
    (t) => [d.primaryKey({ columns: [t.workspace_id, t.id] })],
  )
  /**
   * The order in which events were committed, for programs that read events in the process. Rows are added only while
   * `event_log_state.is_kept`. The positions have no gaps.
   */
  const event_log = d.table('event_log', {
    position: d.long().primaryKey(),
    workspace_id: d.text().notNull(),
    event_id: d.text().notNull(),
  })
  /** One row, or none if no program has ever read events. */
  const event_log_state = d.table('event_log_state', {
    /** The name is always `events`. */
    name: d.text().primaryKey(),
    /** Whether events are added to the log, and stored even if no webhook subscribes to them. */
    is_kept: d.boolean().notNull(),
    /** The newest position. A transaction that adds events locks this row until it ends, so positions rise by commit. */
    position: d.long().notNull(),
    /** Events were not kept at some time before this position was reached, and are kept since. */
    since: d.long().notNull(),
  })
  const deliveries = d.table(
    'deliveries',
    {
      id: d.text().notNull(),
      workspace_id: d.text().notNull(),
      webhook_id: d.text().notNull(),
      event_id: d.text().notNull(),
      event: d.text().notNull(),
      message_id: d.text(),
      status: d.text().$type<'pending' | 'delivered' | 'failed' | 'discarded'>().notNull(),
      trigger: d.text().$type<'event' | 'test' | 'manual'>().notNull(),
      /** The `livemode` of the delivery's event. */
      livemode: d.boolean().notNull().default(true),
      attempt_count: d.int().notNull(),
      max_attempts: d.int().notNull(),
      next_attempt_at: d.time(),
      response_status: d.int(),
      response_time_ms: d.int(),
      error: d.text(),
      /**
       * The start of the only attempt; null if `delivery_attempts` has the attempts. Most deliveries arrive at the first
       * attempt, so most need no second row.
       */
      started_at: d.time(),
      /** The response to the only attempt. */
      response_body: d.text(),
      created_at: d.time().notNull(),
      updated_at: d.time().notNull(),
      delivered_at: d.time(),
    },
    (t) => [
      d.primaryKey({ columns: [t.workspace_id, t.webhook_id, t.id] }),
      // Partial, so that PostgreSQL does not use it for updates by key while the table has no statistics yet: each result
      // then read all deliveries of its workspace, 316 µs in the first seconds of a new database.
      d
        .index('deliveries_message')
        .on(t.workspace_id, t.message_id)
        .where(sql`message_id is not null`),
    ],
  )
  /** The numbers of attempts by hour, outcome and time of the answer: a page that reads a million attempts would take seconds. */
  const webhook_hours = d.table(
    'webhook_hours',
    {
      workspace_id: d.text().notNull(),
      webhook_id: d.text().notNull(),
      /** The hour (UTC) in which the attempts ended, in hours since 1970. */
      hour: d.int().notNull(),
      outcome: d.text().$type<AttemptOutcome>().notNull(),
      /** The step of the time to the answer, as `stepOf` gives it; 0 without an answer. */
      step: d.int().notNull(),
      count: d.long().notNull(),
    },
    (t) => [
      d.primaryKey({ columns: [t.workspace_id, t.webhook_id, t.hour, t.outcome, t.step] }),
      // The removal of old rows uses this index.
      d.index('webhook_hours_hour').on(t.hour),
    ],
  )
  const delivery_queue = d.table(
    'delivery_queue',
    {
      delivery_id: d.text().primaryKey(),
      workspace_id: d.text().notNull(),
      webhook_id: d.text().notNull(),
      due_at: d.time().notNull(),
      /** The time at which `due_at` was set, as in `message_queue`. */
      set_at: d.time(),
      token: d.text(),
    },
    // A claim visits webhook after webhook, so that one backlog cannot block the others.
    (t) => [d.index('delivery_queue_due').on(t.webhook_id, t.due_at)],
  )
  const delivery_attempts = d.table(
    'delivery_attempts',
    {
      workspace_id: d.text().notNull(),
      delivery_id: d.text().notNull(),
      number: d.int().notNull(),
      started_at: d.time().notNull(),
      duration_ms: d.int().notNull(),
      response_status: d.int(),
      response_body: d.text(),
      error: d.text(),
    },
    (t) => [d.primaryKey({ columns: [t.workspace_id, t.delivery_id, t.number] })],
  )
  /**
   * The last failed attempts of each webhook: the slot is the number of the failure modulo the number of slots. An index of
   * `deliveries` would make every update of a delivery write all its indexes on PostgreSQL.
   */
  const webhook_failures = d.table(
    'webhook_failures',
    {
      workspace_id: d.text().notNull(),
      webhook_id: d.text().notNull(),
      slot: d.int().notNull(),
      delivery_id: d.text().notNull(),
      /** The number of the attempt of the delivery. */
      number: d.int().notNull(),
      /** When the attempt ended. */
      at: d.time().notNull(),
    },
    (t) => [d.primaryKey({ columns: [t.workspace_id, t.webhook_id, t.slot] })],
  )
  return {
    webhooks,
    receiver_hosts,
    test_deliveries,
    events,
    event_log,
    event_log_state,
    deliveries,
    delivery_queue,
    delivery_attempts,
    webhook_hours,
    webhook_failures,
  }
}
