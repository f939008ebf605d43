import { sandbox, sandboxType } from '../../src/providers/sandbox.ts'
import { providerContract } from './provider.contract.ts'
import type { Fate } from './provider-harness.ts'

/** The sandbox’s own numbers. Source: contract section 9. */
const NUMBERS: Partial<Record<Fate, string>> = {
  reject: '+15005550001',
  unavailable: '+15005550009',
}

providerContract('sandbox', {
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
})
