import { createRequire } from 'node:module'
import { Sqlite } from '../../packages/core/src/storage/sqlite/engine/driver.ts'

const ACCEPTED = /insert into messages\b/
const CLAIMED = /insert into message_attempts\b/

/** A batch of statements on a PostgreSQL connection. */
interface Batch {
  statements?: { statement: { text: string } }[]
  handleReadyForQuery(): void
}

type Query = (this: unknown, ...values: unknown[]) => unknown

/**
 * Watches the drivers. After `arm`, this process kills itself as soon as the next commit that accepted and claimed a
 * message has returned: before any response and before the hand-over of the message to its lane.
 */
export function watchHandOvers(): { arm(): void } {
  let isArmed = false
  const killIfArmed = () => {
    if (isArmed) process.kill(process.pid, 'SIGKILL')
  }
  watchSqlite(killIfArmed)
  watchPostgres(killIfArmed)
  return {
    arm() {
      isArmed = true
    },
  }
}

function watchSqlite(onHandOver: () => void): void {
  const { prepare } = Sqlite.prototype
  const texts = new Set<string>()
  Sqlite.prototype.prepare = function (this: InstanceType<typeof Sqlite>, text: string) {
    const statement = prepare.call(this, text)
    const isWatched = ACCEPTED.test(text) || CLAIMED.test(text)
    if (!isWatched && text !== 'commit') return statement
    const run = statement.run.bind(statement) as (...values: unknown[]) => unknown
    statement.run = ((...values: unknown[]) => {
      const result = run(...values)
      if (isWatched) texts.add(text)
      else if (hasHandOver([...texts.keys()])) onHandOver()
      if (text === 'commit') texts.clear()
      return result
    }) as never
    return statement
  } as never
}

function watchPostgres(onHandOver: () => void): void {
  const require = createRequire(new URL('../../packages/core/package.json', import.meta.url))
  const { Client } = require('pg') as { Client: { prototype: { query: Query } } }
  const { query } = Client.prototype
  Client.prototype.query = function (...values) {
    const batch = values[0] as Batch
    const texts = batch?.statements?.map(({ statement }) => statement.text) ?? []
    if (texts.includes('commit') && hasHandOver(texts)) {
      const ready = batch.handleReadyForQuery.bind(batch)
      batch.handleReadyForQuery = () => {
        onHandOver()
        ready()
      }
    }
    return query.apply(this, values)
  }
}

function hasHandOver(texts: readonly string[]): boolean {
  return [ACCEPTED, CLAIMED].every((part) => texts.some((text) => part.test(text)))
}
