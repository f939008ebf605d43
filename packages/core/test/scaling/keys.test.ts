import { getTableConfig, type PgColumn, type PgTable } from 'drizzle-orm/pg-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { dialects } from '../../src/rows/dialect.ts'
import { tables } from '../../src/rows/tables.ts'
import { PARTITIONED } from '../../src/storage/postgres/engine/partitions/state.ts'
import { openPostgres } from '../../src/storage/postgres/postgres.ts'
import { testRuntime } from '../fixtures.ts'
import { createDatabase, type TestDatabase } from '../postgres-database.ts'
import { LIMITS } from './plan.ts'

/**
 * Keys that do not begin with `workspace_id`, and why. Each needs a place once the workspaces are spread over several
 * databases; the page names each.
 */
const GLOBAL: Record<string, string> = {
  'workspaces (id)': 'the id is the workspace',
  'workspaces (email_key)': 'an address signs in without naming its workspace',
  'users (id)': 'a user may be a member of several workspaces',
  'users (email_key)': 'an address signs in without naming its workspace',
  'invitations (token_hash)': 'a link in an e-mail names no workspace',
  'sessions (user_id, id)': 'a login may belong to several workspaces',
  'sessions (user_id, session_hash)': 'a login may belong to several workspaces',
  'second_factors (user_id)': 'a login may belong to several workspaces',
  'passkeys (credential_id)': 'a device names its credential alone',
  'passkey_challenges (challenge_hash)': 'a sign-in names no workspace',
  'oidc_identities (issuer, subject)': 'a provider names its subject alone',
  'api_keys (key_hash)': 'a key is shown without naming its workspace',
  'account_tokens (token_hash)': 'a link in an e-mail names no workspace',
  'purchases (payment_id)': 'a payment provider names its own payment alone',
  'purchases (session_id)': 'a payment provider names its own session alone',
  'message_queue (message_id)': 'claims are made for all workspaces at once',
  'delivery_queue (delivery_id)': 'claims are made for all workspaces at once',
  'dispatch_pauses (scope)': 'one for the whole service',
  'provider_pauses (provider, sender)': 'providers serve all workspaces',
  'parked_receipts (id)': 'the workspace of the message is not known yet',
  'received_parts (provider, sender, recipient, reference, total, number)':
    'the workspace of the text is not known yet',
  'domain_claims (domain)': 'one workspace holds a domain name among all',
  'receiver_hosts (host)': 'a host has one gate for all workspaces',
  'event_log (position)': 'one order for the events of all workspaces',
  'event_log_state (name)': 'the service’s own',
  'operators (id)': 'an operator serves all workspaces',
  'operators (name_key)': 'an operator serves all workspaces',
  'operator_sessions (token_hash)': 'an operator serves all workspaces',
  'secrets (name)': 'the service’s own',
  'rate_counters (key)': 'some count by address, before a workspace is known',
  'svc_migrations (hash)': 'the service’s own',
}

const defined = Object.values(tables(dialects.postgres)) as PgTable[]

describe('the keys of the table definition', () => {
  const keys = defined.flatMap(keysOf)

  it('begin with the workspace, but for those that are named', () => {
    expect(keys.length).toBeGreaterThanOrEqual(defined.length)
    expect(keys.filter(isGlobal).filter((key) => !(key in GLOBAL))).toEqual([])
  })

  it('are there for every table', () => {
    const keyed = new Set(keys.map((key) => key.split(' ')[0]))
    expect(
      defined.map((table) => getTableConfig(table).name).filter((name) => !keyed.has(name)),
    ).toEqual([])
  })

  it.each(Object.entries(PARTITIONED))('let %s be partitioned by %s', (name, column) => {
    const own = keys.filter((key) => key.startsWith(`${name} (`))
    expect(own.length).toBeGreaterThan(0)
    for (const key of own) expect(columnsOf(key)).toContain(column)
  })
})

describe('the keys of a migrated database', () => {
  let database: TestDatabase
  beforeAll(async () => {
    database = await createDatabase()
    const storage = await openPostgres(database.url, testRuntime('keys'))
    await storage.close()
  })
  afterAll(() => database?.drop())

  it('begin with the workspace, but for exactly those that are named', async () => {
    const { rows } = await (await database.connect()).query<{ key: string }>(
      `select t.relname || ' (' || string_agg(a.attname, ', ' order by k.place) || ')' as key
       from pg_index i join pg_class t on t.oid = i.indrelid
       cross join unnest(i.indkey) with ordinality k(attnum, place)
       join pg_attribute a on a.attrelid = t.oid and a.attnum = k.attnum
       where i.indisunique and t.relnamespace = 'public'::regnamespace group by i.indexrelid, t.relname`,
    )
    const keys = rows.map(({ key }) => key)
    expect(keys.filter(isGlobal).sort()).toEqual(Object.keys(GLOBAL).sort())
    expect(keys).toEqual(expect.arrayContaining(defined.flatMap(keysOf)))
  })
})

it('the page names every key that is not a workspace’s', () => {
  for (const key of Object.keys(GLOBAL)) expect(LIMITS).toContain(`\`${key}\``)
})

/** `table (column, …)` of the primary key and of each unique index. */
function keysOf(table: PgTable): string[] {
  const { name, columns, primaryKeys, indexes, uniqueConstraints } = getTableConfig(table)
  const keys = [
    ...columns.filter(({ primary, isUnique }) => primary || isUnique).map((column) => [column]),
    ...primaryKeys.map((key) => key.columns),
    ...uniqueConstraints.map((key) => key.columns),
    ...indexes
      .filter(({ config }) => config.unique)
      .map(({ config }) => config.columns.map((column) => column as PgColumn)),
  ]
  return keys.map((key) => `${name} (${key.map((column) => column.name).join(', ')})`)
}

function columnsOf(key: string): string[] {
  return key.slice(key.indexOf('(') + 1, -1).split(', ')
}

function isGlobal(key: string): boolean {
  return columnsOf(key)[0] !== 'workspace_id'
}
