import { describe, expect, it } from 'vitest'
import { stateOf } from '../console/pages/bulks/state.ts'

const LATER = new Date(Date.now() + 3_600_000).toISOString()
const EARLIER = new Date(Date.now() - 3_600_000).toISOString()

describe('the state of a bulk', () => {
  const stateWith = (
    numbers: Partial<Parameters<typeof stateOf>[1]>,
    { at = null, paused_at = null }: { at?: string | null; paused_at?: string | null } = {},
  ) => {
    const { queued = 0 } = numbers
    const status = queued === 10 ? 'queued' : queued > 0 ? 'processing' : 'completed'
    const bulk = { status, accepted: 10, paused_at }
    return stateOf(bulk, { queued: 0, failed: 0, canceled: 0, ...numbers }, at)
  }

  it.each([
    ['all messages were sent', { failed: 4 }, 'completed'],
    ['all messages were canceled', { failed: 10, canceled: 10 }, 'canceled'],
    ['all messages failed', { failed: 10 }, 'failed'],
    ['more failed than were canceled', { failed: 10, canceled: 4 }, 'failed'],
    ['some messages were canceled', { failed: 3, canceled: 1 }, 'partly_canceled'],
    ['half of the messages failed', { failed: 5 }, 'mostly_failed'],
    ['half failed and one was canceled', { failed: 6, canceled: 1 }, 'mostly_failed'],
    ['messages are queued', { queued: 10 }, 'queued'],
    ['some messages are queued', { queued: 2, failed: 8 }, 'processing'],
  ])('names its outcome when %s', (_, numbers, state) => {
    expect(stateWith(numbers)).toBe(state)
  })

  it('is scheduled until its first message is due, and paused during a pause', () => {
    expect(stateWith({ queued: 10 }, { at: LATER })).toBe('scheduled')
    expect(stateWith({ queued: 10 }, { at: EARLIER })).toBe('queued')
    expect(stateWith({ queued: 4 }, { at: LATER })).toBe('processing')
    expect(stateWith({ queued: 4 }, { at: LATER, paused_at: EARLIER })).toBe('paused')
    expect(stateWith({}, { paused_at: EARLIER })).toBe('completed')
  })
})
