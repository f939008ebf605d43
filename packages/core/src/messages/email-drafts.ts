import type { KeyIdentity } from '../api-keys/api-keys.ts'
import { decode } from '../contract/endpoints/decode.ts'
import { type ErrorDetail, SvcError } from '../contract/errors.ts'
import { isRecord } from '../contract/fields/fields.ts'
import type { RecipientFault } from '../contract/resources/bulk.ts'
import { emailRequest, type SendRequest } from '../contract/resources/send-request.ts'
import { priceForSeveral } from '../prices/price.ts'
import { inTurns } from '../runtime/in-turns.ts'
import { faultOf, recipientsOfOne, type Schedule, scheduleOf } from './acceptance.ts'
import type { BulkDraft, BulkParts } from './bulk-accept.ts'
import type { RecipientDraft, RejectedRecipient } from './bulk-recipients.ts'

type EmailRequest = Extract<SendRequest, { channel: 'email' }>

type Sending = ReturnType<BulkDraft['sendingOf']>

type Read = { request: EmailRequest; schedule: Schedule } | { faults: readonly ErrorDetail[] }

/** Reads the e-mails of a bulk, each with its own content, recipients, sender and schedule. */
export async function emailDraftsOf(
  parts: Pick<BulkParts, 'priceOf' | 'countryFault' | 'senders' | 'takesSeveral'>,
  identity: KeyIdentity,
  emails: readonly unknown[],
  at: Date,
): Promise<Pick<BulkDraft, 'drafts' | 'rejected' | 'sendingOf'>> {
  const drafts: RecipientDraft[] = []
  const rejected: RejectedRecipient[] = []
  const sendings = new Map<number, Sending>()
  const read = await inTurns(emails, (given) => readEmail(given, at))
  for (const [index, one] of read.entries()) {
    if ('faults' in one) {
      rejected.push(rejection(index, emails[index], one.faults))
      continue
    }
    const { request, schedule } = one
    const { content, metadata = {} } = request
    const recipients = recipientsOfOne(request)
    const [{ address: to }] = recipients
    const fault = await faultOf(parts, identity, request, recipients)
    if (fault) {
      rejected.push(rejection(index, request, [fault]))
      continue
    }
    const price = priceForSeveral(parts.priceOf('email', content)(to), recipients.length)
    const several = recipients.length > 1 ? recipients : undefined
    drafts.push({ index, to, recipients: several, content, metadata, price })
    const sender = await parts.senders.of(identity.workspace_id, request)
    sendings.set(index, { schedule, sender })
  }
  return {
    drafts,
    rejected,
    sendingOf: ({ index }) => sendings.get(index) as Sending,
  }
}

function readEmail(given: unknown, at: Date): Read {
  try {
    // The schema of an e-mail reads no other channel.
    const request = decode(emailRequest, given) as EmailRequest
    return { request, schedule: scheduleOf(request, at) }
  } catch (error) {
    if (error instanceof SvcError && error.details) return { faults: error.details }
    throw error
  }
}

function rejection(
  index: number,
  given: unknown,
  faults: readonly ErrorDetail[],
): RejectedRecipient {
  const details = faults.map(({ path, message }) => ({ path: pathIn(index, path), message }))
  const { path = '', message = '' } = faults[0] ?? {}
  const error = FAULT_OF_FIELD.get(path.split('.', 1)[0]) ?? 'invalid_content'
  return { index, field: '', to: firstOf(given), error, message, details }
}

function pathIn(index: number, path: string): string {
  return path === '' ? `emails.${index}` : `emails.${index}.${path}`
}

const FAULT_OF_FIELD = new Map<string | undefined, RecipientFault>([
  ['to', 'invalid_recipient'],
  ['metadata', 'invalid_metadata'],
])

/** The first address in `to` of a request that may be faulty. */
function firstOf(given: unknown): string | null {
  const to = isRecord(given) ? given.to : undefined
  const first = Array.isArray(to) ? to[0] : to
  return typeof first === 'string' ? first : null
}
