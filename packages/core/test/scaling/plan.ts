import { readFileSync } from 'node:fs'

/** The page that the tests of this folder prove. */
export const PLAN = readFileSync(
  new URL('../../../../docs/operating/scaling.md', import.meta.url),
  'utf8',
)

/** The SQL of the page whose first line is `-- <title>`. */
export function sqlOfPlan(title: string): string {
  const blocks = PLAN.matchAll(/```sql\n-- (.*)\n([\s\S]*?)```/g)
  for (const [, name, sql] of blocks) if (name === title && sql) return sql
  throw new Error(`the page has no SQL that is called ${title}`)
}

/** The statements of some SQL without quoted semicolons, for those that must not share a transaction. */
export function statementsOf(sql: string): string[] {
  return sql
    .split(/;\s*$/m)
    .map((statement) => statement.trim())
    .filter(Boolean)
}

/** Every history whose rows end with time, and the column of its key that says when: both engines' keys hold it. */
export const PARTITIONED = {
  messages: 'id',
  message_attempts: 'message_id',
  message_events: 'message_id',
  events: 'id',
  deliveries: 'id',
  delivery_attempts: 'delivery_id',
} as const
