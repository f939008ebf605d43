import { emailKey } from '../contract/fields/email-address.ts'
import { type Units, units } from '../contract/fields/units.ts'
import type { RecipientOutcome, RecipientReceipt } from '../contract/outside/provider.ts'
import type { StoredRecipient } from '../rows/messages.ts'
import type { MessageRow } from '../rows/rows.ts'
import { advance, type Reported } from './status.ts'

/** The reason of a failure. */
interface Failure {
  error_code: string | null
  error_message: string | null
}

/** Whether an attempt still has to send the mail to the recipient. */
export function isDue({ status }: Pick<StoredRecipient, 'status'>): boolean {
  return status === 'queued'
}

/** The addresses of a message: one, or those of all recipients. */
export function addressesOf({
  recipient,
  recipients,
}: Pick<MessageRow, 'recipient' | 'recipients'>): string[] {
  return recipients === null ? [recipient] : recipients.map(({ address }) => address)
}

/** The results of an attempt by address. */
export function resultsByAddress(
  listed: readonly RecipientOutcome[],
): ReadonlyMap<string, RecipientOutcome> {
  return new Map(listed.map((one) => [emailKey(one.address), one]))
}

/** Fails the recipients that are due and that the provider rejected. */
export function withRejections(
  recipients: readonly StoredRecipient[],
  results: ReadonlyMap<string, RecipientOutcome>,
): StoredRecipient[] {
  return recipients.map((one) => {
    const result = isDue(one) ? results.get(emailKey(one.address)) : undefined
    return result?.type === 'rejected' ? failed(one, result, { accepted: false }) : one
  })
}

/** Gives the recipients that are due the status, except those that the provider did not accept now. */
export function withAcceptance(
  recipients: readonly StoredRecipient[],
  status: 'sent' | 'delivered',
  results: ReadonlyMap<string, RecipientOutcome>,
): StoredRecipient[] {
  return recipients.map((one) =>
    isDue(one) && !results.has(emailKey(one.address)) ? { ...one, status, accepted: true } : one,
  )
}

/** Fails all recipients that are due. `accepted`: a provider may have the mail for them. */
export function withoutDue(
  recipients: readonly StoredRecipient[],
  failure: Failure,
  { accepted }: { accepted: boolean },
): StoredRecipient[] {
  return recipients.map((one) => (isDue(one) ? failed(one, failure, { accepted }) : one))
}

/**
 * The reports of a receipt, one for each recipient that it concerns. A receipt without recipients concerns the recipients
 * whose mail was accepted; all of them if none has a result yet.
 */
export function reportsFor(
  recipients: readonly StoredRecipient[],
  receipt: Failure & { status: Reported; recipients?: readonly RecipientReceipt[] },
): { index: number; report: Omit<RecipientReceipt, 'addresses'> }[] {
  const { status, error_code, error_message } = receipt
  if (receipt.recipients === undefined) {
    const isUnknown = recipients.every(isDue)
    const report = { status, error_code, error_message }
    return recipients.flatMap((one, index) => (isUnknown || !isDue(one) ? { index, report } : []))
  }
  const byKey = new Map(recipients.map(({ address }, index) => [emailKey(address), index]))
  return receipt.recipients.flatMap(({ addresses, ...report }) => {
    const known = addresses.map((address) => byKey.get(emailKey(address)))
    const index = known.find((one) => one !== undefined)
    return index === undefined ? [] : { index, report }
  })
}

/** The recipient after a report; null for a late, repeated or contradictory report. */
export function reported(
  recipient: StoredRecipient,
  report: Failure & { status: Reported },
): StoredRecipient | null {
  // Only WhatsApp messages become `read`. Source: interface, Status.
  const status = report.status === 'read' ? 'delivered' : report.status
  if (advance(recipient, status).length === 0) return null
  if (status === 'failed') return failed(recipient, report, { accepted: true })
  return { ...recipient, status, accepted: true, error_code: null, error_message: null }
}

/**
 * The status of a message that follows from its recipients: failed if all failed, delivered if all others are delivered,
 * otherwise sent. Null while a recipient is due. The failure is that of the first recipient.
 */
export function statusOfAll(
  recipients: readonly StoredRecipient[],
): (Failure & { status: Reported }) | null {
  if (recipients.some(isDue)) return null
  const reached = recipients.filter(({ status }) => status !== 'failed')
  const none = { error_code: null, error_message: null }
  if (reached.length === 0) {
    const { error_code, error_message } = recipients[0] ?? none
    return { status: 'failed', error_code, error_message }
  }
  const isDelivered = reached.every(({ status }) => status === 'delivered')
  return { status: isDelivered ? 'delivered' : 'sent', ...none }
}

/**
 * The recipients that failed between two states of a message, in groups with one reason each. Empty for a message with one
 * recipient.
 */
export function newlyFailed(
  before: readonly StoredRecipient[] | null,
  after: readonly StoredRecipient[] | null,
): OneOrMore<StoredRecipient>[] {
  const groups = new Map<string | null, OneOrMore<StoredRecipient>>()
  for (const [i, one] of (after ?? []).entries()) {
    if (one.status !== 'failed' || before?.[i]?.status === 'failed') continue
    const group = groups.get(one.error_code)
    if (group) group.push(one)
    else groups.set(one.error_code, [one])
  }
  return [...groups.values()]
}

type OneOrMore<T> = [T, ...T[]]

/** The shares of the price of the recipients that no provider accepted. Each recipient has the same share. */
export function refundOfRejected(recipients: readonly StoredRecipient[], price: Units): Units {
  const rejected = recipients.filter(({ status, accepted }) => status === 'failed' && !accepted)
  return units(Math.floor(price / recipients.length) * rejected.length)
}

function failed(
  recipient: StoredRecipient,
  { error_code, error_message }: Failure,
  { accepted }: { accepted: boolean },
): StoredRecipient {
  return { ...recipient, status: 'failed', accepted, error_code, error_message }
}
