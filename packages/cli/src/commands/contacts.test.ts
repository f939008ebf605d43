import { describe, expect, it } from 'vitest'
import { meetingParts } from './contacts.ts'

const rows = (...contacts: Record<string, unknown>[]) =>
  contacts.map((contact, index) => ({ contact, index }))
const indexes = (parts: { index: number }[][]) =>
  parts.map((part) => part.map(({ index }) => index))

describe('the parts of a dry run', () => {
  it('keep contacts together that share an address or an id, in their order', () => {
    const sent = rows(
      { phone: '+1' },
      { email: 'a@example.com' },
      { phone: '+2', email: 'A@Example.com' },
      { external_id: '7', phone: '+1' },
      { name: 'no address' },
      { external_id: '7', phone: '+2' },
    )
    expect(indexes(meetingParts(sent, [], { usual: 2, max: 10 }))).toEqual([[0, 1, 2, 3, 5], [4]])
  })

  it('keep contacts together that only a stored contact connects', () => {
    const sent = rows({ phone: '+1' }, { phone: '+9' }, { email: 'a@example.com' })
    const stored = [{ phone: '+1', email: 'a@example.com', external_id: null }]
    expect(indexes(meetingParts(sent, [], { usual: 1, max: 10 }))).toEqual([[0], [1], [2]])
    expect(indexes(meetingParts(sent, stored, { usual: 1, max: 10 }))).toEqual([[0, 2], [1]])
  })

  it('are no larger than a request takes, and hold each contact once', () => {
    const sent = rows(...Array.from({ length: 25 }, () => ({ phone: '+1' })), { phone: '+2' })
    const parts = meetingParts(sent, [], { usual: 5, max: 10 })
    expect(parts.map(({ length }) => length)).toEqual([10, 10, 5, 1])
    expect(indexes(parts).flat()).toEqual(sent.map(({ index }) => index))
  })

  it('are found soon for many contacts in a row that are one person', () => {
    const many = Array.from({ length: 100_000 }, (_, i) => ({ phone: `+${i}`, email: `${i + 1}` }))
    const chain = many.map((one, i) => ({ ...one, external_id: i % 2 ? `${i}` : `${i + 1}` }))
    const parts = meetingParts(rows(...chain), [], { usual: 1_000, max: 10_000 })
    expect(parts.flat()).toHaveLength(100_000)
  })
})
