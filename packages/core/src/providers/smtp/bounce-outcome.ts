import type {
  MessageRef,
  Receipt,
  RecipientReceipt,
  Report,
} from '../../contract/outside/provider.ts'
import type { EnhancedStatus, MailReport, RecipientStatus } from './bounce-report.ts'

type DeliveryStatus = Extract<MailReport, { type: 'delivery_status' }>

/** The meaning of one recipient's failure. */
interface Meaning {
  error_code: 'bounced' | 'undelivered'
  text: string
  suppress?: 'bounce'
}

const NO_SUCH: Meaning = {
  error_code: 'bounced',
  text: 'The recipient does not exist',
  suppress: 'bounce',
}
const DISABLED: Meaning = { ...NO_SUCH, text: 'The mailbox is disabled' }
const FULL: Meaning = { error_code: 'bounced', text: 'The mailbox is full' }
const NOT_ACCEPTED = { ...FULL, text: 'The mailbox does not accept the mail' }
const BAD_SENDER = undelivered('The mail server does not accept mail from this domain or address')
const BLOCKED = undelivered('The mail violates a policy of the mail server')
const TOO_LARGE = undelivered('The mail is too large for the mail server')
const NO_ROUTE = undelivered('No mail server of the recipient could be reached')
const REFUSED = undelivered('The mail server refuses the mail')
const TOO_LONG = undelivered('The mail could not be delivered in time')

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
 * | failed | 5.1.x, 5.2.1 | `failed`, `bounced`; the recipient is suppressed |
 * | failed | 5.2.x, such as a full mailbox | `failed`, `bounced` |
 * | failed | others: policy, routing, sender (5.1.7 to 5.1.9); 4.x.x when the server gave up | `failed`, `undelivered` |
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
 * The report about a mail. The status of the whole counts for a mail with one recipient: mail to a list, or forwarded mail,
 * failed only if it failed for every final recipient. Of a mail with several, each recipient has its own status.
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
  const [first] = recipients
  if (first && recipients.every(({ action }) => action === 'failed')) {
    return failure(first, recipients)
  }
  const isDelivered = recipients.some(({ action }) => action === 'delivered')
  return {
    status: isDelivered ? 'delivered' : 'sent',
    error_code: null,
    error_message: null,
  }
}

function failure({ status }: RecipientStatus, all: readonly RecipientStatus[]): State {
  const { error_code, text } = meaningOf(status)
  const isGone = all.every((each) => meaningOf(each.status).suppress)
  return {
    status: 'failed',
    error_code,
    error_message: status ? `smtp:${status.join('.')} ${text}` : `smtp: ${text}`,
    ...(isGone && { suppress: 'bounce' as const }),
  }
}

/** Source: IANA, SMTP Enhanced Status Codes. */
function meaningOf(status: EnhancedStatus | null): Meaning {
  const [kind, subject, detail] = status ?? []
  if (kind !== 5) return kind === 4 ? TOO_LONG : REFUSED
  switch (subject) {
    case 1:
      return detail === 7 || detail === 8 || detail === 9 ? BAD_SENDER : NO_SUCH
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
