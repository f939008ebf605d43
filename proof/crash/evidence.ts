import type { Account } from '../stage/accounts.ts'
import type { Query } from '../stage/database.ts'
import { FAULTS, type Fault } from '../stage/rules.ts'
import { until } from '../stage/until.ts'
import type { Operation } from './operations.ts'
import type { ReceivedEvent } from './receiver.ts'

/** The facts at the end: answers to callers, events at receivers, and the contents of the database. */
export interface Evidence {
  operations: readonly Operation[]
  accounts: readonly Account[]
  received: ReadonlyMap<string, ReceivedEvent>
  /** The number of requests that a provider outside the service got, by message; absent without one. */
  calls?: ReadonlyMap<string, number> | undefined
  stored: Stored
  /** Whether the database was unavailable at times, so that a request could fail. */
  outages: boolean
}

/** A stored message. Credits are micro-credits. */
export interface StoredMessage {
  id: string
  workspace_id: string
  /** The number of its operation. */
  op: number
  recipient: string
  livemode: 0 | 1
  status: string
  error_code: string | null
  credits_used: number
  credits_refunded: number
  /** Whether a kill came between a call of the provider and the write of its answer. */
  interrupted: 0 | 1
}

/** An attempt at a provider outside the service. */
export interface StoredAttempt {
  message_id: string
  outcome: string
}

export interface StoredEntry {
  kind: string
  amount: number
  ref_id: string
}

export interface StoredEvent {
  id: string
  workspace_id: string
  event: string
  message_id: string
  body: string
  /** The number of its deliveries, and of those that were delivered. */
  deliveries: number
  delivered: number
}

/** The contents of a database after the last message reached its final status. */
export interface Stored {
  messages: StoredMessage[]
  /** By message, in their order. */
  attempts: StoredAttempt[]
  entries: StoredEntry[]
  balances: { workspace_id: string; balance: number }[]
  answers: { workspace_id: string; key: string; message_id: string }[]
  events: StoredEvent[]
  verifications: { workspace_id: string; id: string; message_id: string }[]
  /** What breaks the rules of the rows, which all proofs share. */
  faults: Fault[]
  /** Damage that the database itself found. */
  damage: string[]
}

const MESSAGES = `select id, workspace_id, cast(metadata ->> 'op' as integer) as op, recipient,
  cast(livemode as integer) as livemode, status, error_code, credits_used, credits_refunded,
  cast(exists (select 1 from message_attempts a where a.workspace_id = m.workspace_id and a.message_id = m.id
  and a.error_code = 'interrupted') as integer) as interrupted from messages m`
const ATTEMPTS = `select message_id, outcome from message_attempts where provider <> 'sandbox' order by message_id, number`
const ENTRIES = 'select kind, amount, ref_id from ledger_entries'
const ANSWERS = 'select workspace_id, key, response from idempotency_keys'
// Grouped first: deliveries have no index by event.
const EVENTS = `select e.id, e.workspace_id, e.event, e.message_id, e.body, coalesce(d.deliveries, 0) as deliveries,
  coalesce(d.delivered, 0) as delivered from events e left join (select workspace_id, event_id, count(*) as deliveries,
  count(*) filter (where status = 'delivered') as delivered from deliveries group by workspace_id, event_id) d
  on d.workspace_id = e.workspace_id and d.event_id = e.id`

/** Reads all data that the rules need, except the engine's own checks. */
export async function readStored(query: Query): Promise<Omit<Stored, 'damage'>> {
  const answers = await query<{ workspace_id: string; key: string; response: string }>(ANSWERS)
  return {
    messages: await query(MESSAGES),
    attempts: await query(ATTEMPTS),
    entries: await query(ENTRIES),
    balances: await query('select workspace_id, balance from credit_accounts'),
    answers: answers.map(({ response, ...answer }) => ({
      ...answer,
      message_id: (JSON.parse(response) as { message_id: string }).message_id,
    })),
    events: await query(EVENTS),
    verifications: await query('select workspace_id, id, message_id from verifications'),
    faults: await query<Fault>(FAULTS),
  }
}

/** The damage that SQLite finds in its file. */
export async function damageIn(query: Query): Promise<string[]> {
  const found = await query<{ integrity_check: string }>('pragma integrity_check')
  return found.map(({ integrity_check }) => integrity_check).filter((text) => text !== 'ok')
}

/** Resolves when the queues are empty; with false if they are not within `max_ms`. `onWait` gets the rest, time after time. */
export function emptied(
  query: Query,
  { max_ms, onWait = () => {} }: { max_ms: number; onWait?(text: string, times: number): void },
): Promise<boolean> {
  let times = 0
  const isEmpty = async () => {
    const { messages, deliveries } = await readWaiting(query)
    if (messages + deliveries === 0) return true
    onWait(`waiting for ${messages} messages and ${deliveries} deliveries`, times++)
    return false
  }
  return until(isEmpty, { max_ms, every_ms: 100 })
}

/** The number of queued rows. */
async function readWaiting(query: Query): Promise<Record<'messages' | 'deliveries', number>> {
  const count = async (table: string) =>
    (await query<{ n: number }>(`select count(*) as n from ${table}`))[0]?.n ?? 0
  return { messages: await count('message_queue'), deliveries: await count('delivery_queue') }
}
