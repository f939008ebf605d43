import type { TwilioApi } from './api.ts'
import { codeOf, meaningOf } from './codes.ts'
import { fieldOf } from './outcome.ts'
import type { TwilioSettings } from './settings.ts'

/**
 * Asks for the account, or, with an API key, for one message: the usual keys may not read accounts. Answers what is
 * wrong, or null.
 */
export async function check(api: TwilioApi, settings: TwilioSettings): Promise<string | null> {
  const has_key = settings.api_key_sid !== undefined
  const answer = await api.read(has_key ? '/Messages.json?PageSize=1' : '')
  if (answer.type !== 'answered') return `Twilio: ${answer.text}`
  const { status, json } = answer
  if (status !== 200) {
    const code = codeOf(fieldOf(json, 'code'))
    const text = meaningOf(code)?.text
    return text ? `Twilio: ${text} (${code})` : `Twilio answers HTTP ${status}`
  }
  if (has_key) return Array.isArray(fieldOf(json, 'messages')) ? null : NOT_TWILIO
  if (fieldOf(json, 'sid') !== settings.account_sid) return NOT_TWILIO
  return fieldOf(json, 'status') === 'active' ? null : 'Twilio: The account is not active'
}

const NOT_TWILIO = 'What answers at this address is not Twilio'
