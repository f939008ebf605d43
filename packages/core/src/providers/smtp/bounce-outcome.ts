import type {
  MessageRef,
  Receipt,
  RecipientReceipt,
  Report,
} from '../../contract/outside/provider.ts'
import type { MailReport } from './bounce-report.ts'
import { type EnhancedStatus, isGone, type RecipientStatus } from './recipient-status.ts'

type DeliveryStatus = Extract<MailReport, { type: 'delivery_status' }>

/** The meaning of one recipient's failure. */
interface Meaning {
  error_code: 'bounced' | 'undelivered'
  text: string
}

const NO_SUCH: Meaning = {
  error_code: 'bounced',
  text: 'The recipient does not exist',
}
const DISABLED: Meaning = { ...NO_SUCH, text: 'The mailbox is disabled' }
const FULL: Meaning = { error_code: 'bounced', text: 'The mailbox is full' }
const NOT_ACCEPTED = { ...FULL, text: 'The mailbox does not accept the mail' }
const ADDRESS = { ...FULL, text: 'The mail server does not accept the address' }
const BAD_SENDER = undelivered('The mail server does not accept mail from this domain or address')
const BLOCKED = undelivered('The mail violates a policy of the mail server')
const TOO_LARGE = undelivered('The mail is too large for the mail server')
const TOO_MANY = undelivered('The mail server has a limit for mails to this recipient or from us')
const NO_ROUTE = undelivered('No mail server of the recipient could be reached')
const REFUSED = undelivered('The mail server refuses the mail')
const TOO_LONG = undelivered('The mail could not be delivered in time')
const UNKNOWN = undelivered('The mail came back, and the report does not state the reason')

function undelivered(text: string): Meaning {
  return { error_code: 'undelivered', text }
}

/**
 * Converts a mail to reports about its message. The list is empty if the mail changes nothing, for example after a person
 * removed a spam mark.
 *
 * | Action | Status | receipt |
 * |---|---|---|
 * | delivered | | `delivered` |
 * | relayed, expanded, delayed | | `sent` |
 * | failed | 5.1.1, 5.1.2, 5.1.3, 5.1.6, 5.1.10, 5.2.1 | `failed`, `bounced`; the recipient is suppressed |
 * | failed | other 5.1.x and 5.2.x, such as a full mailbox | `failed`, `bounced` |
 * | failed | others: policy, routing, sender (5.1.7 to 5.1.9); 4.x.x when the server gave up; none | `failed`, `undelivered` |
 *
 * A recipient is suppressed only if nothing in its report names another cause: neither a second status nor the words of the
 * server.
 *
 * The texts are ours, because servers' texts repeat addresses.
 */
export function reportsOf(report: MailReport, about: MessageRef): Report[] {
  if (report.type === 'delivery_status') {
    const receipt = receiptOf(report)
    return [{ type: 'receipt', about, provider_message_id: null, receipt }]
  }
  if (report.feedback_type !== 'abuse') return []
  const { addresses } = report
  const named = addresses.length > 0 && { addresses }
  return [{ type: 'suppress', about, reason: 'complaint', ...named }]
}

/**
 * The report about a mail. The status of the whole counts for a mail with one recipient that the report does not name: mail to a
 * list, or forwarded mail, failed if it failed for a final recipient and reached no other. It may still reach one for which it is
 * delayed; that report then replaces the failure. Of a mail with several, each recipient has its own status.
 */
function receiptOf({ recipients }: DeliveryStatus): Receipt {
  return {
    ...stateOf(recipients),
    provider_message_id: null,
    recipients: recipients.map((one) => ({ addresses: one.addresses, ...stateOf([one]) })),
  }
}

type State = Omit<RecipientReceipt, 'addresses'>

function stateOf(recipients: readonly RecipientStatus[]): State {
  const [first] = recipients.filter(({ action }) => action === 'failed')
  if (first && recipients.every(({ action }) => action === 'failed' || action === 'delayed')) {
    return failure(first, recipients)
  }
  const isDelivered = recipients.some(({ action }) => action === 'delivered')
  return {
    status: isDelivered ? 'delivered' : 'sent',
    error_code: null,
    error_message: null,
  }
}

function failure(first: RecipientStatus, all: readonly RecipientStatus[]): State {
  const { error_code, text } = meaningOf(first)
  const [status] = first.statuses
  return {
    status: 'failed',
    error_code,
    error_message: status ? `smtp:${status.join('.')} ${text}` : `smtp: ${text}`,
    ...(all.every(isMissing) && { suppress: 'bounce' as const }),
  }
}

function isMissing({ statuses: [first, ...others], cause }: RecipientStatus): boolean {
  if (first === undefined || cause !== null || !isGone(first)) return false
  return others.every((one) => isGone(one) || isGeneral(one))
}

/** Whether a status says only that the mail, or the address, is refused: 5.0.0, 5.1.0. RFC 3463, section 3.1. */
function isGeneral([kind, subject, detail]: EnhancedStatus): boolean {
  return kind === 5 && subject <= 1 && detail === 0
}

/** The words of the server count if its status is about the recipient or has no meaning of its own. */
function meaningOf({ statuses: [status], cause }: RecipientStatus): Meaning {
  const meaning = status ? ofStatus(status) : UNKNOWN
  const isOpen = [UNKNOWN, NO_SUCH, DISABLED, ADDRESS, NOT_ACCEPTED].includes(meaning)
  if (cause === null || !(isOpen || (status && isGeneral(status)))) return meaning
  if (cause === 'full') return FULL
  return cause === 'rate' ? TOO_MANY : BLOCKED
}

/** Source: IANA, SMTP Enhanced Status Codes. */
function ofStatus(status: EnhancedStatus): Meaning {
  const [kind, subject, detail] = status
  if (kind !== 5) return kind === 4 ? TOO_LONG : REFUSED
  switch (subject) {
    case 1:
      if (detail === 7 || detail === 8 || detail === 9) return BAD_SENDER
      return isGone(status) ? NO_SUCH : ADDRESS
    case 2:
      if (detail === 1) return DISABLED
      if (detail === 2) return FULL
      return detail === 3 ? TOO_LARGE : NOT_ACCEPTED
    case 3:
      return detail === 4 ? TOO_LARGE : REFUSED
    case 4:
      return NO_ROUTE
    case 7:
      return BLOCKED
    default:
      return REFUSED
  }
}
