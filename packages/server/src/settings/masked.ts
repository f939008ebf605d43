import type { Setting } from './table.ts'
import { itemsOf } from './variables.ts'

const MASK = '***'

/** The number of characters of a key that are shown. It is enough to distinguish keys. */
const KEY_SHOWN = 8
const KEY_LENGTH_MIN = 24

/** The start of a key. It does not reveal the key. */
export function maskedKey(key: string): string {
  return key.length < KEY_LENGTH_MIN ? MASK : `${key.slice(0, KEY_SHOWN)}…`
}

/** The value of a setting, with secrets masked. */
export function maskedText(setting: Setting, text: string): string {
  const { is_secret, kind, type } = setting
  if (!is_secret) return text
  if (type === 'postgres_list') {
    return itemsOf(text)
      .map((one) => maskedText({ ...setting, type: 'postgres' }, one))
      .join(',')
  }
  if (kind === 'database' && text.startsWith('file:')) return text
  if (kind === 'json_or_path') return /^[[{"]/.test(text) ? namesOf(text) : text
  const url = /^[a-z]+:\/\//.test(text) && URL.canParse(text) ? new URL(text) : null
  if (!url?.hostname) return MASK
  if (url.password !== '') url.password = MASK
  url.hash = ''
  // A query can contain a password too.
  if (url.search !== '') url.search = MASK
  return url.href
}

/** Whether the value of a setting contains a secret. */
export function holdsSecret(setting: Setting, text: string): boolean {
  if (text === '') return false
  if (setting.kind === 'json_or_path') return hasSecretMember(text) || PASSWORD_IN_URL.test(text)
  return maskedText(setting, text) !== text
}

const TEXT_MEMBER = /"([^"]*)"\s*:\s*"([^"]*)"/g
const SECRET_NAME = /secret|token|password|key|auth/i

/** Whether a member with the name of a secret contains a text that is not a reference to a variable. */
function hasSecretMember(json: string): boolean {
  return [...json.matchAll(TEXT_MEMBER)].some(
    ([, name = '', value = '']) =>
      SECRET_NAME.test(name) && value !== '' && !value.startsWith('${'),
  )
}

const PASSWORD_IN_URL = /"[a-z]+:\/\/[^"/@:]*:(?!\$\{)[^"/@]+@/i

function namesOf(json: string): string {
  try {
    const providers = JSON.parse(json) as { name?: unknown; type?: unknown }[]
    return JSON.stringify(providers.map(({ name, type }) => ({ name, type })))
  } catch {
    return MASK
  }
}
