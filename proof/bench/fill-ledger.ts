import { openWritable } from '../stage/database.ts'
import { SQLITE_COUNTS } from './fill.ts'

const AT = 1_780_000_000_000
const SMALL_WORKSPACES = 10

/**
 * Fills a SQLite file that has the tables with this number of consistent entries: half of them of one workspace; of
 * each 100 about 95 sends with their messages, two refunds, two purchases and a bulk of five.
 */
export function fillLedger(file: string, total: number): void {
  const database = openWritable(file)
  const small = Array<number>(SMALL_WORKSPACES).fill(total / 2 / SMALL_WORKSPACES)
  for (const [w, entries] of [total / 2, ...small].entries()) database.exec(entriesOf(w, entries))
  database.exec(ABOUT)
  for (const statement of SQLITE_COUNTS) database.exec(statement)
  database.close()
}

function id(i: string, w: number): string {
  return `printf('%08x-%04x-7000-8000-%012x', (${i}) / 65536, (${i}) % 65536, ${w})`
}

function entriesOf(w: number, entries: number): string {
  const workspace = id('0', w)
  return `insert into workspaces (id, name, email, email_key, email_verified, password_hash, token_version, created_at, updated_at)
    values (${workspace}, 'W', '${w}@example.com', '${w}@example.com', 1, 'x', 0, ${AT}, ${AT});
  insert into ledger_entries (id, workspace_id, seq, kind, amount, held_delta, balance_after, held_after, counter_account,
    ref_type, ref_id, ref_n, channel, quantity, unit_price, created_at)
  with recursive n(i) as (select 1 union all select i + 1 from n where i < ${entries}),
  k as (select i, i % 100 = 33 as is_bulk, case when i = 1 then 'grant' when i % 50 = 0 then 'refund'
    when i % 50 = 1 then 'purchase' else 'send' end as kind from n),
  v as (select *, case kind when 'grant' then 900000000000000 when 'refund' then 1000000
    when 'purchase' then 10000000 else case when is_bulk then -5000000 else -1000000 end end as amount from k)
  select ${id(`i + ${entries}`, w)}, ${workspace}, i, kind, amount, 0, sum(amount) over (order by i), 0,
    case kind when 'grant' then 'promo:signup' when 'purchase' then 'payments:stripe' else 'revenue:sms' end,
    case when kind in ('grant', 'purchase') then kind when is_bulk then 'bulk' else 'message' end,
    ${id(`case kind when 'refund' then i - 1 else i end`, w)}, 0, 'sms',
    case kind when 'send' then case when is_bulk then 5 else 1 end end,
    case kind when 'send' then 1000000 end, ${AT} + i from v;
  insert into credit_accounts (workspace_id, balance, held, credit_limit, seq, status, updated_at)
  select workspace_id, balance_after, 0, 0, seq, 'active', ${AT} from ledger_entries
    where workspace_id = ${workspace} and seq = ${entries};`
}

const MESSAGE = `insert into messages (id, workspace_id, bulk_id, channel, recipient, content, metadata, livemode, status,
  accepted, credits_used, credits_refunded, segments, encoding, provider, sequence, created_at, updated_at)`
const SENT = `'sms', '+14155552671', '{"text":"Your order A1 is ready, pick it up between nine and five"}', '{}', 1`

/** The subjects of the entries. */
const ABOUT = `insert into bulks (id, workspace_id, channel, livemode, total, accepted, rejected, duplicates, credits_used, created_at)
  select ref_id, workspace_id, 'sms', 1, 5, 5, 0, 0, 5000000, created_at from ledger_entries where ref_type = 'bulk';
insert into purchases (id, workspace_id, package_id, status, credits, amount, currency, provider, session_id, version, created_at, updated_at, paid_at)
  select ref_id, workspace_id, 'starter', 'paid', 10000000, 1000, 'USD', 'stripe', 'cs_' || ref_id, 1, created_at, created_at, created_at
  from ledger_entries where ref_type = 'purchase';
${MESSAGE} select ref_id, workspace_id, null, ${SENT}, case when seq % 50 = 49 then 'failed' else 'delivered' end,
  seq % 50 <> 49, 1000000, case when seq % 50 = 49 then 1000000 else 0 end, 1, 'GSM-7', 'carrier', 3, created_at, created_at
  from ledger_entries where kind = 'send' and ref_type = 'message';
${MESSAGE} with recursive n(i) as (select 1 union all select i + 1 from n where i < 5)
  select substr(ref_id, 1, 19) || printf('9%03x', i) || substr(ref_id, 24), workspace_id, ref_id, ${SENT}, 'delivered',
  1, 1000000, 0, 1, 'GSM-7', 'carrier', 3, created_at, created_at from ledger_entries, n where ref_type = 'bulk';`
