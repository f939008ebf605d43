import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { builders, testRuntime } from '../../../../test/fixtures.ts'
import { dialects } from '../../../rows/dialect.ts'
import { VARYING_AMONG_NEW } from '../../../rows/messages.ts'
import type { MessageRow } from '../../../rows/rows.ts'
import { tables } from '../../../rows/tables.ts'

import { type Connection, migrate, Sqlite } from './connection.ts'

import { insertAll, namesOf, selectFrom } from './rows.ts'

const runtime = testRuntime('rows')
const make = builders(runtime)
const { messages } = tables(dialects.sqlite)

let connection: Connection
beforeAll(() => {
  connection = new Sqlite(':memory:')
  migrate(connection)
})
afterAll(() => connection.close())

/** Rows of several bulks: each has other values in the shared columns, and other texts in each message. */
const bulks = fc.array(
  fc.record({
    count: fc.oneof(fc.nat(45), fc.nat(230)),
    bulk_id: fc.option(fc.uuid()),
    scheduled_at: fc.option(fc.date({ noInvalidDate: true, min: new Date(0) })),
    livemode: fc.boolean(),
  }),
  { maxLength: 4 },
)

const COMMON = { text: 'Hello' }

describe('insertAll', () => {
  const insert = () => insertAll(connection, messages, VARYING_AMONG_NEW)
  const stored = () =>
    selectFrom(
      connection,
      messages,
      namesOf(messages),
      'workspace_id = ? order by id',
    )('w1') as MessageRow[]

  it('stores every row as it is, in blocks and alone', () => {
    fc.assert(
      fc.property(bulks, (drawn) => {
        connection.exec('delete from messages')
        const rows = drawn.flatMap(({ count, ...shared }) =>
          Array.from({ length: count }, (_, i) =>
            make.message('w1', {
              ...shared,
              content: i % 10 < 5 ? COMMON : { text: `Text ${i}` },
              metadata: i % 3 === 0 ? {} : { i },
              sender: i % 2 === 0 ? null : 'Shop',
              expires_at: i % 5 === 0 ? new Date(i) : null,
            }),
          ),
        )
        insert()(rows)
        expect(stored()).toEqual(rows)
      }),
      { numRuns: 50 },
    )
  })

  it('refuses a row with the key of another', () => {
    connection.exec('delete from messages')
    const rows = Array.from({ length: 30 }, () => make.message('w1'))
    const [first] = rows as [MessageRow]
    expect(() => insert()([...rows, first])).toThrow(/UNIQUE/)
  })
})
