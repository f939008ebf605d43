import PostalMime, { type Attachment } from 'postal-mime'
import { emailAddress } from '../../contract/fields/email-address.ts'

/** The result for one recipient. RFC 3464, section 2.3.3. */
export type Action = 'failed' | 'delayed' | 'delivered' | 'relayed' | 'expanded'

/** Class, subject and detail of RFC 3463. */
export type EnhancedStatus = readonly [number, number, number]

/** The status of one recipient. */
export interface RecipientStatus {
  action: Action
  /** Null if the report has no readable status. */
  status: EnhancedStatus | null
  /** Its final and its original address, where the report has them. */
  addresses: string[]
}

/** A report in a mail. `evidence` is the text that may prove which message it is about. */
export type MailReport =
  | { type: 'delivery_status'; recipients: RecipientStatus[]; evidence: string }
  | { type: 'feedback'; feedback_type: string; addresses: string[]; evidence: string }

/**
 * Reports are at the start of a mail, so only this part is read. The parser needs 12 microseconds for each line of any
 * length.
 */
export const REPORT_BYTES_READ = 256 * 1024
const LINES_READ = 6_000
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
 * Reads a delivery status notification (RFC 3464) or a feedback report (RFC 5965) from a mail; null for any other mail, such
 * as an answer by a person or a machine (`Auto-Submitted: auto-replied`). Accepts any bytes and never throws. It does not
 * check the sender or the truth of the report.
 */
export async function readMailReport(raw: Uint8Array): Promise<MailReport | null> {
  const parts = await partsOf(beginningOf(raw))
  if (parts === null) return null
  const returned = parts.find(({ mimeType }) => RETURNED_TYPES.includes(mimeType))
  const returnedText = returned ? textOf(returned).slice(0, EVIDENCE_LENGTH_MAX) : ''
  const feedback = parts.find(({ mimeType }) => mimeType === FEEDBACK_TYPE)
  if (feedback) return feedbackOf(readFieldGroups(textOf(feedback)), returnedText)
  const status = parts.find(({ mimeType }) => STATUS_TYPES.includes(mimeType))
  return status ? deliveryStatusOf(readFieldGroups(textOf(status))) : null
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
  // A comment may follow: `failed (expired)`.
  const action = /^[a-z]+/.exec(fields.get('action')?.toLowerCase() ?? '')?.[0] ?? ''
  if (!ACTIONS.includes(action)) return null
  // The type of the code comes first: `smtp; 550 5.1.1 …`
  const diagnostic = fields.get('diagnostic-code')?.replace(/^[\w-]+\s*;\s*(?:[245]\d\d[ -])?/, '')
  return {
    action: action as Action,
    status: moreExact(statusIn(fields.get('status')), statusIn(diagnostic)),
    addresses: ['final-recipient', 'original-recipient'].flatMap((name) =>
      addressesIn(fields.get(name)),
    ),
  }
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

/** Many reports have the general 5.0.0 although the diagnostic code is more exact. RFC 3463, section 3.1. */
function moreExact(status: EnhancedStatus | null, diagnostic: EnhancedStatus | null) {
  if (status === null) return diagnostic
  const [kind, subject, detail] = status
  return subject === 0 && detail === 0 && diagnostic?.[0] === kind ? diagnostic : status
}

function statusIn(text = ''): EnhancedStatus | null {
  const found = /^\s*#?([245])\.(\d{1,3})\.(\d{1,3})(?!\d)/.exec(text)
  return found ? [Number(found[1]), Number(found[2]), Number(found[3])] : null
}

async function partsOf(raw: Uint8Array): Promise<Attachment[] | null> {
  try {
    const { attachments } = await PostalMime.parse(raw, {
      // A returned mail is only evidence. A report inside a returned mail does not count.
      forceRfc822Attachments: true,
      maxNestingDepth: NESTING_MAX,
      maxHeadersSize: HEADER_BYTES_MAX,
    })
    return attachments
  } catch {
    return null
  }
}

function textOf({ content }: Attachment): string {
  return typeof content === 'string' ? content : new TextDecoder().decode(content)
}

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
