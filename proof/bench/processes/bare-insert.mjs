import { randomUUID } from 'node:crypto'
import { createRequire } from 'node:module'
import { answer } from '../../stage/answer.mjs'

// The engine of the service, with the settings of the service's connection.
const core = createRequire(new URL('../../../packages/core/package.json', import.meta.url))
const Sqlite = core(Number(process.versions.napi) < 10 ? 'better-sqlite3-12' : 'better-sqlite3')

const TABLES = ['messages', 'message_queue']

let connection
let inserts

answer({
  /** Creates the tables of a service's database again, with its newest rows as a pattern. */
  start({ file, pattern_file, rows }) {
    const pattern = new Sqlite(pattern_file, { readonly: true })
    connection = new Sqlite(file)
    for (const pragma of [
      'journal_mode = WAL',
      'synchronous = FULL',
      'cache_size = -65536',
      'wal_autocheckpoint = 8000',
    ]) {
      connection.pragma(pragma)
    }
    inserts = TABLES.map((table) => {
      const schema = pattern.prepare(
        'select sql from sqlite_schema where tbl_name = ? and sql is not null',
      )
      for (const { sql } of schema.all(table)) connection.exec(sql)
      const id = table === 'messages' ? 'id' : 'message_id'
      const select = pattern.prepare(`select * from ${table} order by ${id} desc limit ${rows}`)
      const names = select.columns().map(({ name }) => name)
      const values = select.raw().all().reverse()
      if (values.length < rows) throw new Error(`${table} has no ${rows} rows`)
      const places = names.map(() => '?').join(', ')
      const insert = connection.prepare(
        `insert into ${table} (${names.join(', ')}) values (${places})`,
      )
      return { insert, values, id: names.indexOf(id) }
    })
    pattern.close()
  },
  /** Inserts the rows repeatedly under new ids, in one transaction each time. */
  run({ ms }) {
    const insertAll = connection.transaction((prefix) => {
      const count = inserts[0].values.length
      for (let i = 0; i < count; i++) {
        const id = `${prefix}-${String(i).padStart(6, '0')}-${TAIL}`
        for (const { insert, values, id: at } of inserts) {
          values[i][at] = id
          insert.run(values[i])
        }
      }
    })
    const from = performance.now()
    let inserted = 0
    while (performance.now() - from < ms) {
      insertAll.immediate(`${Date.now().toString(16)}${String(++rounds).padStart(8, '0')}`)
      inserted += inserts[0].values.length
    }
    return { inserted, seconds: (performance.now() - from) / 1000 }
  },
})

const TAIL = randomUUID().slice(-8)
let rounds = 0
