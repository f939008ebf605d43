import type { Violations } from './violations.ts'

/** A rule that was broken, and where. */
export interface Fault {
  rule: string
  fault: string
}

/** The number and sum of the debits and refunds of each object. */
const CHARGES = `(select workspace_id, ref_type, ref_id,
  sum(case kind when 'send' then 1 else 0 end) as debits, sum(case kind when 'send' then amount else 0 end) as debit,
  sum(case kind when 'refund' then 1 else 0 end) as refunds, sum(case kind when 'refund' then amount else 0 end) as refund
  from ledger_entries where kind in ('send', 'refund') group by workspace_id, ref_type, ref_id)`

/** Each statement runs on both engines, and selects the violations of one rule in the whole database. */
const RULES: Readonly<Record<string, string>> = {
  'the ledger is exact': `
    select 'entry ' || seq || ' of ' || workspace_id from (
      select e.workspace_id, e.seq, e.balance_after,
        coalesce(o.seq, 0) + row_number() over (partition by e.workspace_id order by e.seq) as place,
        coalesce(o.balance, 0) + sum(e.amount) over (partition by e.workspace_id order by e.seq) as total
      from ledger_entries e left join ledger_openings o on o.workspace_id = e.workspace_id
      where e.seq > coalesce(o.seq, 0)) e where seq <> place or balance_after <> total
    union all
    select 'account ' || a.workspace_id || ': ' || a.balance || ' after ' || a.seq || ', held ' || a.held
    from credit_accounts a left join (select workspace_id, sum(amount) as total, count(*) as entries
      from ledger_entries group by workspace_id) l on l.workspace_id = a.workspace_id
    left join ledger_openings o on o.workspace_id = a.workspace_id
    where a.balance <> coalesce(l.total, 0) + coalesce(o.amount, 0)
      or a.seq <> coalesce(l.entries, 0) + coalesce(o.entries, 0) or a.held <> 0`,
  'an opening is the sum of what it replaces': `
    select 'opening ' || o.seq || ' of ' || o.workspace_id from ledger_openings o
    left join (select e.workspace_id, sum(e.amount) as amount, sum(e.held_delta) as held_delta, count(*) as kept
      from ledger_entries e join ledger_openings n on n.workspace_id = e.workspace_id and e.seq <= n.seq
      group by e.workspace_id) k on k.workspace_id = o.workspace_id
    left join removed_history r on r.workspace_id = o.workspace_id
    where o.seq <> o.entries + o.kept or o.kept <> coalesce(k.kept, 0)
      or o.balance <> o.amount + coalesce(k.amount, 0) or o.held <> o.held_delta + coalesce(k.held_delta, 0)
      or o.charged > coalesce(r.charged, 0) or o.refunded > coalesce(r.refunded, 0)
      or o.charged_bulks > coalesce(r.charged_bulks, 0)`,
  'no workspace spends more than it has': `
    select 'entry ' || seq || ' of ' || workspace_id || ': ' || balance_after from ledger_entries
    where kind in ('send', 'hold') and balance_after < held_after`,
  'one debit a message': `
    select 'message ' || m.id || ': ' || coalesce(c.debits, 0) || ' debits, ' || coalesce(c.debit, 0) || ' for ' || m.credits_used
    from messages m left join ${CHARGES} c on c.workspace_id = m.workspace_id and c.ref_type = 'message' and c.ref_id = m.id
    where m.channel <> 'voice' and (coalesce(c.debits, 0) > 1
      or coalesce(c.debit, 0) <> -(case when m.bulk_id is null then m.credits_used else 0 end))
    union all
    select 'bulk ' || m.bulk_id || ': ' || coalesce(c.debits, 0) || ' debits, ' || coalesce(c.debit, 0) || ' for ' || m.credits
    from (select workspace_id, bulk_id, sum(credits_used) as credits from messages where bulk_id is not null
      group by workspace_id, bulk_id) m
    left join ${CHARGES} c on c.workspace_id = m.workspace_id and c.ref_type = 'bulk' and c.ref_id = m.bulk_id
    where coalesce(c.debits, 0) > 1 or coalesce(c.debit, 0) <> -m.credits`,
  'at most one refund a message': `
    select 'message ' || m.id || ': ' || coalesce(c.refunds, 0) || ' refunds, ' || coalesce(c.refund, 0) || ' of ' || m.credits_refunded
    from messages m left join ${CHARGES} c on c.workspace_id = m.workspace_id and c.ref_type = 'message' and c.ref_id = m.id
    where coalesce(c.refunds, 0) > 1 or coalesce(c.refund, 0) <> m.credits_refunded or m.credits_refunded > m.credits_used`,
  'a hold ends once': `
    select 'message ' || m.id || ': ' || coalesce(h.holds, 0) || ' holds, ' || coalesce(h.ends, 0) || ' ends of holds, '
      || coalesce(h.settlements, 0) || ' settlements, ' || coalesce(h.taken, 0) || ' for ' || m.credits_used
    from messages m left join (select workspace_id, ref_id,
      sum(case kind when 'hold' then 1 else 0 end) as holds, sum(case when resolves is null then 0 else 1 end) as ends,
      sum(case kind when 'settle' then 1 else 0 end) as settlements, sum(held_delta) as held, -sum(amount) as taken
      from ledger_entries where ref_type = 'message' and kind in ('hold', 'settle', 'void') group by workspace_id, ref_id) h
    on h.workspace_id = m.workspace_id and h.ref_id = m.id
    where m.channel = 'voice' and (coalesce(h.holds, 0) > 1 or coalesce(h.ends, 0) <> coalesce(h.holds, 0)
      or coalesce(h.settlements, 0) > 1 or coalesce(h.held, 0) <> 0 or coalesce(h.taken, 0) <> m.credits_used)`,
  'a call that no provider took holds nothing': `
    select 'hold of ' || h.message_id from credit_holds h
    left join messages m on m.workspace_id = h.workspace_id and m.id = h.message_id
    where m.id is null or (m.status = 'failed' and cast(m.accepted as integer) = 0)`,
  'a test message is free': `
    select 'message ' || id || ': ' || credits_used from messages where cast(livemode as integer) = 0 and credits_used > 0`,
  'a message that was not sent is refunded': `
    select 'message ' || id || ': ' || status || ', ' || coalesce(error_code, '') || ', ' || credits_refunded || ' of ' || credits_used
    from messages where credits_used > 0 and recipients is null and channel <> 'voice'
      and credits_refunded <> (case when status = 'failed' and cast(accepted as integer) = 0
        and coalesce(error_code, '') <> 'outcome_unknown' then credits_used else 0 end)
    union all
    select 'message ' || id || ': ' || status || ', ' || credits_refunded || ' of ' || credits_used
    from messages where recipients is not null and status = 'failed' and cast(accepted as integer) = 0
      and credits_refunded <> credits_used`,
  'the counts of messages are exact': `
    select channel || ' ' || status || ' of ' || workspace_id || ': ' || sum(n) || ' too few, ' || sum(test) || ' of them for tests' from (
      select workspace_id, channel, case when status = 'failed' and error_code = 'canceled' then 'canceled' else status end as status,
        1 as n, 1 - cast(livemode as integer) as test from messages
      union all
      select workspace_id, channel, status, -count, -test_count from message_counts where unit = 'all') c
    group by workspace_id, channel, status having sum(n) <> 0 or sum(test) <> 0`,
  'every debit and refund is of a message': `
    select l.kind || ' of ' || l.ref_id from ledger_entries l
      where l.kind in ('send', 'refund', 'hold', 'settle', 'void') and l.ref_type = 'message'
      and not exists (select 1 from messages m where m.workspace_id = l.workspace_id and m.id = l.ref_id)`,
  'nothing is stuck': `
    select 'message ' || message_id || ' is in the queue' from message_queue
    union all select 'delivery ' || delivery_id || ' is in the queue' from delivery_queue
    union all select 'hold of ' || message_id || ' is open' from credit_holds
    union all select 'message ' || id || ' is queued' from messages where status = 'queued'
    union all select 'delivery ' || id || ' is pending' from deliveries where status = 'pending'`,
  'every attempt has an outcome': `
    select 'attempt ' || number || ' of ' || message_id || ': ' || outcome from message_attempts
    where finished_at is null or outcome = 'started'`,
  'every attempt is in the journal': `
    select count(*) || ' attempts of ' || message_id || ' up to ' || max(number) from message_attempts
    group by workspace_id, message_id having count(*) <> max(number)`,
  'a status follows those before it': `
    select 'message ' || id || ' is ' || status from messages
      where (status = 'sent' and sent_at is null) or (status = 'failed' and failed_at is null)
        or (status in ('delivered', 'read') and delivered_at is null) or (status = 'read' and read_at is null)`,
  'one event for each change': `
    select count(*) || ' of ' || event || ' of ' || message_id from events
    where message_id is not null and event not in ('message.received', 'message.recipients_failed') group by workspace_id, message_id, event having count(*) > 1`,
  'one delivery for each webhook and event': `
    select count(*) || ' deliveries of ' || event_id || ' to ' || webhook_id from deliveries
    group by workspace_id, webhook_id, event_id having count(*) > 1`,
  'a broadcast sends each contact one message': `
    select 'broadcast ' || b.broadcast_id || ': ' || count(*) || ' messages to one address'
    from messages m join bulks b on b.workspace_id = m.workspace_id and b.id = m.bulk_id
    where b.broadcast_id is not null and m.erased_at is null
    group by m.workspace_id, b.broadcast_id, m.recipient having count(*) > 1`,
  'the counts of a broadcast are exact': `
    select 'broadcast ' || b.id || ': ' || b.accepted || ' of ' || coalesce(s.n, 0) || ' messages, ' || b.credits_used || ' of '
      || coalesce(s.credits, 0) || ', ' || b.contacts || ' contacts'
    from broadcasts b left join (select k.workspace_id, k.broadcast_id, count(*) as n, sum(m.credits_used) as credits
      from messages m join bulks k on k.workspace_id = m.workspace_id and k.id = m.bulk_id
      where k.broadcast_id is not null group by k.workspace_id, k.broadcast_id) s
    on s.workspace_id = b.workspace_id and s.broadcast_id = b.id
    where b.accepted <> coalesce(s.n, 0) or (b.channel <> 'voice' and b.credits_used <> coalesce(s.credits, 0))
      or b.contacts <> b.accepted + b.suppressed + b.no_address + b.rejected`,
  'one workspace has a domain': `
    select domain || ' is of ' || count(*) || ' workspaces' from sending_domains where status in ('verified', 'failing')
    group by domain having count(*) > 1`,
  'no row of another workspace': `
    select 'delivery ' || d.id from deliveries d join events e on e.id = d.event_id where e.workspace_id <> d.workspace_id
    union all
    select 'delivery ' || d.id from deliveries d join webhooks w on w.id = d.webhook_id where w.workspace_id <> d.workspace_id
    union all
    select 'delivery ' || d.id from deliveries d join messages m on m.id = d.message_id where m.workspace_id <> d.workspace_id
    union all
    select 'attempt of ' || a.message_id from message_attempts a join messages m on m.id = a.message_id
      where m.workspace_id <> a.workspace_id`,
}

const statementOf = (names: readonly string[]) =>
  `with ${names.map((name, i) => `rule_${i}(fault) as (${RULES[name]})`).join(', ')} ${names
    .map((name, i) => `select '${name}' as rule, fault from rule_${i}`)
    .join(' union all ')}`

const NAMES = Object.keys(RULES)

/**
 * One statement for both engines, which selects a `Fault` for each violation in a database: nothing works on it, and
 * everything had time to end.
 */
export const FAULTS = statementOf(NAMES)

/** The same for the rules that hold while a service works. */
export const FAULTS_AT_WORK = statementOf([
  'no row of another workspace',
  'a call that no provider took holds nothing',
  'one workspace has a domain',
])

/** Notes each violation in a database under the name of its rule. */
export function noteFaults(faults: readonly Fault[], { rule }: Violations): void {
  const note = new Map(NAMES.map((name) => [name, rule(name)]))
  for (const { rule: name, fault } of faults) note.get(name)?.(fault)
}
