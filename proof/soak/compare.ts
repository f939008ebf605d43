import type { Account } from '../stage/accounts.ts'
import type { Query } from '../stage/database.ts'
import { FAULTS, type Fault, noteFaults } from '../stage/rules.ts'
import type { Violations } from '../stage/violations.ts'
import { digestOf, type OpLog } from './op-log.ts'

const PAGE = 5_000

const MESSAGES = `select id, workspace_id, cast(metadata ->> 'op' as integer) as op, cast(livemode as integer) as livemode,
  recipient, status, error_code, credits_used, credits_refunded from messages`
const EVENTS = 'select id, workspace_id, event, message_id, body from events'
const DELIVERIES = 'select id, workspace_id, event_id, status from deliveries'

/** Each rule and its query for violations. `m` is the stored data, `a` the answers to clients. */
const RULES: [rule: string, sql: string][] = [
  [
    'every 201 is in the database',
    `select a.message_id as what from accepted a left join messages m on m.id = a.message_id and m.op = a.op
     where m.id is null`,
  ],
  [
    'every message was requested, and is stored once',
    `select m.id as what from messages m where not exists (select 1 from accepted a where a.message_id = m.id)
     and (not exists (select 1 from unsure u where u.op = m.op)
     or exists (select 1 from messages b where b.op = m.op and b.id < m.id))`,
  ],
  [
    "each message ends in its recipient's status, in its workspace",
    `select m.id || ' is ' || m.status || ' ' || coalesce(m.error_code, '') || ', not ' || e.status as what
     from expected e join messages m on m.id = e.id where m.workspace_id <> e.workspace_id
     or m.recipient <> e.recipient or m.livemode <> e.livemode or m.status <> e.status
     or m.error_code is not e.error_code`,
  ],
  [
    'each message costs its price, refunded if no provider accepted it',
    `select m.id || ' cost ' || m.credits_used || ', back ' || m.credits_refunded as what from expected e
     join messages m on m.id = e.id where m.credits_used <> e.price or m.credits_refunded <> e.refund`,
  ],
  [
    'each change of a message raises one event',
    `select id || ' raised ' || coalesce(raised, 'nothing') as what from (select e.id, e.events as due,
     (select group_concat(event, ',') from (select event from events v where v.message_id = e.id order by event)) as raised
     from expected e) where raised is not due`,
  ],
  [
    'each reply of a recipient raises one event',
    `select found || ' events for ' || due || ' replies' as what from
     (select (select count(*) from events where event = 'message.received') as found,
     (select count(*) from expected where replies = 1) as due) where found <> due`,
  ],
  [
    'the receiver got each event, in the stored bytes',
    `select v.id as what from events v left join received r on r.event_id = v.id
     where r.event_id is null or r.digest <> v.digest or r.changed > 0`,
  ],
  [
    'the receiver got no event that the database does not have',
    `select r.event_id as what from received r left join events v on v.id = r.event_id where v.id is null`,
  ],
  [
    'each event is delivered once, to its webhook',
    `select v.id as what from events v where 1 <> (select count(*) from deliveries d where d.event_id = v.id)
     or not exists (select 1 from deliveries d where d.event_id = v.id and d.status = 'delivered')`,
  ],
]

const EXAMPLES_MAX = 3

/** Copies the stored data beside the answers to clients, and compares them. */
export async function compare(
  log: OpLog,
  query: Query,
  accounts: readonly Account[],
  violations: Violations,
): Promise<{ messages: number; events: number; repeated: number }> {
  log.flush()
  const { database } = log
  database.exec(`create table messages (id text primary key, workspace_id text, op integer, livemode integer,
    recipient text, status text, error_code text, credits_used integer, credits_refunded integer) without rowid;
    create table events (id text primary key, event text, message_id text, digest blob) without rowid;
    create table deliveries (id text primary key, event_id text, status text) without rowid;`)

  async function copy<Row extends { id: string }>(
    table: string,
    sql: string,
    scopeOf: (account: Account) => string,
    valuesOf: (row: Row) => unknown[],
  ): Promise<void> {
    for (const account of accounts) {
      let after = ''
      for (;;) {
        const rows = await query<Row>(
          `${sql} where ${scopeOf(account)} and id > '${after}' order by id limit ${PAGE}`,
        )
        const [row] = rows
        if (!row) break
        const insert = database.prepare(
          `insert into ${table} values (${valuesOf(row).map(() => '?')})`,
        )
        database.exec('begin')
        for (const each of rows) insert.run(...valuesOf(each))
        database.exec('commit')
        after = rows.at(-1)?.id ?? ''
      }
    }
  }

  const ofWorkspace = ({ workspace_id }: Account) => `workspace_id = '${workspace_id}'`
  await copy<Record<string, unknown> & { id: string }>('messages', MESSAGES, ofWorkspace, (row) => [
    row.id,
    row.workspace_id,
    row.op,
    row.livemode,
    row.recipient,
    row.status,
    row.error_code,
    row.credits_used,
    row.credits_refunded,
  ])
  await copy<{ id: string; event: string; message_id: string; body: string }>(
    'events',
    EVENTS,
    ofWorkspace,
    ({ id, event, message_id, body }) => [id, event, message_id, digestOf(body)],
  )
  await copy<{ id: string; event_id: string; status: string }>(
    'deliveries',
    DELIVERIES,
    (account) => `${ofWorkspace(account)} and webhook_id = '${account.webhook.id}'`,
    ({ id, event_id, status }) => [id, event_id, status],
  )
  const columns =
    'workspace_id, livemode, recipient, status, error_code, price, refund, events, replies'
  database.exec(`create index messages_op on messages (op, id); create index events_message on events (message_id);
    create index deliveries_event on deliveries (event_id);
    create view expected as select message_id as id, ${columns} from accepted
    union all select m.id, ${columns
      .split(', ')
      .map((column) => `u.${column}`)
      .join()} from unsure u join messages m on m.op = u.op;`)
  checkRules(database, violations)
  noteFaults(await query<Fault>(FAULTS), violations)
  const count = (sql: string) => (database.prepare(sql).get() as { n: number }).n
  return {
    messages: count('select count(*) as n from messages'),
    events: count('select count(*) as n from events'),
    repeated: count('select count(*) as n from received where times > 1'),
  }
}

/** Finds the violations of a rule in the copies. */
export function checkRules(database: OpLog['database'], { rule }: Violations): void {
  for (const [text, sql] of RULES) {
    const broken = rule(text)
    const { n } = database.prepare(`select count(*) as n from (${sql})`).get() as { n: number }
    const examples = database.prepare(`${sql} limit ${EXAMPLES_MAX}`).all() as { what: string }[]
    for (let i = 0; i < n; i++) broken(String(examples[i]?.what))
  }
}
