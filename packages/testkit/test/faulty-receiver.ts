import type { IncomingMessage, ServerResponse } from 'node:http'
import { buffer } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import { EVENT_KINDS, EVENTS } from '@svc/core/contract'
import { signHex, verify } from '@svc/core/webhooks'

/** One fault of a receiver. */
export type Fault =
  | 'redirects'
  | 'verifies nothing'
  | 'lets unsigned pass'
  | 'lets empty signatures pass'
  | 'compares prefixes'
  | 'verifies a reserialised body'
  | 'crashes on unsigned'
  | 'reveals the signature'
  | 'reads without a limit'
  | 'refuses 64 KB'
  | 'accepts one content type'
  | 'refuses unknown kinds'
  | 'refuses unknown fields'
  | 'refuses credits.low'
  | 'compares header case'
  | 'requires every header'
  | 'refuses with 400'
  | 'refuses repetitions'
  | 'fails on concurrent repetitions'
  | 'handles repetitions again'
  | 'refuses disorder'
  | 'has no clock'
  | 'ignores the id'
  | 'accepts upper case'
  | 'is slow'
  | 'forgot the previous secret'
  | 'verifies X-Svc-Signature alone'

const EVENT_FIELDS: ReadonlySet<string> = new Set(
  Object.values(EVENTS).flatMap(({ example }) => Object.keys(example)),
)
const isUnknownField = (name: string) => !EVENT_FIELDS.has(name)
const BODY_MAX_BYTES = 1024 * 1024

/** A hand-written receiver that is correct except for its faults; `handled` counts by event. */
export function faultyReceiver(
  faults: readonly Fault[],
  secret: string,
  previous: string | null = null,
) {
  const handled = new Map<string, number>()
  const sequences = new Map<string, number>()
  const busy = new Set<string>()
  const secrets =
    previous && !faults.includes('forgot the previous secret') ? [secret, previous] : [secret]
  const has = (one: Fault) => faults.includes(one)

  async function answer(request: IncomingMessage): Promise<[status: number, text?: string]> {
    const { rawHeaders } = request
    const headers = { ...request.headers }
    const body = await buffer(request)
    if (has('redirects')) return [301]
    if (
      has('compares header case') &&
      !rawHeaders.includes('X-Svc-Signature') &&
      headers['x-svc-signature']
    )
      return [403]
    if (body.length > BODY_MAX_BYTES && !has('reads without a limit')) return [413]
    if (has('refuses 64 KB') && body.length > 32 * 1024) return [413]
    if (has('accepts one content type') && headers['content-type'] !== 'application/json')
      return [415]
    const isVerified = verifies(headers, body)
    if (
      !isVerified &&
      has('crashes on unsigned') &&
      !headers['webhook-signature'] &&
      !headers['x-svc-signature'] &&
      !headers['x-svc-signature-256']
    )
      return [500]
    if (!isVerified) {
      if (has('reveals the signature')) return [403, `expected ${signHex(secret, body)}`]
      return [has('refuses with 400') ? 400 : 403]
    }
    return handle(String(headers['webhook-id']), body)
  }

  function verifies(headers: IncomingMessage['headers'], body: Buffer): boolean {
    if (has('verifies nothing')) return true
    const standard = headers['webhook-signature']
    const hex = headers['x-svc-signature']?.toString()
    const hex256 = headers['x-svc-signature-256']
    if (has('lets unsigned pass') && !standard && !hex && !hex256 && body.length > 10) return true
    if (has('lets empty signatures pass') && (hex === '' || standard === 'v1,')) return true
    if (has('requires every header') && !(standard && hex && hex256)) return false
    if (
      has('compares prefixes') &&
      hex &&
      hex.length > 8 &&
      hex.length < 64 &&
      signHex(secret, body).startsWith(hex)
    )
      return true
    if (has('reads without a limit') && body.length > BODY_MAX_BYTES) return true
    const signed = has('verifies a reserialised body')
      ? JSON.stringify(JSON.parse(`${body}`))
      : body
    if (has('verifies X-Svc-Signature alone')) {
      return hex !== undefined && verify({ secret: secrets, body, signature: hex }).ok
    }
    if (has('accepts upper case') && hex && /[A-F]/.test(hex)) {
      return verify({ secret: secrets, body, signature: hex.toLowerCase() }).ok
    }
    const tolerance_s = has('has no clock') ? false : 300
    if (verify({ secret: secrets, headers, body: signed, tolerance_s }).ok) return true
    return (
      has('ignores the id') &&
      hex !== undefined &&
      isNow(headers['webhook-timestamp']) &&
      verify({ secret: secrets, body, signature: hex }).ok
    )
  }

  async function handle(id: string, body: Buffer): Promise<[number]> {
    const { event, data } = JSON.parse(`${body}`)
    if (has('is slow') && event === 'credits.low') await sleep(5_050)
    if (has('refuses credits.low') && event === 'credits.low') return [404]
    if (has('refuses unknown kinds') && !EVENT_KINDS.includes(event)) return [400]
    if (has('refuses unknown fields') && Object.keys(data).some(isUnknownField)) return [422]
    if (has('fails on concurrent repetitions')) {
      if (busy.has(id)) return [500]
      busy.add(id)
      await sleep(30)
      busy.delete(id)
    }
    const times = handled.get(id) ?? 0
    if (times > 0 && has('refuses repetitions')) return [409]
    const latest = sequences.get(data.message_id) ?? 0
    if (has('refuses disorder') && data.sequence < latest) return [410]
    sequences.set(data.message_id, data.sequence)
    if (times === 0 || has('handles repetitions again')) handled.set(id, times + 1)
    return [200]
  }

  return {
    timesHandled: (event_id: string) => handled.get(event_id) ?? 0,
    listener(request: IncomingMessage, response: ServerResponse): void {
      answer(request).then(
        ([status, text]) =>
          response.writeHead(status, status === 301 ? { location: '/new' } : {}).end(text),
        () => response.writeHead(403).end(),
      )
    },
  }
}

function isNow(seconds: string | string[] | undefined): boolean {
  return Math.abs(Date.now() / 1000 - Number(seconds)) < 300
}
