import { createHash } from 'node:crypto'
import { openWritable } from '../stage/database.ts'

/** The expected end of one accepted message. */
export interface Expected {
  workspace_id: string
  livemode: 0 | 1
  recipient: string
  status: string
  error_code: string | null
  /** In micro-credits. */
  price: number
  refund: number
  /** The kinds of its events, in alphabetic order, with commas between. */
  events: string
  replies: 0 | 1
}

/** The answers to clients and the events at the receiver, in a file: the memory of a long run does not grow. */
export interface OpLog {
  /** Notes an accepted message. */
  accepted(message_id: string, op: number, expected: Expected): void
  /** Notes a request without an answer: it made one message, or none. */
  unsure(op: number, expected: Expected): void
  received(event_id: string, event: string, body: string): void
  /** The number of each. */
  counts(): { accepted: number; unsure: number; received: number }
  /** The path of the file, after all writes. */
  database: ReturnType<typeof openWritable>
  flush(): void
  close(): void
}

const EXPECTED = `workspace_id text not null, livemode integer not null, recipient text not null, status text not null,
  error_code text, price integer not null, refund integer not null, events text not null, replies integer not null`
const SCHEMA = `pragma journal_mode = wal; pragma synchronous = off;
  create table accepted (message_id text, op integer, ${EXPECTED}, primary key (message_id, op)) without rowid;
  create table unsure (op integer primary key, ${EXPECTED});
  create table received (event_id text primary key, event text not null, digest blob not null, times integer not null,
  changed integer not null) without rowid;`

/** @param file must not exist. */
export function createOpLog(file: string): OpLog {
  const database = openWritable(file)
  database.exec(SCHEMA)
  const values = `@workspace_id, @livemode, @recipient, @status, @error_code, @price, @refund, @events, @replies`
  const insertAccepted = database.prepare(
    `insert into accepted values (@message_id, @op, ${values})`,
  )
  const insertUnsure = database.prepare(`insert into unsure values (@op, ${values})`)
  const insertReceived = database.prepare(
    `insert into received values (?, ?, ?, 1, 0) on conflict do update
     set times = times + 1, changed = changed + (digest <> excluded.digest)`,
  )
  const counts = { accepted: 0, unsure: 0, received: 0 }
  let waiting: (() => void)[] = []

  function flush(): void {
    database.exec('begin')
    for (const write of waiting) write()
    database.exec('commit')
    waiting = []
  }

  return {
    accepted(message_id, op, expected) {
      counts.accepted += 1
      waiting.push(() => insertAccepted.run({ message_id, op, ...expected }))
    },
    unsure(op, expected) {
      counts.unsure += 1
      waiting.push(() => insertUnsure.run({ op, ...expected }))
    },
    received(event_id, event, body) {
      counts.received += 1
      const digest = digestOf(body)
      waiting.push(() => insertReceived.run(event_id, event, digest))
    },
    counts: () => counts,
    database,
    flush,
    close() {
      flush()
      database.close()
    },
  }
}

/** Identifies the bytes of a webhook's body. */
export function digestOf(body: string): Buffer {
  return createHash('sha256').update(body).digest().subarray(0, 16)
}
