import { describe, expect, it } from 'vitest'
import { builders, testRuntime } from '../../test/fixtures.ts'
import type { VerificationRow } from '../rows/rows.ts'
import { type CodeCheck, planChecks } from './check-codes.ts'
import { ended } from './verify.ts'

const HOUR_MS = 3_600_000

describe('checks of codes', () => {
  const clock = testRuntime('check-codes')
  const make = builders(clock)
  const checkOf = (row: VerificationRow, of: CodeCheck['of'], isRight: boolean): CodeCheck => {
    const { workspace_id, livemode } = row
    return { workspace_id, livemode, of, isRight: () => isRight, at: clock.now() }
  }
  const plan = (checks: CodeCheck[], verifications: VerificationRow[]) =>
    planChecks(checks, { verifications, subscribers: new Map(), keeps_events: true }, clock.id)

  it('add their approvals by country and hour', () => {
    const rows = ['+255700000001', '+255700000002', '+255700000003'].map((recipient) =>
      make.verification('w1', { recipient }),
    )
    const checks = rows.map((row) => checkOf(row, { id: row.id }, true))
    expect(plan(checks, rows).counts).toEqual([
      expect.objectContaining({ workspace_id: 'w1', country: 'TZ', sent: 0, approved: 3 }),
    ])
  })

  it('of an address are checks of its newest verification, in any order of the rows', () => {
    const at = clock.now()
    const older = make.verification('w1', { created_at: new Date(at.getTime() - 1_000) })
    const newer = make.verification('w1')
    const since = new Date(at.getTime() - HOUR_MS)
    const { recipient } = newer
    for (const rows of [
      [older, newer],
      [newer, older],
    ]) {
      const byId = checkOf(older, { id: older.id }, false)
      const { results } = plan([byId, checkOf(newer, { recipient, since }, true)], rows)
      expect(results.map((one) => one && [one.verification.id, one.status])).toEqual([
        [older.id, 'pending'],
        [newer.id, 'approved'],
      ])
    }
  })

  it('announce each end once', () => {
    const row = make.verification('w1')
    const over = make.verification('w1', { expires_at: clock.now() })
    const canceled = ended(make.verification('w1'), 'canceled', clock.now())
    const wrong = (of: VerificationRow) => checkOf(of, { id: of.id }, false)
    const guesses = Array.from({ length: 7 }, () => wrong(row))
    const { events, changed, results } = plan(
      [...guesses, wrong(over), wrong(over), wrong(canceled)],
      [row, over, canceled],
    )
    expect(results.map((one) => one?.status)).toEqual([
      ...Array(4).fill('pending'),
      ...Array(3).fill('max_attempts'),
      ...['expired', 'expired', 'canceled'],
    ])
    expect(events.map(({ event }) => event)).toEqual([
      'verification.failed',
      'verification.expired',
    ])
    expect(changed.map(({ id, status }) => [id, status])).toEqual([
      [row.id, 'max_attempts'],
      [over.id, 'expired'],
    ])
  })
})
