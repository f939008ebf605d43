import { createHmac } from 'node:crypto'
import type { CallbackRequest } from '../../../src/contract/outside/provider.ts'
import type { MetaMessage, MetaNumber } from './requests.ts'

/** One `changes[].value` of the field `messages`. */
export type MetaValue = Record<string, unknown>

/** `errors` of a failed status: Meta's title and details may repeat the message. */
export interface StatusOptions {
  code?: number
  /** Leaves out our opaque data, as if the message was sent without it. */
  without_opaque?: boolean
}

const AT = '1750263773'

/** A status in Meta's format. Source: Meta, Cloud API, Status messages webhook. */
export function statusOf(
  message: Pick<MetaMessage, 'wamid' | 'to' | 'opaque'>,
  status: string,
  { code, without_opaque = false }: StatusOptions = {},
): Record<string, unknown> {
  const { wamid, to, opaque } = message
  return {
    id: wamid,
    status,
    timestamp: AT,
    recipient_id: to.replace('+', ''),
    ...(opaque !== null && !without_opaque && { biz_opaque_callback_data: opaque }),
    ...(status === 'sent' && {
      pricing: { billable: true, pricing_model: 'PMP', category: 'utility', type: 'regular' },
    }),
    ...(code !== undefined && { errors: [errorOf(code)] }),
  }
}

function errorOf(code: number): object {
  return {
    code,
    title: 'A title that repeats +14155550100',
    message: 'A message that repeats +14155550100',
    error_data: { details: 'Message failed to send: "the secret contents"' },
    href: 'https://developers.facebook.com/docs/whatsapp/cloud-api/support/error-codes/',
  }
}

/** A message of a person, of any type; `fields` has the member named by the type, and others. */
export function inboundOf(
  from: string,
  type: string,
  fields: Record<string, unknown>,
): Record<string, unknown> {
  const id = `wamid.${Buffer.from(`${from}:${type}`).toString('base64')}`
  return { from: from.replace('+', ''), id, timestamp: AT, type, ...fields }
}

/** The updates of one number. */
export function updatesOf(
  { number, phone_number_id }: MetaNumber,
  updates: { statuses?: readonly object[]; messages?: readonly object[] },
): MetaValue {
  const contacts = updates.messages && {
    contacts: [{ profile: { name: 'Zoë 🙂' }, wa_id: '14155550100', user_id: 'US.1234567890' }],
  }
  return {
    messaging_product: 'whatsapp',
    metadata: { display_phone_number: number.slice(1), phone_number_id },
    ...contacts,
    ...updates,
  }
}

/** The body of one callback: an entry with one change for each value. */
export function notificationOf(...values: MetaValue[]): object {
  return {
    object: 'whatsapp_business_account',
    entry: values.map((value) => ({
      id: '102290129340398',
      changes: [{ value, field: 'messages' }],
    })),
  }
}

/** JSON in Meta's form: ASCII only, with escaped slashes, so that JSON.stringify gives other bytes. */
export function metaJson(value: unknown): string {
  return JSON.stringify(value)
    .replaceAll('/', '\\/')
    .replace(/[\u007f-\uffff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
}

/** The URL of callbacks: `<SVC_PUBLIC_URL>/callbacks/<name>`. */
export const CALLBACK_URL = 'https://svc.test/callbacks/wa'

/** A callback signed with the app's secret; `body` replaces the bytes of the notification. */
export function signedCallback(
  app_secret: string,
  notification: unknown,
  { body = Buffer.from(metaJson(notification)) }: { body?: Uint8Array } = {},
): CallbackRequest {
  const digest = createHmac('sha256', app_secret).update(body).digest('hex')
  return {
    method: 'POST',
    url: CALLBACK_URL,
    headers: {
      'content-type': 'application/json',
      'user-agent': 'facebookexternalua',
      'x-hub-signature-256': `sha256=${digest}`,
    },
    body,
  }
}

/** The request with which Meta verifies a URL. */
export function verificationCall(
  verify_token: string,
  { challenge = '1158201444', mode = 'subscribe' }: { challenge?: string; mode?: string } = {},
): CallbackRequest {
  const query = new URLSearchParams({
    'hub.mode': mode,
    'hub.challenge': challenge,
    'hub.verify_token': verify_token,
  })
  const url = `${CALLBACK_URL}?${query}`
  return { method: 'GET', url, headers: {}, body: new Uint8Array() }
}
