import type { KeyIdentity } from '../api-keys/api-keys.ts'
import type { ErrorDetail } from '../contract/errors.ts'
import { type NamedRecipient, namedRecipients } from '../contract/resources/mail-recipients.ts'
import type { SendRequest } from '../contract/resources/send-request.ts'
import { type Awaitable, whenReady } from '../runtime/awaitable.ts'
import type { BulkParts } from './bulk-accept.ts'

type OneOrMore<T> = [T, ...T[]]

/** The recipients of one message, each with its place in the request. Only an e-mail can have several. */
export function recipientsOfOne(request: SendRequest): OneOrMore<NamedRecipient> {
  return request.channel === 'email'
    ? (namedRecipients(request) as OneOrMore<NamedRecipient>)
    : [{ address: request.to, role: 'to', path: 'to' }]
}

/** The first reason to refuse one message whatever the state of the account; null if there is none. */
export function faultOf(
  parts: Pick<BulkParts, 'countryFault' | 'senders' | 'takesSeveral'>,
  identity: KeyIdentity,
  request: SendRequest,
  recipients: OneOrMore<NamedRecipient>,
): Awaitable<ErrorDetail | null> {
  const wrongCountry = parts.countryFault(request.channel, recipients[0].address)
  if (wrongCountry !== null) return { path: 'to', message: wrongCountry }
  return whenReady(
    parts.senders.fault(identity, request),
    (fault) => fault ?? severalFault(parts, identity, request, recipients),
  )
}

/** The fault if a provider that may get the message sends to one recipient at a time and the message has several. */
export function severalFault(
  { takesSeveral }: Pick<BulkParts, 'takesSeveral'>,
  { mode }: KeyIdentity,
  { channel }: SendRequest,
  recipients: readonly NamedRecipient[],
): ErrorDetail | null {
  const message = { channel, livemode: mode === 'live' }
  if (recipients.length < 2 || takesSeveral(message)) return null
  return { path: 'to', message: ONE_RECIPIENT }
}

const ONE_RECIPIENT =
  'The e-mail provider of this service sends to one recipient at a time: send one message to each'
