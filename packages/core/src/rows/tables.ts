import { contactTables } from './contacts.ts'
import { creditTables } from './credits.ts'
import type { Dialect } from './dialect.ts'
import { messageTables } from './messages.ts'
import { operatingTables } from './operating.ts'
import { providerTables } from './providers.ts'
import { webhookTables } from './webhooks.ts'
import { accountTables } from './workspaces.ts'

/**
 * Every table, once, for both engines. Each key begins with `workspace_id`: no query runs without one, and the
 * workspace can become the distribution key of a sharded PostgreSQL. The two queues are apart from the rows they
 * drive, so that claiming stays cheap however long the history grows.
 */
export function tables(d: Dialect) {
  return {
    ...accountTables(d),
    ...contactTables(d),
    ...creditTables(d),
    ...messageTables(d),
    ...providerTables(d),
    ...webhookTables(d),
    ...operatingTables(d),
  }
}

export type Tables = ReturnType<typeof tables>
