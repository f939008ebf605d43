import { expect, it } from 'vitest'
import { units } from '../contract/fields/units.ts'
import { hasWaited } from './claim.ts'

const created_at = new Date('2026-05-04T09:00:00.000Z')

it.each([
  ['a message that was accepted just now', null, 0, false],
  ['one after a minute', null, 60_000, false],
  ['one after more than a minute', null, 60_001, true],
  ['a scheduled one, however soon', new Date('2026-05-04T09:00:01.000Z'), 1_000, true],
])('%s', (_, scheduled_at, ms, waited) => {
  const paid = { api_key_id: 'k1', credits_used: units(1_000_000), livemode: true }
  const message = { created_at, scheduled_at, ...paid }
  const now = new Date(created_at.getTime() + ms)
  expect(hasWaited(message, now)).toBe(waited)
  expect(hasWaited({ ...message, livemode: false }, now)).toBe(false)
})
