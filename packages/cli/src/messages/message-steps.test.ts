import type { Message } from '@svc/client'
import { expect, it } from 'vitest'
import { stepsOf } from './message-steps.ts'

it('returns the statuses in the order of the state machine, also when the clock went back', () => {
  const at = (second: number) => `2026-05-04T12:00:0${second}.000Z`
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
