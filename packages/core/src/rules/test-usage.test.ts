import { describe, expect, it } from 'vitest'
import { addTestUse } from './test-usage.ts'

const QUOTAS = { test_messages_per_day: 10, test_bytes_per_day: 100 }
const use = (messages: number, bytes: number) => ({ ...QUOTAS, day: 5, messages, bytes })
const used = (day: number, messages: number, bytes: number) => ({
  workspace_id: 'w',
  day,
  messages,
  bytes,
})

describe('addTestUse', () => {
  it('counts up to both quotas', () => {
    expect(addTestUse('w', undefined, use(10, 100))).toEqual(used(5, 10, 100))
    expect(addTestUse('w', used(5, 4, 40), use(6, 60))).toEqual(used(5, 10, 100))
  })

  it('names the quota that a request exceeds, the messages first', () => {
    const outcome = 'test_quota'
    const messages = { outcome, of: 'messages', required: 7, limit: 10, used: 4 }
    expect(addTestUse('w', used(5, 4, 40), use(7, 1))).toEqual(messages)
    expect(addTestUse('w', used(5, 4, 40), use(7, 999))).toEqual(messages)
    const bytes = { outcome, of: 'bytes', required: 61, limit: 100, used: 40 }
    expect(addTestUse('w', used(5, 4, 40), use(6, 61))).toEqual(bytes)
  })

  it('begins a day anew, and stays on a day that another server has begun', () => {
    expect(addTestUse('w', used(4, 9, 90), use(2, 20))).toEqual(used(5, 2, 20))
    expect(addTestUse('w', used(6, 3, 30), use(2, 20))).toEqual(used(6, 5, 50))
    expect(addTestUse('w', used(7, 9, 90), use(2, 20))).toEqual(used(5, 2, 20))
  })
})
