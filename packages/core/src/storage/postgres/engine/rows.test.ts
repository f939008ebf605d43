import { describe, expect, it } from 'vitest'
import { units } from '../../../contract/fields/units.ts'
import { dialects } from '../../../rows/dialect.ts'
import type { HoldRow } from '../../../rows/rows.ts'
import { tables } from '../../../rows/tables.ts'

import { insertInto, removeFrom, updateOf } from './rows.ts'

const t = tables(dialects.postgres)
const insert = insertInto('insert_holds', t.credit_holds)

function hold(fields: Partial<HoldRow>): HoldRow {
  return {
    workspace_id: 'w',
    id: 'a',
    message_id: 'm',
    n: 0,
    amount: units(5),
    expires_at: new Date(2_000),
    created_at: new Date(1_000),
    ...fields,
  }
}

describe('a batch of rows', () => {
  it('has the values that all rows share once', () => {
    const rows = [hold({ id: 'a' }), hold({ id: 'b' }), hold({ id: 'c' })]
    const { id: _, ...shared } = hold({})
    expect(insert.batchesOf(rows)).toEqual([
      ['[{"id":"a"},{"id":"b"},{"id":"c"}]', JSON.stringify(shared)],
    ])
  })

  it('has a value that only the last row lacks, without the nulls', () => {
    const answers = updateOf('test', t.messages, {
      key: ['workspace_id', 'id'],
      set: ['provider', 'sent_at', 'error_code'],
    })
    const row = { workspace_id: 'w', provider: 'p', sent_at: new Date(0), error_code: null }
    expect(
      answers.batchesOf([
        { ...row, id: 'a' },
        { ...row, id: 'b', provider: null },
      ]),
    ).toEqual([
      [
        '[{"id":"a","provider":"p"},{"id":"b"}]',
        '{"workspace_id":"w","sent_at":"1970-01-01T00:00:00.000Z"}',
      ],
    ])
  })

  it('has only the columns of its statement', () => {
    const remove = removeFrom('test', t.credit_holds, ['workspace_id', 'id'])
    expect(remove.batchesOf([hold({ id: 'a' }), hold({ id: 'b' })])).toEqual([
      ['[{"id":"a"},{"id":"b"}]', '{"workspace_id":"w"}'],
    ])
  })

  it('is sent in pieces of at most 8 MiB, each with the shared values', () => {
    const ids = Array.from({ length: 5 }, (_, i) => `${i}${'x'.repeat(3 * 1024 * 1024)}`)
    const batches = insert.batchesOf(ids.map((id) => hold({ id })))
    expect(batches.map(([own]) => JSON.parse(own).length)).toEqual([2, 2, 1])
    expect(new Set(batches.map(([, shared]) => shared)).size).toBe(1)
    expect(batches.flatMap(([own]) => JSON.parse(own).map(({ id }: HoldRow) => id))).toEqual(ids)
  })

  it('of no rows is not sent', () => {
    expect(insert.batchesOf([])).toEqual([])
  })
})
