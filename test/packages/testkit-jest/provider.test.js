// The contract suite of providers, with a provider that needs neither the core nor a network.
import { describe, it } from '@jest/globals'
import { providerContract } from '@svc/testkit/provider'

const REJECTED = { type: 'rejected', error_code: 'gone', error_message: 'There is no such number' }

providerContract(
  'paper',
  { describe, it },
  {
    channel: 'sms',
    traits: { channels: ['sms'], senders: {}, lookup: false, listens: false, callback_bytes: null },
    fates: ['accept', 'reject'],
    refusals: [],
    identifies: false,
    callbacks: null,
    async open() {
      return {
        provider: {
          name: 'paper',
          send: async (jobs) =>
            jobs.map(({ recipient, message_id }) =>
              recipient.startsWith('+1')
                ? { type: 'accepted', provider_message_id: message_id, lookup_after_ms: null }
                : REJECTED,
            ),
        },
        secrets: [],
        recipient: (fate) => (fate === 'accept' ? '+14155550100' : '+99'),
        peer: null,
        callbacks: null,
        close: async () => {},
      }
    },
  },
)
