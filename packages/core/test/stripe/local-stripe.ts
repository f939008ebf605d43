import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import Stripe from 'stripe'
import type { Notification } from '../../src/billing/payment.ts'
import { type Account, createAccount } from './account.ts'
import { type ApiAnswer, type ApiRequest, createApi } from './api.ts'
import type { Event } from './objects.ts'

/** The fault of a call: another answer, or a connection that breaks before or after the call is performed. */
export type Fault = { status: number; code?: string } | 'drop_before' | 'drop_after'

/** A simulated Stripe with the state of the real one. */
export interface LocalStripe extends Account {
  secret_key: string
  webhook_secret: string
  /** All calls, including those with faults. */
  calls: ApiRequest[]
  /** The faults of the next calls, one each. */
  fail(...faults: (Fault | null)[]): void
  /** The fault of every call without a fault from `fail`. */
  faultOf: (call: ApiRequest) => Fault | null
  /** Whether the account has enough money for a refund. Default: true. */
  mayRefund: () => boolean
  /** The event as it is sent to our endpoint, signed now or at `at`, by this secret or another. */
  sign(event: Event, options?: { at?: Date; secret?: string }): Notification
  /** The delay of a call and of its answer without a network. Default: a turn of the event loop. */
  travel: () => Promise<void>
  /** An HTTP client that calls this API without a network. */
  transport: InstanceType<typeof Stripe.HttpClient>
  /** Serves the API on this machine and returns its address, for `api_url`. */
  listen(): Promise<string>
  close(): Promise<void>
}

export interface LocalStripeOptions {
  now: () => Date
  livemode?: boolean
  name?: string
  secret_key?: string
  webhook_secret?: string
}

/** A simulated Stripe with empty books. */
export function createLocalStripe(options: LocalStripeOptions): LocalStripe {
  const { livemode = false } = options
  const secret_key = options.secret_key ?? (livemode ? 'sk_live_local' : 'sk_test_local')
  const webhook_secret = options.webhook_secret ?? 'whsec_local'
  const account = createAccount(options)
  const api = createApi(account, secret_key, () => local.mayRefund())
  const faults: (Fault | null)[] = []

  /** Null if the connection breaks. */
  function call(request: ApiRequest): ApiAnswer | null {
    local.calls.push(request)
    const fault = faults.length > 0 ? (faults.shift() ?? null) : local.faultOf(request)
    if (fault === 'drop_before') return null
    if (fault === null) return api(request)
    if (fault === 'drop_after') {
      api(request)
      return null
    }
    const { status, code } = fault
    return {
      status,
      body: { error: { type: typeOf(status), message: 'a fault of the test', code } },
    }
  }

  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const { method = '', url: path = '', headers } = request
      const answer = call({ method, path, headers, body: Buffer.concat(chunks).toString('utf8') })
      if (!answer) return request.socket.destroy()
      response.writeHead(answer.status, {
        'content-type': 'application/json',
        'request-id': 'req_local',
      })
      response.end(JSON.stringify(answer.body))
    })
  })

  const local: LocalStripe = {
    ...account,
    secret_key,
    webhook_secret,
    calls: [],
    fail: (...more) => {
      faults.push(...more)
    },
    faultOf: () => null,
    mayRefund: () => true,
    travel: () => new Promise((resolve) => setImmediate(resolve)),
    sign(event, { at = options.now(), secret = webhook_secret } = {}) {
      const payload = JSON.stringify(event, null, 2)
      const timestamp = Math.floor(at.getTime() / 1000)
      const signature = Stripe.webhooks.generateTestHeaderString({ payload, secret, timestamp })
      return { body: Buffer.from(payload), signature }
    },
    transport: transportOf(call, () => local.travel()),
    async listen() {
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
      return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    },
    async close() {
      if (!server.listening) return
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
  return local
}

function transportOf(
  call: (request: ApiRequest) => ApiAnswer | null,
  travel: () => Promise<void>,
): LocalStripe['transport'] {
  class InProcess extends Stripe.HttpClient {
    override getClientName() {
      return 'local'
    }
    override async makeRequest(
      ...request: Parameters<InstanceType<typeof Stripe.HttpClient>['makeRequest']>
    ) {
      const [, , path, method, headers, body] = request
      await travel()
      const answer = call({ method, path, headers: lowerCased(headers), body: body ?? '' })
      await travel()
      if (!answer) throw Object.assign(new Error('the connection broke'), { code: 'ECONNRESET' })
      return new Answered(answer)
    }
  }
  return new InProcess()
}

class Answered extends Stripe.HttpClientResponse {
  readonly answer: ApiAnswer
  constructor(answer: ApiAnswer) {
    super(answer.status, { 'request-id': 'req_local' })
    this.answer = answer
  }
  override getRawResponse() {
    return this.answer
  }
  override async toJSON() {
    return this.answer.body
  }
}

function lowerCased(headers: object): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]),
  )
}

function typeOf(status: number): string {
  if (status === 402) return 'card_error'
  return status >= 500 ? 'api_error' : 'invalid_request_error'
}
