import { isMainThread } from 'node:worker_threads'
import { defineProvider } from '@svc/core/provider'

/**
 * A provider whose behaviour depends on the end of the recipient. Its ids name the thread that sends.
 * `held`: shared memory of two numbers. The first tells that a send holds its thread, the second ends that.
 */
export default ({ name = 'acme', fails = false, held = null } = {}) => {
  if (fails) throw new Error('no settings for Acme')
  return defineProvider({
    name,
    traits: { channels: ['sms'], senders: { sms: ['+14155550190', '+14155550191'] } },
    send: (jobs) => jobs.map((job) => outcomeOf(job, held)),
    lookup: (jobs) =>
      jobs.map((job) => {
        // Only the late answer of a held call may say what became of its message.
        if (held !== null) return { type: 'unavailable' }
        if (job.recipient.endsWith('2')) throw new Error(`no ${job.content.text}`)
        return { type: 'found', receipts: [], replies: [], lookup_after_ms: null }
      }),
    readCallback: ({ headers, body }, { secret, callback_url }) => {
      if (headers['x-secret'] !== secret) return { type: 'forged' }
      const { thrown, ...receipt } = JSON.parse(new TextDecoder().decode(body))
      if (thrown) throw new Error(thrown)
      const { provider_message_id } = receipt
      const errors = { error_code: null, error_message: null }
      return {
        type: 'read',
        reports: [
          { type: 'receipt', about: null, provider_message_id, receipt: { ...receipt, ...errors } },
        ],
        answer: { content_type: 'text/plain', body: callback_url },
      }
    },
    check: async ({ public_url }) => (public_url === 'https://svc.test' ? null : 'Wrong URL'),
  })
}

async function outcomeOf({ recipient, content, message_id, sender }, held) {
  if (held !== null && recipient.endsWith('8')) {
    const cells = new Int32Array(held)
    Atomics.store(cells, 0, 1)
    Atomics.wait(cells, 1, 0)
  }
  if (recipient.endsWith('1')) throw new Error(`no ${content.text}`)
  if (recipient.endsWith('9')) return new Promise(() => {})
  const thread = isMainThread ? 'main' : 'pool'
  return {
    type: 'accepted',
    provider_message_id: `${thread}:${sender}:${message_id}`,
    lookup_after_ms: null,
    part_ids: [`${thread}:${sender}:${message_id}`],
  }
}
