import type { Telemetry } from '../src/runtime/telemetry.ts'

/** Whoever is told, and what it was told without durations: `'attempted sandbox sms accepted'`, as often as it was. */
export function listener() {
  const told: Record<string, number> = {}
  const tell = (...words: (string | number | boolean)[]) => {
    const line = words.join(' ')
    told[line] = (told[line] ?? 0) + 1
  }
  const commits = { jobs: 0 }
  const telemetry: Telemetry = {
    accepted: (channel, messages) => tell('accepted', channel, messages),
    replayed: (channel) => tell('replayed', channel),
    refused: (channel, code) => tell('refused', channel, code),
    reached: (channel, status, messages) => tell('reached', channel, status, messages),
    refunded: (amount) => tell('refunded', amount),
    committed(jobs) {
      commits.jobs += jobs
    },
    // How often a queue is asked in vain is for the clock to say.
    claimed: (queue, items) => items > 0 && tell('claimed', queue),
    attempted: (provider, channel, outcome) => tell('attempted', provider, channel, outcome),
    lookedUp: (provider, outcome) => tell('lookedUp', provider, outcome),
    providerPaused: (provider) => tell('providerPaused', provider),
    calledBack: (provider, outcome) => tell('calledBack', provider, outcome),
    received: (channel, provider) => tell('received', channel, provider),
    deliveryAttempted: (outcome) => tell('deliveryAttempted', outcome),
    deliveryEnded: (status) => tell('deliveryEnded', status),
    swept: (hasFailed) => tell('swept', hasFailed ? 'failed' : 'done'),
    threadDied: () => tell('threadDied'),
  }
  return { told, commits, telemetry }
}
