import type { CallbackRequest } from '@svc/core'
import { readProvider } from '@svc/core/operate'
import { jsonSettings, signedJson } from '../../../core/test/providers/http/gateway.ts'
import {
  answer,
  type HttpPlay,
  idOf,
  openHttpPeer,
  type PeerRequest,
  taken,
} from '../../../core/test/providers/http-peer.ts'
import type { Peer } from './carriage.contract.ts'
import { newNumber } from './service.ts'

const STATES = { sent: 'ON_ITS_WAY', delivered: 'DONE', failed: 'FAILED' } as const

/** Enough for a busy machine. */
const DEADLINE_S = 10

interface Fields {
  to?: string
  ref?: string
}

/** A gateway with an HTTP API, as the only provider of a service. */
export async function openGateway(more: object = {}) {
  const gateway = await openHttpPeer()
  const base = jsonSettings(gateway.url)
  const statuses = { DONE: 'delivered', FAILED: 'failed', ON_ITS_WAY: 'sent' }
  const receipts = { ...base.callback.receipts, statuses }
  const callback = { ...base.callback, receipts }
  const json = { ...base, callback, deadline_s: DEADLINE_S, ...more }
  const settings = readProvider(json)
  const plays = new Map<string, HttpPlay>()

  const sends = (to: string) =>
    gateway.requests.filter((request) => request.method === 'POST' && fieldsOf(request).to === to)

  const plain: HttpPlay = (request, socket) => {
    const play =
      request.method === 'POST'
        ? (plays.get(fieldsOf(request).to ?? '') ?? taken)
        : lookedUp(new URL(request.path, gateway.url).searchParams.get('ref'))
    play(request, socket)
  }
  gateway.otherwise(plain)

  function lookedUp(ref: string | null): HttpPlay {
    const had = gateway.requests.find(
      (request) => request.method === 'POST' && request.accepted && fieldsOf(request).ref === ref,
    )
    return had ? answer(200, { id: idOf(had), state: 'ON_ITS_WAY' }) : answer(404)
  }

  function receiptOf(to: string, status: keyof typeof STATES): CallbackRequest {
    const request = sends(to).findLast(({ accepted }) => accepted)
    if (!request) throw new Error('the gateway accepted no message for this recipient')
    const { ref } = fieldsOf(request)
    return signedJson({ ref, id: idOf(request), state: STATES[status], reason: 'Not reached' })
  }

  return {
    gateway,
    settings,
    sends,
    /** Its default behaviour. */
    plain,
    callback: receiptOf,
    /** Sets the behaviour for a recipient. */
    plays: (to: string, play: HttpPlay) => void plays.set(to, play),
    secrets: ['canary-api-token', 'canary-hmac-secret'],
    recipient(refused?: 'refused') {
      const to = newNumber()
      if (refused) plays.set(to, answer(400, { error: { code: 'E_TO', message: `No ${to}` } }))
      return to
    },
    taken: (to: string) => sends(to).filter(({ accepted }) => accepted).length,
    async report(to, status, service) {
      const { status: code } = await service.called(receiptOf(to, status))
      if (code !== 200) throw new Error(`the callback was answered ${code}`)
    },
    close: gateway.close,
  } satisfies Peer & Record<string, unknown>
}

function fieldsOf({ body }: PeerRequest): Fields {
  return body === '' ? {} : JSON.parse(body)
}
