import { setTimeout as pause } from 'node:timers/promises'
import { openEndpoint } from '../stage/endpoint.ts'

/** A gateway for e-mails that recognises repetitions, and reports each message as the sandbox does. */
export interface Carrier {
  /** The setting `SVC_PROVIDERS` of a service that sends its e-mails there. */
  providers: string
  /** The number of requests for each message. */
  calls: ReadonlyMap<string, number>
  close(): Promise<void>
}

const REPORT_WAIT_MS = 200
const REPORT_MAX_MS = 20_000

/** The word of the gateway for an address, and the reason. */
const FATES: Readonly<Record<string, { status: string; code?: string }>> = {
  'invalid@sandbox.svc': { status: 'refused', code: 'invalid_recipient' },
  'bounced@sandbox.svc': { status: 'lost', code: 'bounced' },
}
const ARRIVED = { status: 'arrived' }

export async function openCarrier(): Promise<Carrier> {
  const calls = new Map<string, number>()
  const closing = new AbortController()
  const { url, close } = await openEndpoint((_path, _headers, body) => {
    const { id, to, callback } = JSON.parse(body) as Record<'id' | 'to' | 'callback', string>
    const times = (calls.get(id) ?? 0) + 1
    calls.set(id, times)
    const fate = FATES[to] ?? ARRIVED
    if (fate.status === 'refused') return fate
    if (times === 1) void report(callback, fate, closing.signal)
    return { status: 'taken' }
  })
  const provider = {
    name: 'carrier',
    type: 'http',
    channels: ['email'],
    idempotent: true,
    send: {
      url,
      body: {
        id: '{{message_id}}',
        to: '{{to}}',
        text: '{{text}}',
        callback: '{{callback_url}}',
      },
    },
    answer: {
      status: '/status',
      statuses: { taken: 'accepted', refused: 'rejected' },
      error_code: '/code',
    },
    callback: {
      receipts: {
        status: '/status',
        statuses: { arrived: 'delivered', lost: 'failed' },
        error_code: '/code',
      },
    },
  }
  return {
    providers: JSON.stringify([provider]),
    calls,
    close() {
      closing.abort()
      return close()
    },
  }
}

/** Reports until the service takes the report. */
async function report(url: string, fate: object, closing: AbortSignal): Promise<void> {
  const headers = { 'content-type': 'application/json' }
  while (!closing.aborted) {
    const signal = AbortSignal.any([closing, AbortSignal.timeout(REPORT_MAX_MS)])
    const request = { method: 'POST', headers, body: JSON.stringify(fate), signal }
    const isTaken = await fetch(url, request).then(
      ({ ok }) => ok,
      () => false,
    )
    if (isTaken) return
    await pause(REPORT_WAIT_MS)
  }
}
