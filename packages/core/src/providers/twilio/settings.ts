import * as z from 'zod'
import { commonSettings, handlesStop } from '../common-settings.ts'

const MESSAGING_SERVICE = /^MG[0-9a-f]{32}$/i
const E164 = /^\+[1-9]\d{1,14}$/
const SHORT_CODE = /^\d{3,8}$/
const ALPHANUMERIC = /^(?=[^A-Za-z]*[A-Za-z])[A-Za-z0-9 &_+-]{1,11}$/
/** The id of a WhatsApp template at Twilio. */
export const CONTENT_SID = /^HX[0-9a-fA-F]{32}$/
const LOOPBACK = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])$/

function oneOf(forms: readonly RegExp[], message: string) {
  const sender = z.string().refine((text) => forms.some((form) => form.test(text)), message)
  return z.array(sender).min(1).max(1_000)
}

function sid(prefix: string) {
  const form = new RegExp(`^${prefix}[0-9a-fA-F]{32}$`)
  return z.string().regex(form, `must be "${prefix}" and 32 hexadecimal digits`)
}

/** The scheme is https, because every request carries the credentials; http only on loopback addresses, for trials. */
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

/** The settings of an account at Twilio. `senders` lists the senders of each channel. */
export const settings = z
  .strictObject({
    ...commonSettings,
    type: z.literal('twilio'),
    account_sid: sid('AC'),
    /** The primary token. Twilio signs its callbacks with it, even if an API key makes the calls. */
    auth_token: z.string().regex(/^[0-9a-fA-F]{32}$/, 'must be 32 hexadecimal digits'),
    /** The API key that calls the API in place of the auth token. */
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
    /** The ContentSid of each WhatsApp template. The key is `name:language`, or `name` for every language. */
    content_sids: z.record(z.string().min(1), sid('HX')).optional(),
    /**
     * Whether messages with a template that WhatsApp has not approved are refused; default: true, except with the sandbox of Twilio as the only
     * sender of WhatsApp.
     */
    check_approvals: z.boolean().optional(),
    /** Whether Twilio answers STOP, START and HELP; default: true. */
    handles_stop: handlesStop.optional(),
    /** How long a text message may wait at Twilio, in seconds; default: Twilio's 36000. */
    validity_period_s: z.int().min(1).max(36_000).optional(),
    /** How long a phone may ring, in seconds; default: 60. */
    ring_timeout_s: z.int().min(5).max(600).optional(),
    /**
     * How long Twilio's lists may lag behind, in seconds; default: 180. For this time after an unanswered attempt, a message
     * that is not in the list may still exist, and is not sent again.
     */
    list_lag_s: z.int().min(0).max(600).optional(),
    /** The address of the API; default: Twilio's. */
    api_url: apiUrl.optional(),
  })
  .refine(
    ({ api_key_sid, api_key_secret }) =>
      (api_key_sid === undefined) === (api_key_secret === undefined),
    { path: ['api_key_sid'], error: 'api_key_sid and api_key_secret go together' },
  )

export type TwilioSettings = z.output<typeof settings>

/** The number of Twilio's sandbox for WhatsApp, which needs no approved templates. Source: Twilio, WhatsApp, Sandbox. */
const SANDBOX = '+14155238886'

/** Whether the approvals of templates are read. */
export function checksApprovals({
  senders: { whatsapp },
  check_approvals,
}: Pick<TwilioSettings, 'senders' | 'check_approvals'>): boolean {
  if (whatsapp === undefined) return false
  return check_approvals ?? whatsapp.some((sender) => sender !== SANDBOX)
}

/** Whether this sender is a messaging service, which is a pool of numbers. */
export function isMessagingService(sender: string): boolean {
  return MESSAGING_SERVICE.test(sender)
}

/** Whether this is a number in E.164. Every recipient is such a number. */
export function isNumber(address: string): boolean {
  return E164.test(address)
}

/** Whether only this machine can reach the address. */
export function isLoopback(url: string): boolean {
  return LOOPBACK.test(new URL(url).hostname)
}
