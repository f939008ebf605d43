import { setImmediate as turn } from 'node:timers/promises'
import type { KeyIdentity } from '../api-keys/api-keys.ts'
import { decode } from '../contract/endpoints/decode.ts'
import { type ErrorDetail, invalid, SvcError } from '../contract/errors.ts'
import { isRecord } from '../contract/fields/fields.ts'
import { LIMITS } from '../contract/limits.ts'
import type { RecipientFault } from '../contract/resources/bulk.ts'
import {
  anyEmailRequest,
  type SendRequest,
  type TemplateRequest,
} from '../contract/resources/send-request.ts'
import { priceForSeveral } from '../prices/price.ts'
import { inTurns } from '../runtime/in-turns.ts'
import {
  CATEGORY_DEFAULT,
  createSources,
  filledRequest,
  type TemplateSource,
} from '../templates/use-template.ts'
import { faultOf, recipientsOfOne, type Schedule, scheduleOf } from './acceptance.ts'
import type { BulkDraft, BulkParts, Sending } from './bulk-accept.ts'
import { lengthOf, type RecipientDraft, type RejectedRecipient } from './bulk-recipients.ts'

type EmailRequest = Extract<SendRequest, { channel: 'email' }>
type EmailFromTemplate = Extract<TemplateRequest, { channel: 'email' }>

interface Read<R> {
  request: R
  schedule: Schedule
}

interface Faults {
  faults: readonly ErrorDetail[]
}

/**
 * Reads the e-mails of a bulk, each with its own content or stored template, recipients, sender and schedule.
 * @throws SvcError `validation_error` if all contents together are too long.
 */
export async function emailDraftsOf(
  parts: Pick<BulkParts, 'storage' | 'priceOf' | 'countryFault' | 'senders' | 'takesSeveral'>,
  identity: KeyIdentity,
  emails: readonly unknown[],
  at: Date,
): Promise<Pick<BulkDraft, 'drafts' | 'rejected' | 'sendingOf'>> {
  const { workspace_id, mode } = identity
  const drafts: RecipientDraft[] = []
  const rejected: RejectedRecipient[] = []
  const sendings = new Map<number, Sending>()
  const sourceOf = createSources(parts.storage.read, workspace_id)
  const length_max = LIMITS[mode === 'live' ? 'bulk_stored_length' : 'test_bulk_stored_length']
  let length = 0
  const read = await inTurns(emails, (given) => readEmail(given, at))
  for (const [index, one] of read.entries()) {
    const email = await filled(one, sourceOf)
    if ('faults' in email) {
      rejected.push(rejection(index, emails[index], email.faults))
      continue
    }
    const { request, schedule, source } = email
    const { content, metadata = {} } = request
    if (source) length += lengthOf(content)
    if (length > length_max) throw tooLong(length_max)
    const recipients = recipientsOfOne(request)
    const [{ address: to }] = recipients
    const fault = await faultOf(parts, identity, request, recipients, source)
    if (fault) {
      rejected.push(rejection(index, request, [fault]))
      continue
    }
    const price = priceForSeveral(parts.priceOf('email', content)(to), recipients.length)
    const several = recipients.length > 1 ? recipients : undefined
    drafts.push({ index, to, recipients: several, content, metadata, price })
    const sender = await parts.senders.of(workspace_id, request)
    const category = source?.category ?? CATEGORY_DEFAULT
    sendings.set(index, { schedule, sender, template: source?.used, category })
  }
  return {
    drafts,
    rejected,
    sendingOf: ({ index }) => sendings.get(index) as Sending,
  }
}

function readEmail(given: unknown, at: Date): Read<EmailRequest | EmailFromTemplate> | Faults {
  try {
    // The schema of an e-mail reads no other channel.
    const request = decode(anyEmailRequest, given) as EmailRequest | EmailFromTemplate
    return { request, schedule: scheduleOf(request, at) }
  } catch (error) {
    return faultsIn(error)
  }
}

/** The e-mail with the content of its template. */
async function filled(
  read: Read<EmailRequest | EmailFromTemplate> | Faults,
  sourceOf: ReturnType<typeof createSources>,
): Promise<(Read<EmailRequest> & { source: TemplateSource | null }) | Faults> {
  if ('faults' in read) return read
  const { request } = read
  if (!('template' in request)) return { ...read, request, source: null }
  // Filling in a large template takes some milliseconds.
  await turn()
  try {
    const source = await sourceOf(request)
    return { ...read, request: filledRequest(request, source) as EmailRequest, source }
  } catch (error) {
    return faultsIn(error)
  }
}

/** @throws the error, if it is not about the request. */
function faultsIn(error: unknown): Faults {
  if (error instanceof SvcError && error.details) return { faults: error.details }
  throw error
}

function tooLong(max: number): SvcError {
  return invalid(
    'emails',
    `The contents of a batch may have at most ${max / 2 ** 20} million characters together: send fewer e-mails at a time`,
  )
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
