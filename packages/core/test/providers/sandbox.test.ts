import { type Fate, providerContract } from '@svc/testkit/provider'
import { describe, expect, it } from 'vitest'
import type { LookupJob } from '../../src/contract/outside/provider.ts'
import { sandbox, sandboxType } from '../../src/providers/sandbox.ts'

/** The numbers of the sandbox. Source: contract section 9. */
const NUMBERS: Partial<Record<Fate, string>> = {
  reject: '+15005550001',
  unavailable: '+15005550009',
}

providerContract(
  'sandbox',
  { describe, it },
  {
    channel: 'sms',
    traits: sandboxType.traits(),
    fates: ['accept', 'reject', 'unavailable'],
    refusals: [],
    identifies: false,
    callbacks: null,
    open: async () => {
      let count = 0
      return {
        provider: sandbox(),
        secrets: [],
        recipient(fate) {
          count += 1
          return NUMBERS[fate] ?? `+1500666${String(count).padStart(4, '0')}`
        },
        peer: null,
        callbacks: null,
        close: async () => {},
      }
    },
  },
)

it('reports the end of a message that was sent before the clock was set back', async () => {
  const now_ms = Date.UTC(2026, 0, 1)
  const job = { message_id: 'm1', channel: 'sms', recipient: '+255700000001', now_ms }
  const sent_later = { ...job, attempted_at_ms: now_ms + 3_600_000 } as LookupJob
  const { lookup } = sandbox()
  expect(await lookup?.([sent_later])).toMatchObject([
    { type: 'found', receipts: [{ status: 'delivered' }], lookup_after_ms: null },
  ])
})
