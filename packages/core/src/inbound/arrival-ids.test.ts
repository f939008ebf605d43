import { expect, it } from 'vitest'
import { idsFor } from './inbound.ts'
import type { Arrival } from './plan.ts'

const at = new Date('2026-05-04T09:00:00.000Z')
const UUID_V7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/
const arrival = (fields: Partial<Arrival> = {}) =>
  ({ provider: 'twilio', provider_message_id: 'SM1', at, ...fields }) as Arrival

function idsOf(one: Arrival, count = 3): string[] {
  const next = idsFor(one, () => 'drawn')
  return Array.from({ length: count }, next)
}

it('returns the same ids for a repeated arrival, and others for any other', () => {
  const ids = idsOf(arrival())
  expect(idsOf(arrival())).toEqual(ids)
  const others = [
    ...idsOf(arrival({ provider: 'other' })),
    ...idsOf(arrival({ provider_message_id: 'SM2' })),
  ]
  expect(new Set([...ids, ...others]).size).toBe(9)
})

it('makes UUIDs that sort by time', () => {
  const ids = idsOf(arrival())
  for (const id of ids) expect(id).toMatch(UUID_V7)
  const later = idsOf(arrival({ at: new Date(at.getTime() + 1) }))
  expect([...ids, ...later].sort().slice(0, 3).sort()).toEqual([...ids].sort())
})

it('draws new ids without a provider_message_id', () => {
  expect(idsOf(arrival({ provider_message_id: null }))).toEqual(['drawn', 'drawn', 'drawn'])
})
