import type {
  Outcome,
  Provider,
  ProviderContext,
  SendJob,
} from '../../contract/outside/provider.ts'
import { createProviderClient, type ProviderClientOptions } from '../http-client.ts'
import { readCallback } from './callback.ts'
import type { TwilioClient } from './client.ts'
import { lookUp } from './lookup.ts'
import { acceptedAs, outcomeOf, problemOf } from './outcome.ts'
import { callbackBase, RING_TIMEOUT_S, requestFor } from './request.ts'
import type { TwilioSettings } from './settings.ts'
import { firstPollMs } from './waits.ts'

/** Options for tests: the clock, and the limits of the HTTP client. */
interface Options extends ProviderClientOptions {
  now?: () => Date
}

/** A full page of long texts is larger than other answers. */
const BODY_MAX = 4 * 1024 * 1024

/**
 * Messages and calls through Twilio's REST API, with Twilio's own package. The number of calls in flight is at most
 * the number of connections of the HTTP client. A call that gets no connection in time was not sent and is a `retry`.
 */
export function createTwilio(
  settings: TwilioSettings,
  { callback_url, may_start, note_call }: ProviderContext,
  { now = () => new Date(), ...options }: Options = {},
): Provider {
  const http = createProviderClient({
    body_max: BODY_MAX,
    may_start,
    on_call: note_call,
    ...options,
  })
  const ring_timeout_s = settings.ring_timeout_s ?? RING_TIMEOUT_S
  const status_callback_base = callbackBase(settings, callback_url)
  const has_callbacks = status_callback_base !== null

  let opened: TwilioClient | undefined

  /** Loads the package on the first call: neither the start nor the thread that reads callbacks needs it. */
  async function open(): Promise<TwilioClient> {
    const { createTwilioClient } = await import('./client.ts')
    opened ??= createTwilioClient(settings, http)
    return opened
  }

  async function sendOne(job: SendJob): Promise<Outcome> {
    const request = requestFor(job, settings, status_callback_base)
    if (request.type === 'refused') return request.outcome
    const client = await open()
    try {
      const { sid } =
        request.type === 'call'
          ? await client.calls.create(request.params)
          : await client.messages.create(request.params)
      return acceptedAs(sid, firstPollMs(job, { has_callbacks, ring_timeout_s }))
    } catch (error) {
      return outcomeOf(error, now().getTime())
    }
  }

  return {
    name: settings.name,
    send: (jobs) => Promise.all(jobs.map(sendOne)),
    async lookup(jobs) {
      const tools = { client: await open(), settings, has_callbacks, taken: new Set<string>() }
      return Promise.all(jobs.map((job) => lookUp(job, tools)))
    },
    readCallback: (request) => readCallback(request, settings),
    async check() {
      const client = await open()
      try {
        // Standard API keys have no permission to read accounts.
        if (settings.api_key_sid !== undefined) {
          await client.messages.page({ pageSize: 1 })
          return null
        }
        const { sid, status } = await client.api.accounts(settings.account_sid).fetch()
        if (sid !== settings.account_sid) return problemOf(null)
        return status === 'active' ? null : 'Twilio: The account is not active'
      } catch (error) {
        return problemOf(error)
      }
    },
    close: () => http.close(),
  }
}
