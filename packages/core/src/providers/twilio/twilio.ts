import type {
  Outcome,
  Provider,
  ProviderContext,
  SendJob,
} from '../../contract/outside/provider.ts'
import type { ProviderClientOptions } from '../http-client.ts'
import { createTwilioApi } from './api.ts'
import { readCallback } from './callback.ts'
import { check } from './check.ts'
import { lookUp } from './lookup.ts'
import { outcomeOf } from './outcome.ts'
import { callbackBase, RING_TIMEOUT_S, requestFor } from './request.ts'
import type { TwilioSettings } from './settings.ts'
import { firstPollMs } from './waits.ts'

/** What tests set otherwise: the clock, and the bounds of the HTTP client. */
interface Options extends ProviderClientOptions {
  now?: () => Date
}

/**
 * Messages and calls through Twilio's REST API. Of a batch as many are under way at once as the client has connections;
 * one that gets none in time was not sent, and is told to be tried again.
 *
 * Twilio's own package is not used: it brings about fifty others and retries by itself, where what an answer means must
 * be decided in one place.
 */
export function createTwilio(
  settings: TwilioSettings,
  { callback_url }: ProviderContext,
  { now = () => new Date(), ...http }: Options = {},
): Provider {
  const api = createTwilioApi(settings, http)
  const ring_timeout_s = settings.ring_timeout_s ?? RING_TIMEOUT_S
  const status_callback_base = callbackBase(settings, callback_url)
  const has_callbacks = status_callback_base !== null

  async function sendOne(job: SendJob): Promise<Outcome> {
    const request = requestFor(job, settings, status_callback_base)
    if (request.type === 'refused') return request.outcome
    const answer = await api.create(request.resource, request.form)
    const lookup_after_ms = firstPollMs(job, { has_callbacks, ring_timeout_s })
    return outcomeOf(answer, { now_ms: now().getTime(), lookup_after_ms })
  }

  return {
    name: settings.name,
    send: (jobs) => Promise.all(jobs.map(sendOne)),
    lookup: (jobs) => {
      const taken = new Set<string>()
      return Promise.all(jobs.map((job) => lookUp(job, { api, settings, has_callbacks, taken })))
    },
    readCallback: (request) => readCallback(request, settings),
    check: () => check(api, settings),
    close: () => api.close(),
  }
}
