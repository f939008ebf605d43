import * as z from 'zod'
import { commonSettings, handlesStop } from '../common-settings.ts'

const MESSAGING_SERVICE = /^MG[0-9a-f]{32}$/i
const E164 = /^\+[1-9]\d{1,14}$/
const SHORT_CODE = /^\d{3,8}$/
const ALPHANUMERIC = /^(?=[^A-Za-z]*[A-Za-z])[A-Za-z0-9 &_+-]{1,11}$/
const LOOPBACK = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])$/

function oneOf(forms: readonly RegExp[], message: string) {
  const sender = z.string().refine((text) => forms.some((form) => form.test(text)), message)
  return z.array(sender).min(1).max(1_000)
}

function sid(prefix: string) {
  const form = new RegExp(`^${prefix}[0-9a-fA-F]{32}$`)
  return z.string().regex(form, `must be "${prefix}" and 32 hexadecimal digits`)
}

/** https; http on this machine alone, for trials: the credentials travel in every request. */
const apiUrl = z
  .url({ protocol: /^https?$/ })
  .refine((url) => {
    const { protocol, hostname } = new URL(url)
    return protocol === 'https:' || LOOPBACK.test(hostname)
  }, 'must be https, or http on a loopback address')
  .refine((url) => {
    const { username, password, search, hash } = new URL(url)
    return `${username}${password}${search}${hash}` === ''
  }, 'must have no user name, query or fragment')
  .transform((url) => url.replace(/(?<!\/)\/+$/, ''))

/** What an operator says of an account at Twilio. Who may send on which channel follows from `senders`. */
export const settings = z
  .strictObject({
    ...commonSettings,
    type: z.literal('twilio'),
    account_sid: sid('AC'),
    /** The primary one: Twilio signs its callbacks with it, also where an API key makes the calls. */
    auth_token: z.string().regex(/^[0-9a-fA-F]{32}$/, 'must be 32 hexadecimal digits'),
    /** Calls the API in the auth token's place. */
    api_key_sid: sid('SK').optional(),
    api_key_secret: z.string().min(1).max(128).optional(),
    senders: z
      .strictObject({
        sms: oneOf(
          [E164, SHORT_CODE, ALPHANUMERIC, MESSAGING_SERVICE],
          'must be a number (+…), a short code, a name of 1 to 11 characters or a messaging service (MG…)',
        ).optional(),
        whatsapp: oneOf(
          [E164, MESSAGING_SERVICE],
          'must be a number (+…) or a messaging service (MG…)',
        ).optional(),
        voice: oneOf([E164], 'must be a number (+…)').optional(),
      })
      .refine(
        ({ sms, whatsapp, voice }) => (sms ?? whatsapp ?? voice) !== undefined,
        'must have at least one of: sms, whatsapp, voice',
      ),
    /** Templates of WhatsApp, by `name:language` or by `name` for every language. */
    content_sids: z.record(z.string().min(1), sid('HX')).optional(),
    /** Whether Twilio answers STOP, START and HELP, as it does unless that was switched off; true. */
    handles_stop: handlesStop.optional(),
    /** How long a text message may wait at Twilio, in seconds; Twilio's own ten hours unless told. */
    validity_period_s: z.int().min(1).max(36_000).optional(),
    /** How long a phone may ring, in seconds; 60. */
    ring_timeout_s: z.int().min(5).max(600).optional(),
    /**
     * How long Twilio's lists may lag behind, in seconds; 180. For so long after an unanswered attempt a message that they
     * do not have may still be there, and is not sent again.
     */
    list_lag_s: z.int().min(0).max(600).optional(),
    /** Where the API is; Twilio's own unless told. */
    api_url: apiUrl.optional(),
  })
  .refine(
    ({ api_key_sid, api_key_secret }) =>
      (api_key_sid === undefined) === (api_key_secret === undefined),
    { path: ['api_key_sid'], error: 'api_key_sid and api_key_secret go together' },
  )

/** An account at Twilio, as the operator sets it. */
export type TwilioSettings = z.output<typeof settings>

/** Whether this sender stands for a pool of numbers. */
export function isMessagingService(sender: string): boolean {
  return MESSAGING_SERVICE.test(sender)
}

/** Whether this is a number in E.164, the only kind of recipient there is here. */
export function isNumber(address: string): boolean {
  return E164.test(address)
}

/** Whether nobody but this machine reaches the address. */
export function isLoopback(url: string): boolean {
  return LOOPBACK.test(new URL(url).hostname)
}
