import { apiKeys } from './api-keys.ts'
import { billing } from './billing.ts'
import { bulks } from './bulk.ts'
import { contacts } from './contacts.ts'
import { health } from './health.ts'
import { messages } from './messages.ts'
import { suppressions } from './suppressions.ts'
import { webhooks } from './webhooks.ts'
import { workspaces } from './workspaces.ts'

/** The whole API as a table: server, client, command line and documents are read off it. */
export const api = {
  workspaces,
  api_keys: apiKeys,
  messages,
  bulks,
  contacts,
  suppressions,
  webhooks,
  billing,
  health,
} as const
