import { invalid } from '../contract/errors.ts'
import { emailAddress, emailKey } from '../contract/fields/email-address.ts'
import { phone } from '../contract/fields/fields.ts'
import { type Units, units } from '../contract/fields/units.ts'
import type { RecipientOutcome, RecipientReceipt } from '../contract/outside/provider.ts'
import type { Channel } from '../contract/resources/messages.ts'
import type { StoredRecipient } from '../rows/messages.ts'
import type { MessageRow } from '../rows/rows.ts'
import { advance, type Reported } from './settlement.ts'

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

/** Fails the recipients that are due and that the provider rejected, or that opted out after an attempt with an unknown outcome. */
export function withRejections(
  recipients: readonly StoredRecipient[],
  results: ReadonlyMap<string, RecipientOutcome>,
): StoredRecipient[] {
  return recipients.map((one) => {
    const result = isDue(one) ? results.get(emailKey(one.address)) : undefined
    if (result?.type !== 'rejected') return one
    return failed(one, result, { accepted: result.error_code === 'outcome_unknown' })
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

export function suppressionKey(suppression: {
  workspace_id: string
  channel: Channel
  address: string
}): string {
  return `${suppression.workspace_id}\n${suppression.channel}\n${suppression.address}`
}

/** The text of the error, which must not name the recipient. */
export const SUPPRESSED_TEXT = 'The recipient is suppressed on this channel'

/** The address under which a recipient is suppressed: for e-mail, in the form of `emailKey`. */
export function suppressedAddress(to: { channel: Channel; recipient: string }): string {
  return to.channel === 'email' ? emailKey(to.recipient) : to.recipient
}

/** The addresses for which a suppression of the address holds: on WhatsApp all forms of the number. */
export function suppressedForms(to: { channel: Channel; address: string }): string[] {
  return to.channel === 'whatsapp' ? whatsappForms(to.address) : [to.address]
}

/** The addresses under which the recipients of a message are suppressed. */
export function suppressedAddresses(
  message: Pick<MessageRow, 'channel' | 'recipient' | 'recipients'>,
): string[] {
  const { channel } = message
  return addressesOf(message).map((recipient) => suppressedAddress({ channel, recipient }))
}

/**
 * Whether the message is the service's own answer to STOP, START or HELP, which suppressed recipients get too. Only
 * such messages have no API key and cost nothing.
 */
export function isReply({
  api_key_id,
  credits_used,
}: Pick<MessageRow, 'api_key_id' | 'credits_used'>): boolean {
  return api_key_id === null && credits_used === 0
}

export interface Recipient {
  kind: 'phone' | 'email'
  /** A phone number in E.164, or an e-mail address in lower case with its domain as A-labels. */
  address: string
}

/** @throws SvcError `validation_error` for a text that is neither a phone number nor an e-mail address. */
export function readRecipient(text: string): Recipient {
  if (phone.safeParse(text).success) return { kind: 'phone', address: text }
  if (emailAddress(text) !== null) return { kind: 'email', address: emailKey(text) }
  throw invalid(
    'address',
    'The address must be a phone number in E.164 format, such as +14155552671, or an e-mail address',
  )
}

/** Whether `text` is the recipient's address, in any spelling. */
export function isTo({ kind, address }: Recipient, text: unknown): boolean {
  if (typeof text !== 'string') return false
  return kind === 'email' ? emailKey(text) === address : text === address
}

/** What may stand around an address, but is no part of it. */
const AROUND = /[\s<>()[\]:;,"']+/

/**
 * Whether a text that is no valid address names the recipient: a phone number with the same digits, apart from leading
 * zeros, or a text that contains the e-mail address.
 */
export function isAbout(recipient: Recipient, text: string): boolean {
  if (isTo(recipient, text)) return true
  if (recipient.kind === 'email') return text.split(AROUND).some((part) => isTo(recipient, part))
  const digits = digitsOf(recipient.address)
  return digits !== '' && digitsOf(text) === digits
}

function digitsOf(text: string): string {
  return text.replace(/\D/g, '').replace(/^0+/, '')
}

/**
 * WhatsApp knows some people by another form of their number than the one that networks use: Mexico with a 1 after 52, Argentina
 * with a 9 after 54, and Brazil with or without the ninth digit of mobile numbers. Each entry: the form, with the digits that may
 * be missing as its second group, and these digits.
 */
const FORMS: readonly [RegExp, string][] = [
  [/^(\+52)(1?)(\d{10})$/, '1'],
  [/^(\+54)(9?)(\d{10})$/, '9'],
  [/^(\+55[1-9]{2})(9?)([6-9]\d{7})$/, '9'],
]

/** All forms under which WhatsApp may know the person with an address, the given form first. Sources: public reports on the wa_id of the Cloud API. */
export function whatsappForms(address: string): string[] {
  for (const [form, digits] of FORMS) {
    const [, country, , rest] = form.exec(address) ?? []
    if (rest === undefined) continue
    const forms = [`${country}${digits}${rest}`, `${country}${rest}`]
    return [address, ...forms.filter((one) => one !== address)]
  }
  return [address]
}
