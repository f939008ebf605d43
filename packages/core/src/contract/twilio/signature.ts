import { createHmac } from 'node:crypto'

/** The header of a request's signature. */
export const TWILIO_SIGNATURE_HEADER = 'x-twilio-signature'

/**
 * Twilio's signature of a POST with a form: base64 of HMAC-SHA1 over the URL, followed by each field's name and value,
 * sorted by name. The URL is signed in its normal form, which is the form of the request that the receiver gets.
 * Source: https://www.twilio.com/docs/usage/webhooks/webhooks-security
 */
export function signTwilio(
  authToken: string,
  url: string,
  form: Readonly<Record<string, string>>,
): string {
  const names = Object.keys(form).sort()
  const signed = names.reduce((text, name) => text + name + form[name], new URL(url).href)
  return createHmac('sha1', authToken).update(signed, 'utf8').digest('base64')
}
