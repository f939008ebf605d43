import { createRequire } from 'node:module'
import { Sqlite } from '../../packages/core/src/storage/sqlite/engine/connection.ts'

/** The commits at which a process can kill itself, by the statements that one of them has. */
const COMMITS = {
  /** Accepts a message and claims it, so that its lane gets it at once. */
  hand_over: [/insert into messages\b/, /insert into message_attempts\b/],
  /** Accepts a message with an idempotency key, for example a reply in TwiML. */
  keyed: [/insert into idempotency_keys\b/],
  /** Accepts the messages of a step of a broadcast. */
  broadcast_step: [/insert into messages\b/, /update broadcasts\b/],
}

/** A commit, and when the process kills itself: before the database gets it, or as soon as it has returned. */
export interface Death {
  commit: keyof typeof COMMITS
  when: 'before' | 'after'
}

/** A batch of statements on a PostgreSQL connection. */
interface Batch {
  statements?: { statement: { text: string } }[]
  handleReadyForQuery(): void
}

type Query = (this: object, ...values: unknown[]) => unknown
type OnCommit = (when: Death['when'], texts: readonly string[]) => void

/**
 * Watches the drivers. After `arm`, this process kills itself at the next such commit. After a commit, it does so before any
 * response and before the hand-over of the message to its lane.
 */
export function watchCommits(): { arm(death: Death): void } {
  let armed: Death | null = null
  const onCommit: OnCommit = (when, texts) => {
    if (armed?.when !== when) return
    const isMeant = COMMITS[armed.commit].every((part) => texts.some((text) => part.test(text)))
    if (isMeant) process.kill(process.pid, 'SIGKILL')
  }
  watchSqlite(onCommit)
  watchPostgres(onCommit)
  return {
    arm(death) {
      armed = death
    },
  }
}

function watchSqlite(onCommit: OnCommit): void {
  const { prepare } = Sqlite.prototype
  const watched = Object.values(COMMITS).flat()
  const texts = new Set<string>()
  Sqlite.prototype.prepare = function (this: InstanceType<typeof Sqlite>, text: string) {
    const statement = prepare.call(this, text)
    const isWatched = watched.some((part) => part.test(text))
    if (!isWatched && text !== 'commit') return statement
    const run = statement.run.bind(statement) as (...values: unknown[]) => unknown
    statement.run = ((...values: unknown[]) => {
      if (text === 'commit') onCommit('before', [...texts])
      const result = run(...values)
      if (isWatched) texts.add(text)
      else {
        onCommit('after', [...texts])
        texts.clear()
      }
      return result
    }) as never
    return statement
  } as never
}

function watchPostgres(onCommit: OnCommit): void {
  const require = createRequire(new URL('../../packages/core/package.json', import.meta.url))
  const { Client } = require('pg') as { Client: { prototype: { query: Query } } }
  const { query } = Client.prototype
  /** The earlier statements of the transaction of each connection: a large one has several batches. */
  const earlier = new WeakMap<object, string[]>()
  Client.prototype.query = function (...values) {
    const batch = values[0] as Batch
    const sent = batch?.statements?.map(({ statement }) => statement.text) ?? []
    const begins = sent.some((text) => text.startsWith('begin'))
    const texts = begins ? sent : [...(earlier.get(this) ?? []), ...sent]
    earlier.set(this, texts)
    if (sent.includes('commit')) {
      earlier.delete(this)
      onCommit('before', texts)
      const ready = batch.handleReadyForQuery.bind(batch)
      batch.handleReadyForQuery = () => {
        onCommit('after', texts)
        ready()
      }
    }
    return query.apply(this, values)
  }
}
