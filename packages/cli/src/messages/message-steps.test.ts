import type { Message } from '@svc/core/contract'
import { expect, it } from 'vitest'
import { stepsOf } from './message-steps.ts'

it('returns the statuses in the order of the state machine, also when the clock went back', () => {
  const at = (second: number) => new Date(Date.UTC(2026, 4, 4, 12, 0, second))
  const times = { created_at: at(9), sent_at: at(8), failed_at: at(7), delivered_at: at(6) }
  const message = { ...times, read_at: at(5) } as Message
  expect(stepsOf(message).map(({ status }) => status)).toEqual([
    'queued',
    'sent',
    'failed',
    'delivered',
    'read',
  ])
})
