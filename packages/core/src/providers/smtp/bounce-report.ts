import PostalMime, { type Attachment } from 'postal-mime'
import { type Fields, readFieldGroups } from './bounce-fields.ts'

/** What became of one recipient. RFC 3464, section 2.3.3. */
export type Action = 'failed' | 'delayed' | 'delivered' | 'relayed' | 'expanded'

/** Class, subject and detail of RFC 3463. */
export type EnhancedStatus = readonly [number, number, number]

/** What a report says of one recipient. */
export interface RecipientStatus {
  action: Action
  /** Null where none can be read. */
  status: EnhancedStatus | null
}

/** What a mail turned out to be. `evidence` is where a proof may stand of what it is about. */
export type MailReport =
  | { type: 'delivery_status'; recipients: RecipientStatus[]; evidence: string }
  | { type: 'feedback'; feedback_type: string; evidence: string }

/**
 * How much of a mail is looked at: reports stand at its beginning, and a line costs the parser 12 microseconds, however
 * short. More is cut off, as if the mail had ended there.
 */
export const REPORT_BYTES_READ = 256 * 1024
const LINES_READ = 6_000
const HEADER_BYTES_MAX = 64 * 1024
const NESTING_MAX = 8
const EVIDENCE_LENGTH_MAX = 32 * 1024

const ACTIONS: readonly string[] = ['failed', 'delayed', 'delivered', 'relayed', 'expanded']

/** RFC 3464, and RFC 6533 where addresses are international. */
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
 * Reads a delivery status notification (RFC 3464) or a feedback report (RFC 5965) out of a mail; null where it is
 * neither, as an answer by a person or by a machine (`Auto-Submitted: auto-replied`) is not. Takes whatever bytes there
 * are and throws nothing; who sent them, and whether they are true, is not looked at.
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
  const told = groups[0]?.get('original-mail-from') ?? ''
  return { type: 'feedback', feedback_type: kind, evidence: `${told}\n${returned}` }
}

function deliveryStatusOf(groups: Fields[]): MailReport | null {
  const recipients = groups.flatMap((fields) => recipientStatusOf(fields) ?? [])
  if (recipients.length === 0) return null
  const id = groups.find((fields) => fields.has('original-envelope-id'))
  return {
    type: 'delivery_status',
    recipients,
    evidence: id?.get('original-envelope-id') ?? '',
  }
}

/** Null for a group that is about the whole mail. */
function recipientStatusOf(fields: Fields): RecipientStatus | null {
  // Comments may follow: `failed (expired)`.
  const action = /^[a-z]+/.exec(fields.get('action')?.toLowerCase() ?? '')?.[0] ?? ''
  if (!ACTIONS.includes(action)) return null
  // Its type is before it: `smtp; 550 5.1.1 …`
  const said = fields.get('diagnostic-code')?.replace(/^[\w-]+\s*;\s*(?:[245]\d\d[ -])?/, '')
  return {
    action: action as Action,
    status: moreExact(statusIn(fields.get('status')), statusIn(said)),
  }
}

/** Many say 5.0.0, which means nothing, where the server that refused had said more. RFC 3463, section 3.1. */
function moreExact(status: EnhancedStatus | null, said: EnhancedStatus | null) {
  if (status === null) return said
  const [kind, subject, detail] = status
  return subject === 0 && detail === 0 && said?.[0] === kind ? said : status
}

function statusIn(text = ''): EnhancedStatus | null {
  const found = /^\s*#?([245])\.(\d{1,3})\.(\d{1,3})(?!\d)/.exec(text)
  return found ? [Number(found[1]), Number(found[2]), Number(found[3])] : null
}

async function partsOf(raw: Uint8Array): Promise<Attachment[] | null> {
  try {
    const { attachments } = await PostalMime.parse(raw, {
      // What comes back with a report is evidence, and what it holds is no report.
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
