import { createHmac, timingSafeEqual } from 'node:crypto'
import { defineProvider } from '@svc/core/provider'

/** Errors of connections on which no request was written. */
const UNSENT = ['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'UND_ERR_CONNECT_TIMEOUT']

/** Sends SMS through the HTTP API of Acme, which reports each message to our callback URL, signed with `report_secret`. */
export default function acme({ url, api_key, report_secret, sender, timeout_ms = 15_000 }) {
  const traits = { channels: ['sms'], senders: { sms: [sender] }, idempotent: true }

  async function sendOne({ workspace_id, message_id, sender, recipient, content }, report_url) {
    const message = { from: sender, to: recipient, text: content.text }
    const reference = `${workspace_id} ${message_id}`
    try {
      const response = await fetch(`${url}/messages`, {
        method: 'POST',
        headers: { authorization: `Bearer ${api_key}`, 'idempotency-key': message_id },
        body: JSON.stringify({ ...message, reference, report_url }),
        signal: AbortSignal.timeout(timeout_ms),
      })
      if (!response.ok) return refusal(response.status)
      const { id } = await response.json()
      return { type: 'accepted', provider_message_id: id, lookup_after_ms: null }
    } catch (error) {
      const type = UNSENT.includes(error.cause?.code) ? 'retry' : 'ambiguous'
      return { type, error_code: 'no_answer', error_message: 'Acme did not answer', delay_ms: null }
    }
  }

  function readCallback({ headers, body }) {
    const expected = createHmac('sha256', report_secret).update(body).digest('hex')
    if (!isEqual(headers['x-acme-signature'] ?? '', expected)) return { type: 'forged' }
    // An exception counts as `unreadable`, and so does a report without one of these fields.
    const { reference, id, status } = JSON.parse(Buffer.from(body).toString())
    const [workspace_id, message_id] = reference.split(' ')
    const error =
      status === 'failed'
        ? { error_code: 'undelivered', error_message: 'Acme did not deliver the message' }
        : { error_code: null, error_message: null }
    return {
      type: 'read',
      reports: [
        {
          type: 'receipt',
          about: { workspace_id, message_id },
          provider_message_id: id,
          receipt: { status, provider_message_id: id, ...error },
        },
      ],
    }
  }

  return defineProvider({
    name: 'acme',
    traits,
    send: (jobs, { callback_url }) => jobs.map((job) => sendOne(job, callback_url)),
    readCallback,
  })
}

/** What the statuses of Acme mean for a message. */
function refusal(status) {
  const error_message = `Acme answered with status ${status}`
  const error = { error_code: `http_${status}`, error_message, delay_ms: null }
  if (status === 401) return { type: 'retry', ...error, misconfigured: 'provider' }
  if (status === 429 || status === 503) return { type: 'retry', ...error }
  if (status >= 500) return { type: 'ambiguous', ...error, answered: { delay_ms: null } }
  return { type: 'rejected', ...error }
}

function isEqual(received, expected) {
  const [a, b] = [Buffer.from(received), Buffer.from(expected)]
  return a.length === b.length && timingSafeEqual(a, b)
}
