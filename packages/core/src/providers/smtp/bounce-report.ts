import PostalMime, { type Attachment, type Email } from 'postal-mime'
import { emailAddress } from '../../contract/fields/email-address.ts'
import { isOfServer, statusesIn, textBounceOf, weight } from './bounce-text.ts'
import { headFault } from './mail-head.ts'
import {
  type Action,
  causeIn,
  type EnhancedStatus,
  type RecipientStatus,
} from './recipient-status.ts'

/** A report in a mail. A `delivery_status` may also come from a server's own words. `evidence` is the text that may prove which message it is about. */
export type MailReport =
  | { type: 'delivery_status'; recipients: RecipientStatus[]; evidence: string }
  | { type: 'feedback'; feedback_type: string; addresses: string[]; evidence: string }

/**
 * Reports are at the start of a mail, so only this part is read. The parser needs 12 to 25 microseconds for each line of
 * any length: 3,000 lines kept the event loop busy for 39 ms. A report after more lines is found in the text.
 */
export const REPORT_BYTES_READ = 256 * 1024
const LINES_READ = 1_000
const HEADER_BYTES_MAX = 64 * 1024
const NESTING_MAX = 8
const EVIDENCE_LENGTH_MAX = 32 * 1024

const GROUPS_MAX = 100
const FIELDS_MAX = 64
const VALUE_LENGTH_MAX = 2_000
const TEXT_LENGTH_MAX = 64 * 1024

/** Fields by their lower-case names. If a name is repeated, its first field counts. */
type Fields = ReadonlyMap<string, string>

const ACTIONS: readonly string[] = ['failed', 'delayed', 'delivered', 'relayed', 'expanded']

/** The types of RFC 3464, and of RFC 6533 for international addresses. */
const STATUS_TYPES = ['message/delivery-status', 'message/global-delivery-status']
const FEEDBACK_TYPE = 'message/feedback-report'
const RETURNED_TYPES = [
  'message/rfc822',
  'message/rfc822-headers',
  'text/rfc822-headers',
  'message/global',
  'message/global-headers',
]

/**
 * Reads a delivery status notification (RFC 3464), a feedback report (RFC 5965), or a mail that a server returns in its own
 * words; null for any other mail, such as an answer by a person or a machine (`Auto-Submitted: auto-replied`). Accepts any
 * bytes and never throws. It does not check the sender or the truth of the report.
 */
export async function readMailReport(raw: Uint8Array): Promise<MailReport | null> {
  const mail = await parsed(beginningOf(raw))
  if (mail === null) return null
  const parts = mail.attachments
  const returned = parts.find(({ mimeType }) => RETURNED_TYPES.includes(mimeType))
  const returnedText = returned ? textOf(returned).slice(0, EVIDENCE_LENGTH_MAX) : ''
  const feedback = parts.find(({ mimeType }) => mimeType === FEEDBACK_TYPE)
  if (feedback) return feedbackOf(readFieldGroups(textOf(feedback)), returnedText)
  const status = parts.find(({ mimeType }) => STATUS_TYPES.includes(mimeType))
  const report = status ? deliveryStatusOf(readFieldGroups(textOf(status))) : null
  if (report) return report
  if (!isOfServer(mail)) return null
  const fields = looseFields(raw)
  const loose = fields === null ? null : deliveryStatusOf(readFieldGroups(fields))
  if (loose) return loose
  const recipients = textBounceOf(mail)
  return recipients && { type: 'delivery_status', recipients, evidence: '' }
}

function feedbackOf(groups: Fields[], returned: string): MailReport | null {
  const kind = groups[0]?.get('feedback-type')?.toLowerCase()
  if (kind === undefined) return null
  const from = groups[0]?.get('original-mail-from') ?? ''
  const addresses = addressesIn(groups[0]?.get('original-rcpt-to'))
  return { type: 'feedback', feedback_type: kind, addresses, evidence: `${from}\n${returned}` }
}

function deliveryStatusOf(groups: Fields[]): MailReport | null {
  const recipients = groups.flatMap((fields) => recipientStatusOf(fields) ?? [])
  if (recipients.length === 0) return null
  const id = groups.find((fields) => fields.has('original-envelope-id'))
  return { type: 'delivery_status', recipients, evidence: id?.get('original-envelope-id') ?? '' }
}

/** Returns null for the group of fields about the whole mail. */
function recipientStatusOf(fields: Fields): RecipientStatus | null {
  const own = statusIn(fields.get('status'))
  const action = actionOf(fields, own)
  if (action === null) return null
  // The type of the code comes first: `smtp; 550 5.1.1 …`
  const diagnostic = fields.get('diagnostic-code')?.replace(/^[\w-]+\s*;\s*/, '') ?? ''
  return {
    action,
    statuses: statusesOf(own, diagnostic),
    cause: causeIn(diagnostic),
    addresses: ['final-recipient', 'original-recipient'].flatMap((name) =>
      addressesIn(fields.get(name)),
    ),
  }
}

/** Servers also write actions that RFC 3464 does not have. For a recipient without a known action its status counts. */
function actionOf(fields: Fields, status: EnhancedStatus | null): Action | null {
  // A comment may follow: `failed (expired)`.
  const action = /^[a-z]+/.exec(fields.get('action')?.toLowerCase() ?? '')?.[0] ?? ''
  if (ACTIONS.includes(action)) return action as Action
  if (action === 'expired') return 'failed'
  const isRecipient = fields.has('final-recipient') || fields.has('original-recipient')
  if (!isRecipient || status === null) return null
  const [kind] = status
  if (kind === 5) return 'failed'
  return kind === 4 ? 'delayed' : 'relayed'
}

/** The address of a field, without the type of its form: `rfc822; user@example.com`. */
function addressesIn(field: string | undefined): string[] {
  const text =
    field
      ?.replace(/^[\w-]+\s*;/, '')
      .trim()
      .replace(/^<(.*)>$/, '$1') ?? ''
  return emailAddress(text) === null ? [] : [text]
}

/**
 * The statuses of a recipient. What the refusing server itself answered counts before the status of the server that reports
 * (RFC 3464, section 2.3.6), if both are of one class, and a status with a meaning counts before a general one: many reports
 * have 5.0.0 (RFC 3463, section 3.1). An answer of another class comes last: it only makes the report less certain.
 */
function statusesOf(own: EnhancedStatus | null, diagnostic: string): EnhancedStatus[] {
  const first = statusIn(diagnostic)
  const answered = [...statusesIn(diagnostic), ...(first ? [first] : [])]
  if (answered.length === 0 && /^\s*4\d\d\b/.test(diagnostic)) answered.push([4, 0, 0])
  const [kind] = own ?? answered[0] ?? []
  const all = own ? [...answered, own] : answered
  const isOther = (one: EnhancedStatus) => Number(one[0] !== kind)
  return all.toSorted((a, b) => isOther(a) - isOther(b) || weight(b) - weight(a))
}

function statusIn(text = ''): EnhancedStatus | null {
  const found = /^\s*#?([245])\.(\d{1,3})\.(\d{1,3})(?!\d)/.exec(text)
  return found ? [Number(found[1]), Number(found[2]), Number(found[3])] : null
}

async function parsed(raw: Uint8Array): Promise<Email | null> {
  // Its addresses are not used, but the library parses them.
  if (headFault(raw, HEADER_BYTES_MAX) !== null) return null
  try {
    return await PostalMime.parse(raw, {
      // A returned mail is only evidence. A report inside a returned mail does not count.
      forceRfc822Attachments: true,
      maxNestingDepth: NESTING_MAX,
      maxHeadersSize: HEADER_BYTES_MAX,
    })
  } catch {
    return null
  }
}

function textOf({ content }: Attachment): string {
  return typeof content === 'string' ? content : new TextDecoder().decode(content)
}

/**
 * The fields of a report that is no part of the mail: its boundary is damaged, it is in a text, or it follows a long text.
 * Fields of a returned mail do not count. Null if there are none.
 */
function looseFields(raw: Uint8Array): string | null {
  const text = Buffer.from(raw.subarray(0, REPORT_BYTES_READ)).toString('latin1')
  const returned = text.search(RETURNED_PART)
  const own = returned < 0 ? text : text.slice(0, returned)
  const part = STATUS_PART.exec(own)
  if (part === null) {
    const start = own.search(/^final-recipient:/im)
    return start < 0 ? null : own.slice(start)
  }
  const rest = own.slice(part.index)
  const head = /\r?\n\r?\n/.exec(rest)
  if (head === null) return null
  const body = rest.slice(head.index + head[0].length).split(/^--/m)[0] ?? ''
  const isBase64 = /^content-transfer-encoding:\s*base64/im.test(rest.slice(0, head.index))
  return isBase64 ? Buffer.from(body, 'base64').toString('utf8') : body
}

const STATUS_PART = /^content-type:\s*message\/(?:global-)?delivery-status/im
const RETURNED_PART = /^content-type:\s*(?:message\/(?:rfc822|global)|text\/rfc822)/im

function beginningOf(raw: Uint8Array): Uint8Array {
  const bytes = raw.subarray(0, REPORT_BYTES_READ)
  let end = -1
  for (let lines = 0; lines < LINES_READ; lines += 1) {
    end = bytes.indexOf(0x0a, end + 1)
    if (end < 0) return bytes
  }
  return bytes.subarray(0, end + 1)
}

/**
 * Reads groups of fields with blank lines between them. `message/delivery-status` has several groups (RFC 3464,
 * section 2.1), and `message/feedback-report` has one (RFC 5965, section 3). Joins folded lines, ignores lines that
 * are not fields, and drops text beyond the limits.
 */
function readFieldGroups(text: string): Fields[] {
  const groups: Map<string, string>[] = []
  let group: Map<string, string> | null = null
  let name = ''
  for (const line of text.slice(0, TEXT_LENGTH_MAX).split(/\r\n|\n|\r/)) {
    if (line.trim() === '') {
      group = null
      continue
    }
    if (/^[ \t]/.test(line)) {
      const value = group?.get(name)
      if (value !== undefined) group?.set(name, joined(value, line))
      continue
    }
    const colon = line.indexOf(':')
    name = colon < 1 ? '' : line.slice(0, colon).trim().toLowerCase()
    if (name === '') continue
    if (group === null) {
      if (groups.length === GROUPS_MAX) break
      group = new Map()
      groups.push(group)
    }
    // The name is empty, so the folded lines that follow belong to no field.
    if (group.has(name) || group.size === FIELDS_MAX) name = ''
    else group.set(name, joined('', line.slice(colon + 1)))
  }
  return groups
}

function joined(value: string, more: string): string {
  return `${value} ${more.trim()}`.trim().slice(0, VALUE_LENGTH_MAX)
}
