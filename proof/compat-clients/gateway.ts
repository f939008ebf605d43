import { setTimeout as pause } from 'node:timers/promises'
import { openEndpoint } from '../stage/endpoint.ts'

/** A gateway that takes calls and reports each as ended. The sandbox carries no calls. */
export interface Gateway {
  /** The setting `SVC_PROVIDERS` of a service that calls through the gateway. */
  providers: string
  close(): Promise<void>
}

const SENDER = '+14155550190'

/** How often a refused report is repeated: the service may not have stored the answer yet. */
const REPORTS_MAX = 20
const REPORT_WAIT_MS = 200

export async function openGateway(): Promise<Gateway> {
  let taken = 0
  const { url, close } = await openEndpoint((_path, _headers, body) => {
    const { callback } = JSON.parse(body) as { callback: string }
    taken += 1
    const id = String(taken)
    void report(callback, id)
    return { id }
  })
  const gateway = {
    name: 'calls',
    type: 'http',
    channels: ['voice'],
    senders: { voice: [SENDER] },
    idempotent: true,
    send: {
      url: `${url}/calls`,
      body: { to: '{{to}}', text: '{{text}}', callback: '{{callback_url}}' },
    },
    answer: { id: '/id' },
    callback: {
      receipts: {
        provider_message_id: '/id',
        status: '/state',
        statuses: { ENDED: 'delivered' },
      },
    },
  }
  return { providers: JSON.stringify([gateway]), close }
}

async function report(url: string, id: string): Promise<void> {
  const headers = { 'content-type': 'application/json' }
  const body = JSON.stringify({ id, state: 'ENDED' })
  for (let n = 0; n < REPORTS_MAX; n++) {
    await pause(REPORT_WAIT_MS)
    const { ok } = await fetch(url, { method: 'POST', headers, body })
    if (ok) return
  }
  throw new Error('the service refuses the report of a call')
}
