import { readFileSync } from 'node:fs'

/** The page that names the keys and statements without a workspace. */
export const LIMITS = pageAt('internals/scaling.md')

/** The page with the SQL that an operator runs. */
const STEPS = pageAt('operating/scaling.md')

/** The SQL block of the page whose first line is `-- <title>`. */
export function sqlOfPlan(title: string): string {
  const blocks = STEPS.matchAll(/```sql\n-- (.*)\n([\s\S]*?)```/g)
  for (const [, name, sql] of blocks) if (name === title && sql) return sql
  throw new Error(`the page has no SQL block ${title}`)
}

/** Splits SQL without quoted semicolons, for statements that must not share a transaction. */
export function statementsOf(sql: string): string[] {
  return sql
    .split(/;\s*$/m)
    .map((statement) => statement.trim())
    .filter(Boolean)
}

/** Each history, and the column of its key that contains the time, on both engines. */
export const PARTITIONED = {
  messages: 'id',
  message_attempts: 'message_id',
  message_events: 'message_id',
  events: 'id',
  deliveries: 'id',
  delivery_attempts: 'delivery_id',
} as const

function pageAt(path: string): string {
  return readFileSync(new URL(`../../../../docs/${path}`, import.meta.url), 'utf8')
}
