import { contactTables } from './contacts.ts'
import { creditTables } from './credits.ts'
import type { Dialect } from './dialect.ts'
import { domainTables } from './domains.ts'
import { memberTables } from './members.ts'
import { messageTables } from './messages.ts'
import { operatingTables } from './operating.ts'
import { operatorTables } from './operators.ts'
import { providerTables } from './providers.ts'
import { webhookTables } from './webhooks.ts'
import { accountTables } from './workspaces.ts'

/**
 * All tables, for both engines. Keys begin with `workspace_id`, so that it can become the distribution key of a sharded
 * PostgreSQL; docs/operating/scaling.md names the exceptions. The queues are separate tables, so that the cost of a
 * claim does not grow with the history.
 */
export function tables(d: Dialect) {
  return {
    ...accountTables(d),
    ...memberTables(d),
    ...contactTables(d),
    ...creditTables(d),
    ...messageTables(d),
    ...providerTables(d),
    ...webhookTables(d),
    ...domainTables(d),
    ...operatingTables(d),
    ...operatorTables(d),
  }
}

export type Tables = ReturnType<typeof tables>
