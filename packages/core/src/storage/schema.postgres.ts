import { dialects } from './dialect.ts'
import { tables } from './tables.ts'

/** What the migration generator reads for PostgreSQL. */
export const {
  workspaces,
  api_keys,
  secrets,
  account_tokens,
  api_key_spending,
  contacts,
  contact_tags,
  suppressions,
  purchases,
  message_counts,
  bulks,
  credit_accounts,
  credit_holds,
  credit_lots,
  ledger_entries,
  idempotency_keys,
  messages,
  message_queue,
  message_attempts,
  message_events,
  webhooks,
  events,
  deliveries,
  delivery_queue,
  delivery_attempts,
} = tables(dialects.postgres)
