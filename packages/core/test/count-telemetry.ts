import type { Telemetry } from '../src/runtime/telemetry.ts'

/** Telemetry that counts its calls by their arguments without durations: `'attempted sandbox sms accepted'`. */
export function countTelemetry() {
  const counts: Record<string, number> = {}
  const count = (...words: (string | number | boolean)[]) => {
    const line = words.join(' ')
    counts[line] = (counts[line] ?? 0) + 1
  }
  const commits = { jobs: 0 }
  const telemetry: Telemetry = {
    accepted: (channel, messages) => count('accepted', channel, messages),
    replayed: (channel) => count('replayed', channel),
    refused: (channel, code) => count('refused', channel, code),
    codeStarted: (channel, mode) => count('codeStarted', channel, mode),
    codeRefused: (reason, mode) => count('codeRefused', reason, mode),
    codeChecked: (result, mode) => count('codeChecked', result, mode),
    codeApproved: (channel, mode) => count('codeApproved', channel, mode),
    reached: (channel, status, messages) => count('reached', channel, status, messages),
    refunded: (amount) => count('refunded', amount),
    committed(jobs) {
      commits.jobs += jobs
    },
    // The number of claims of an empty queue depends on the clock.
    claimed: (queue, items) => items > 0 && count('claimed', queue),
    attempted: (provider, channel, outcome) => count('attempted', provider, channel, outcome),
    lookedUp: (provider, outcome) => count('lookedUp', provider, outcome),
    providerPaused: (provider) => count('providerPaused', provider),
    calledBack: (provider, outcome) => count('calledBack', provider, outcome),
    received: (channel, provider) => count('received', channel, provider),
    deliveryAttempted: (outcome) => count('deliveryAttempted', outcome),
    deliveryEnded: (status) => count('deliveryEnded', status),
    swept: (hasFailed) => count('swept', hasFailed ? 'failed' : 'done'),
    threadDied: () => count('threadDied'),
  }
  return { counts, commits, telemetry }
}
