import * as z from 'zod'
import { phone, text } from '../../contract/fields/fields.ts'
import { LIMITS } from '../../contract/limits.ts'
import { commonSettings, handlesStop } from '../common-settings.ts'

/** Meta supports a version for about two years. Source: Meta, Graph API, Changelog. */
const API_VERSION = 'v25.0'
const API_URL = 'https://graph.facebook.com'
const SENDERS_MAX = 100
const TEMPLATES_MAX = 1000
const ACCOUNTS_MAX = 20

// A value for a header: visible ASCII cannot end the line.
const secretText = (min: number, max: number) =>
  z
    .string()
    .regex(new RegExp(`^[\\x21-\\x7e]{${min},${max}}$`), `must be ${min} to ${max} visible ASCII`)

const phoneNumberId = z.string().regex(/^\d{1,32}$/, 'must be the digits of a phone number ID')

const accountId = z.string().regex(/^\d{1,32}$/, 'must be the digits of a business account ID')

const sender = z.strictObject({ number: phone, phone_number_id: phoneNumberId })

type Sender = z.output<typeof sender>

const senderMap = z
  .record(phone, phoneNumberId)
  .transform((map) =>
    Object.entries(map).map(([number, phone_number_id]) => ({ number, phone_number_id })),
  )

const senders = z
  .union([z.array(sender), senderMap])
  .refine(({ length }) => length >= 1 && length <= SENDERS_MAX, `must have 1 to ${SENDERS_MAX}`)
  .refine((all) => isUnique(all, 'number') && isUnique(all, 'phone_number_id'), {
    error: 'must name every number and every phone number ID once',
  })

function isUnique(all: readonly Sender[], field: keyof Sender): boolean {
  return new Set(all.map((each) => each[field])).size === all.length
}

const template = z.strictObject({
  name: text(LIMITS.whatsapp_template_name_length),
  language: text(LIMITS.language_length),
})

const templates = z
  .record(text(LIMITS.whatsapp_template_name_length), template)
  .refine((map) => Object.keys(map).length <= TEMPLATES_MAX, `must have at most ${TEMPLATES_MAX}`)

const apiUrl = z
  .string()
  .max(LIMITS.url_length)
  .refine(isApiUrl, 'must be https, or http on this machine, without user name, query or fragment')
  .overwrite((url) => url.replace(/(?<!\/)\/+$/, ''))

function isApiUrl(value: string): boolean {
  if (/\s/.test(value) || !URL.canParse(value)) return false
  const { protocol, hostname, username, password, search, hash } = new URL(value)
  if (`${username}${password}${search}${hash}` !== '') return false
  return protocol === 'https:' || (protocol === 'http:' && isLoopback(hostname))
}

function isLoopback(hostname: string): boolean {
  return hostname === 'localhost' || hostname === '[::1]' || /^127(\.\d{1,3}){3}$/.test(hostname)
}

/** The settings for the numbers of one Meta app. Source: Meta, WhatsApp Cloud API. */
export const settings = z.strictObject({
  ...commonSettings,
  type: z.literal('whatsapp_cloud'),
  /** The token of a system user with `whatsapp_business_messaging`. */
  access_token: secretText(1, 1024),
  /** The secret with which Meta signs its callbacks. */
  app_secret: secretText(8, 256),
  /** A token that the operator chooses and enters at Meta with the callback URL. */
  verify_token: secretText(8, 256),
  /** Numbers in E.164 with their IDs at Meta, as a list or a map. The first number is the default sender. */
  senders,
  api_version: z
    .string()
    .regex(/^v\d{1,3}\.\d{1,2}$/, 'must be like v25.0')
    .default(API_VERSION),
  /**
   * The WhatsApp business accounts of the numbers. With it, messages with templates that Meta has not approved are refused; the
   * token then needs `whatsapp_business_management`, too.
   */
  business_account_ids: z
    .array(accountId)
    .min(1)
    .max(ACCOUNTS_MAX)
    .refine((ids) => new Set(ids).size === ids.length, 'must name every account once')
    .optional(),
  /** The templates for `content.template.id`. */
  templates: templates.optional(),
  /** The URL of Meta's API, or of a proxy or a test server. */
  api_url: apiUrl.default(API_URL),
  handles_stop: handlesStop.default(false),
})

/** The parsed settings: `senders` is a list. */
export type WhatsappCloudSettings = z.output<typeof settings>
