import { expect, it } from 'vitest'
import { units } from '../contract/fields/units.ts'
import type { Entry } from '../rules/decide.ts'
import { LEDGER_CSV_HEADER, ledgerCsvLine, ledgerJsonLine } from './ledger-lines.ts'

const entry: Entry & { email: string } = {
  id: 'e1',
  workspace_id: 'w1',
  email: 'ops@example.com',
  seq: 3,
  kind: 'hold',
  amount: units(0),
  held_delta: units(4_000_001),
  balance_after: units(10_000_000),
  held_after: units(4_000_001),
  counter_account: 'revenue:voice',
  ref_type: 'message',
  ref_id: 'call',
  ref_n: 2,
  channel: 'voice',
  quantity: 3,
  unit_price: null,
  resolves: null,
  actor: '=key',
  description: null,
  created_at: new Date('2026-05-04T09:00:00.000Z'),
}

it('writes the same values under the same names as CSV and as JSON', () => {
  const columns = LEDGER_CSV_HEADER.trim().split(',')
  const cells = ledgerCsvLine(entry).trim().split(',')
  const line: Record<string, unknown> = JSON.parse(ledgerJsonLine(entry))
  expect(Object.keys(line)).toEqual(columns)
  expect(line).toEqual({
    ...entry,
    held_delta: 4.000001,
    balance_after: 10,
    held_after: 4.000001,
    created_at: '2026-05-04T09:00:00.000Z',
  })
  const texts = columns.map((column) => (line[column] === null ? '' : String(line[column])))
  // A spreadsheet must not run it as a formula.
  expect(cells).toEqual(texts.map((text) => (text === '=key' ? "'=key" : text)))
})
