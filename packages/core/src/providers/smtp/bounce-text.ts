import type { Email } from 'postal-mime'
import { emailAddress } from '../../contract/fields/email-address.ts'
import {
  type Action,
  causeIn,
  type EnhancedStatus,
  type RecipientStatus,
} from './recipient-status.ts'

/** The text before the returned mail is short; a person's server may add a long explanation. */
const TEXT_LENGTH_MAX = 32 * 1024
const RECIPIENTS_MAX = 99

/** The names under which mail servers write. */
const SERVER =
  /\bmailer[ -]?daemon\b|\bpost[_-]?master\b|\bmail[ .]?deliver|\bmail (?:system|administrator)\b|\bsystem administrator\b|\bNDR administrator\b/i

const FAILED =
  /undeliver|undelivery|not (?:be )?(?:delivered|sent)|failure notice|return(?:ed|ing) (?:mail|message|to sender)|(?:delivery|mail|message) (?:has |was )?fail|failed permanently|fail(?:ed|ure) (?:to )?deliver|delivery (?:error|problem)|(?:could|can|was|were|did) ?(?:not|n.t) (?:be )?(?:deliver|reach|sen[dt]|found)|unable to deliver|error sending/i

/** A report about a mail that the server still tries to deliver. */
const DELAYED =
  /\bdelay(?:ed)?\b|\bwarning\b|still (?:being )?(?:retried|trying|undelivered)|do not need to resend|will (?:be retried|keep trying|be tried again)/i

const DELIVERED = /\bsuccess(?:ful)?\b|has been delivered|delivery confirmation|\brelayed\b/i

/** An answer of a person or a program, also one that forwards or quotes a report. */
const ANSWER = /^\s*(?:re|aw|sv|antw|fwd?|wg|tr|rv|auto(?:matic)?[ -]?(?:reply|response))\s*:/i

const ANSWER_FIELDS = ['in-reply-to', 'x-auto-response-suppress', 'x-autoreply', 'x-autorespond']

/** A status in the words of a server: `550 5.1.1 …`, `550-5.1.1`, `(#5.1.1)`, `Status: 5.1.1`. Not a version or an address. */
const STATUS = /(?:\b[45]\d\d[ -]|[#(:'"])\s?['"(#<]{0,2}([245])\.(\d{1,3})\.(\d{1,3})(?!\.?\d)/g
/** A reply (RFC 5321), or a word for a fault. */
const FAULT =
  /(?:^|[\s:'"(])[45]\d\d[ -]|\b(?:fail(?:ed|ure)|errors?|aborted|rejected|expired|returned)\b/i

/** The beginning of a returned mail without a part of its own: a field that only mails have. */
const RETURNED = /^[> \t]{0,20}(?:received|return-path|dkim-signature|message-id|mime-version):/im

/** All statuses in a server's text, in their order. */
export function statusesIn(text: string): EnhancedStatus[] {
  return [...text.matchAll(STATUS)].map(([, kind, subject, detail]) => [
    Number(kind),
    Number(subject),
    Number(detail),
  ])
}

/**
 * Whether a server wrote the mail because it returns another one, and no person or program as an answer. The mail must come to
 * the address of one message, which is its proof.
 */
export function isOfServer(mail: Email): boolean {
  const type = fieldOf(mail, 'content-type')
  if (/disposition-notification/i.test(type)) return false
  if (fieldOf(mail, 'x-failed-recipients') !== '') return true
  if (SERVER.test(`${fieldOf(mail, 'from')} ${fieldOf(mail, 'sender')}`)) return true
  if (/\breport-type="?delivery-status/i.test(type)) return true
  const subject = mail.subject ?? ''
  if (ANSWER.test(subject)) return false
  const words = wordsOf(mail)
  // The answer of a person who is away repeats our subject, which may be about a delivery that failed.
  if (isAutomaticAnswer(mail) && statusesIn(words).length === 0) return false
  return FAILED.test(subject) || (hasReturned(mail) && FAILED.test(words))
}

/** Whether a program answers our mail for its recipient. Sources: RFC 3834, section 3.1; the fields of well-known programs. */
function isAutomaticAnswer(mail: Email): boolean {
  const submitted = fieldOf(mail, 'auto-submitted')
  if (submitted !== '' && !/^\s*no\b/i.test(submitted)) return true
  if (/\bauto_?reply\b/i.test(fieldOf(mail, 'precedence'))) return true
  return ANSWER_FIELDS.some((name) => fieldOf(mail, name) !== '')
}

/**
 * The recipients of a server's mail that has only words: of qmail, Exim, old Exchange and many others. Null if it says of no
 * mail that it was not delivered. A text about several recipients without a paragraph for each gives no status, because it
 * does not say whose it is.
 */
export function textBounceOf(mail: Email): RecipientStatus[] | null {
  const text = wordsOf(mail)
  const listed = addressesOf(fieldOf(mail, 'x-failed-recipients'))
  const statuses = sorted(statusesIn(text))
  const isCertain = statuses.length > 0 || listed.length > 0 || hasReturned(mail)
  const action = actionOf(mail.subject ?? '', text, isCertain)
  if (action === null) return null
  const named = paragraphsOf(text, action)
  if (named.length > 0) return named.slice(0, RECIPIENTS_MAX)
  const all = listed.length > 0 ? listed : onlyAddressIn(text)
  if (all.length > 1) {
    return all.map((one) => ({ action, statuses: [], cause: null, addresses: [one] }))
  }
  return [{ action, statuses, cause: causeIn(text), addresses: all }]
}

/** Null if nothing in a server's mail says that a mail was not delivered. */
function actionOf(subject: string, text: string, isCertain: boolean): Action | null {
  const isFailed = FAILED.test(subject)
  if (DELIVERED.test(subject) && !isFailed) return 'relayed'
  if (DELAYED.test(subject) || (!isFailed && DELAYED.test(text))) return 'delayed'
  return isFailed || isCertain || FAULT.test(text) || FAILED.test(text) ? 'failed' : null
}

function hasReturned({ attachments }: Email): boolean {
  return attachments.some(({ mimeType }) => /^(?:message|text)\/(?:rfc822|global)/.test(mimeType))
}

/** The text for people before the returned mail. */
function wordsOf({ text, html }: Email): string {
  const words = (text || html?.slice(0, 2 * TEXT_LENGTH_MAX).replace(/<[^<>]*>/g, ' ') || '').slice(
    0,
    TEXT_LENGTH_MAX,
  )
  const end = words.search(RETURNED)
  return end < 0 ? words : words.slice(0, end)
}

/** The paragraphs `<address>:` with the words about this recipient. Source: D. J. Bernstein, QSBMF. */
function paragraphsOf(text: string, action: Action): RecipientStatus[] {
  return text.split(/\n[ \t\r]*\n/).flatMap((paragraph) => {
    const [line = ''] = paragraph.trimStart().split('\n', 1)
    const end = line.indexOf('>')
    const address = line.slice(1, end)
    const isNamed =
      line.startsWith('<') && line.includes(':', end) && emailAddress(address) !== null
    if (!isNamed) return []
    const words = paragraph.slice(paragraph.indexOf(':') + 1)
    const statuses = sorted(statusesIn(words))
    return [{ action, statuses, cause: causeIn(words), addresses: [address] }]
  })
}

/** The status of a permanent failure that says most is the first. */
function sorted(statuses: EnhancedStatus[]): EnhancedStatus[] {
  return statuses.toSorted((a, b) => weight(b) - weight(a))
}

/** How much a status says: more than a general 5.0.0, or 5.1.0. RFC 3463, section 3.1. */
export function weight([, subject, detail]: EnhancedStatus): number {
  if (subject === 0) return 0
  return detail === 0 ? 1 : 2
}

function onlyAddressIn(text: string): string[] {
  const found = text.split(/[\s<>()[\]:;,"']+/).filter((one) => one.includes('@'))
  const all = new Set(found.map((one) => one.toLowerCase()).filter((one) => !SERVER.test(one)))
  return all.size === 1 ? [...all] : []
}

function addressesOf(field: string): string[] {
  return field
    .split(/[\s,]+/)
    .filter((one) => one.includes('@'))
    .slice(0, RECIPIENTS_MAX)
}

function fieldOf({ headers }: Email, name: string): string {
  return headers.find(({ key }) => key === name)?.value ?? ''
}
