import { apiKeys } from './api-keys.ts'
import { health } from './health.ts'
import { messages } from './messages.ts'
import { webhooks } from './webhooks.ts'
import { workspaces } from './workspaces.ts'

/** The whole API as a table: server, client, command line and documents are read off it. */
export const api = { workspaces, api_keys: apiKeys, messages, webhooks, health } as const
