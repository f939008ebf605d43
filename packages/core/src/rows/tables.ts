import { broadcastTables } from './broadcasts.ts'
import { contactTables } from './contacts.ts'
import { creditTables } from './credits.ts'
import type { Dialect } from './dialect.ts'
import { domainTables } from './domains.ts'
import { memberTables } from './members.ts'
import { messageTables } from './messages.ts'
import { operatingTables } from './operating.ts'
import { operatorTables } from './operators.ts'
import { providerTables } from './providers.ts'
import { templateTables } from './templates.ts'
import { verificationTables } from './verifications.ts'
import { webhookTables } from './webhooks.ts'
import { accountTables } from './workspaces.ts'

const built = new Map<Dialect, Tables>()

/**
 * All tables of an engine, made with the first call, because that takes 13 ms. Keys begin with `workspace_id`, so that it can become the distribution key of a sharded
 * PostgreSQL; docs/operating/scaling.md names the exceptions. The queues are separate tables, so that the cost of a
 * claim does not grow with the history.
 */
export function tables(dialect: Dialect): Tables {
  const known = built.get(dialect)
  if (known) return known
  const fresh = tablesIn(dialect)
  built.set(dialect, fresh)
  return fresh
}

function tablesIn(d: Dialect) {
  return {
    ...accountTables(d),
    ...memberTables(d),
    ...contactTables(d),
    ...creditTables(d),
    ...messageTables(d),
    ...providerTables(d),
    ...webhookTables(d),
    ...domainTables(d),
    ...verificationTables(d),
    ...templateTables(d),
    ...broadcastTables(d),
    ...operatingTables(d),
    ...operatorTables(d),
  }
}

export type Tables = ReturnType<typeof tablesIn>
