import type { KeyIdentity } from '../api-keys/api-keys.ts'
import type { Contacts } from '../contacts/contacts.ts'
import type { Data } from '../contract/endpoints/endpoint.ts'
import { SvcError } from '../contract/errors.ts'
import { units } from '../contract/fields/units.ts'
import { LIMITS } from '../contract/limits.ts'
import { bulks as endpoints } from '../contract/resources/bulk.ts'
import type { Channel } from '../contract/resources/content.ts'
import type { Metadata } from '../contract/resources/messages.ts'
import { sentBulkJson } from '../contract/resources/plain-send.ts'
import type { TemplateCategory, UsedTemplate } from '../contract/resources/templates.ts'
import type { PriceOf } from '../prices/price.ts'
import type { EndOfQuiet, QuietHoursOf } from '../quiet-hours/quiet-hours.ts'
import type { BulkRejectionRow, BulkRow, MessageRow } from '../rows/rows.ts'
import type { BroadcastStep } from '../rules/accept.ts'
import { addressesOf, SUPPRESSED_TEXT } from '../rules/recipients.ts'
import type { TestQuotas } from '../rules/test-usage.ts'
import { inTurns } from '../runtime/in-turns.ts'
import type { Runtime } from '../runtime/runtime.ts'
import type { Tracing } from '../runtime/tracing.ts'
import type { Storage } from '../storage/ports/storage.ts'
import type { StatusCallbacks } from '../webhooks/status-callbacks.ts'
import {
  acceptOne,
  afterQuiet,
  debitFor,
  type IdempotentResult,
  idempotencyRecord,
  newMessage,
  type Schedule,
  type SendRules,
  spendingOf,
} from './acceptance.ts'
import type { RecipientDraft, RejectedRecipient } from './bulk-recipients.ts'

import type { SequenceGuard } from './sequence-detector.ts'
import { fileRows } from './stored-files.ts'
import { testUseOf } from './test-usage.ts'

export interface BulkParts extends SendRules {
  storage: Storage
  runtime: Runtime
  quotas: TestQuotas
  priceOf: PriceOf
  /** Checks for numbers in sequence; null if they are not checked. */
  sequences: SequenceGuard | null
  /** The status callback of a new message. */
  statusCallbacks: StatusCallbacks
  contacts: Pick<Contacts, 'forSending'>
  quietHours: Pick<QuietHoursOf, 'endFor' | 'zonesFor'>
  /** The maximum number of recipients of one request. */
  recipients_max: number
  /** The maximum of the decoded files of one e-mail together. */
  attachments_max_bytes: number
  tracing?: Tracing | null
}

/** The response to a bulk request. */
export type SentBulk = Data<typeof endpoints.send>

/** What a message of a bulk has beside its content and its recipient. */
export interface Sending {
  schedule: Schedule
  sender: string | null
  /** The stored template of its content; absent for a content of the request. */
  template?: UsedTemplate | undefined
  /** For quiet hours. */
  category: TemplateCategory
}

/** A bulk that is not accepted yet. */
export interface BulkDraft {
  channel: Channel
  total: number
  drafts: readonly RecipientDraft[]
  sendingOf(draft: RecipientDraft): Sending
  rejected: RejectedRecipient[]
  duplicates: number
  /** Whether one rejected recipient causes the refusal of the whole bulk. */
  isStrict: boolean
  /** The name of the list in the request whose items `index` counts. */
  list: 'recipients' | 'emails'
  /** The bulk whose failed messages are sent again; a bulk is retried once. */
  retry_of: string | null
  /** What the bulk says, for its record: the fields of `BulkRow`. */
  said: Pick<BulkRow, 'name' | 'sender' | 'content'>
  /** The broadcast whose step the bulk is, and the step for what is accepted of it. */
  broadcast?:
    | { id: string; stepOf: (bulk: BulkRow, messages: readonly MessageRow[]) => BroadcastStep }
    | undefined
  /** The response is stored if there is a key. */
  idempotency: { route: string; request: unknown; key: string | undefined }
}

/**
 * Accepts a bulk in one transaction. Recipients that turn out to be suppressed are rejected. If the bulk is strict, such a
 * recipient causes the refusal of the whole bulk.
 * @throws SvcError if the bulk is refused. Nothing is stored then.
 */
export async function acceptBulk(
  {
    storage,
    runtime,
    quotas,
    quietHours,
  }: Pick<BulkParts, 'storage' | 'runtime' | 'quotas' | 'quietHours'>,
  identity: KeyIdentity,
  bulkDraft: BulkDraft,
): Promise<IdempotentResult<SentBulk>> {
  const { workspace_id } = identity
  const { channel, idempotency } = bulkDraft
  let { drafts } = bulkDraft
  const sendings = drafts.map((draft) => bulkDraft.sendingOf(draft))
  const quiet = new Map<TemplateCategory, EndOfQuiet | null>()
  for (const category of new Set(sendings.map((one) => one.category))) {
    const recipients = () =>
      drafts.filter((_, i) => sendings[i]?.category === category).map(({ to }) => to)
    quiet.set(category, await quietHours.endFor(identity, { category, channel, recipients }))
  }
  const bulk_id = runtime.id()
  const at = runtime.now()
  let messages = await inTurns(drafts, (draft, i) => {
    const { to: recipient, recipients, content, metadata, price } = draft
    const { schedule: asked, sender, template, category } = sendings[i] as Sending
    const endOfQuiet = quiet.get(category) ?? null
    const schedule = afterQuiet(asked, { endOfQuiet, recipient, at })
    const message = { channel, sender, recipient, recipients, content, metadata, bulk_id, template }
    return newMessage(identity, message, { price, schedule, id: runtime.id(), at })
  })
  const debitId = runtime.id()
  const suppressed = new Set<string>()
  // Each round except the last finds at least one more suppressed recipient.
  for (;;) {
    const rejected = [...bulkDraft.rejected, ...rejectSuppressed(bulkDraft, suppressed)]
    if (messages.length === 0 || (bulkDraft.isStrict && rejected.length > 0)) {
      throw bulkRefusal(bulkDraft.list, rejected)
    }
    const prices = drafts.map(({ price }) => price)
    const bulk = bulkRow(identity, bulkDraft, { id: bulk_id, messages, rejected, at })
    const rejections = await inTurns(rejected, (one) => rejectionRow(bulk, one))
    const response = responseOf(bulk, { drafts, messages }, rejected)
    const template = templateOfAll(messages)
    const data = template === null ? response : { ...response, template }
    const accepting = {
      workspace_id,
      debit: debitFor(messages, prices, { id: debitId, reference: { type: 'bulk', id: bulk_id } }),
      messages,
      files: fileRows(messages, (i) => drafts[i]?.files),
      bulk,
      rejections,
      broadcast: bulkDraft.broadcast?.stepOf(bulk, messages),
      spending: spendingOf(identity, at),
      test_use: await testUseOf(identity, messages, { quotas, at, rejected }),
      idempotency: idempotencyRecord(identity, idempotency.key, {
        ...idempotency,
        response: () => sentBulkJson(data),
      }),
    }
    const result = await acceptOne(storage, accepting, at)
    if (result.outcome === 'replayed') return replay(result.response)
    if (result.outcome === 'accepted') return { data, replayed: false }
    for (const recipient of result.recipients) suppressed.add(recipient)
    const isSendable = messages.map((message) =>
      addressesOf(message).every((address) => !suppressed.has(address)),
    )
    drafts = drafts.filter((_, i) => isSendable[i])
    messages = messages.filter((_, i) => isSendable[i])
  }
}

/** The result from a stored response. */
export function replay(response: string): IdempotentResult<SentBulk> {
  return { data: endpoints.send.data.decode(JSON.parse(response)), replayed: true }
}

function rejectSuppressed(
  { drafts }: BulkDraft,
  suppressed: ReadonlySet<string>,
): RejectedRecipient[] {
  if (suppressed.size === 0) return []
  return drafts.flatMap(({ index, to, recipients = [] }) => {
    const address = [to, ...recipients.map(({ address }) => address)].find((one) =>
      suppressed.has(one),
    )
    if (address === undefined) return []
    return { index, field: '', to: address, error: 'suppressed', message: SUPPRESSED_TEXT }
  })
}

function bulkRow(
  { workspace_id, api_key_id, mode }: KeyIdentity,
  { channel, total, duplicates, retry_of, broadcast, said }: BulkDraft,
  {
    id,
    messages,
    rejected,
    at,
  }: {
    id: string
    messages: readonly MessageRow[]
    rejected: readonly RejectedRecipient[]
    at: Date
  },
): BulkRow {
  return {
    id,
    workspace_id,
    api_key_id,
    channel,
    livemode: mode === 'live',
    total,
    accepted: messages.length,
    rejected: rejected.length,
    duplicates,
    credits_used: units(messages.reduce((sum, { credits_used }) => sum + credits_used, 0)),
    retry_of,
    created_at: at,
    broadcast_id: broadcast?.id ?? null,
    paused_at: null,
    next_at: null,
    ...said,
  }
}

/** What bulks say whose messages differ, or whose text another record has. */
export const UNSAID = { name: null, sender: null, content: null } as const

/** What a bulk says. Its content has no files: a request for a bulk may not have any. */
export function saidBy({
  from,
  content,
  metadata,
}: {
  from?: string | undefined
  content: object
  metadata?: Metadata | undefined
}): BulkDraft['said'] {
  const campaign = metadata?.campaign
  const isName = typeof campaign === 'string' || typeof campaign === 'number'
  const name = isName ? beginningOf(`${campaign}`.trim(), LIMITS.bulk_name_length) : ''
  return { name: name || null, sender: from ?? null, content: { ...content } }
}

function rejectionRow(
  { workspace_id, id }: BulkRow,
  { index, to, error, message }: RejectedRecipient,
): BulkRejectionRow {
  return {
    workspace_id,
    bulk_id: id,
    position: index,
    recipient: to === null ? null : beginningOf(to, LIMITS.bulk_rejected_to_length),
    error,
    message: beginningOf(message, LIMITS.bulk_rejected_message_length),
  }
}

/** The beginning of a text. It may end within a surrogate pair, half of which PostgreSQL does not store. */
function beginningOf(text: string, length_max: number): string {
  return text.slice(0, length_max).toWellFormed()
}

function responseOf(
  { id, total, accepted, rejected, duplicates, credits_used, created_at }: BulkRow,
  { drafts, messages }: { drafts: readonly RecipientDraft[]; messages: readonly MessageRow[] },
  faults: readonly RejectedRecipient[],
): SentBulk {
  return {
    bulk_id: id,
    status: 'queued',
    total,
    accepted,
    rejected,
    duplicates,
    credits_used,
    created_at,
    messages: messages.map(({ id, recipient, credits_used, segments, deferred_until }, i) => ({
      index: (drafts[i] as RecipientDraft).index,
      message_id: id,
      to: recipient,
      status: 'queued',
      credits_used,
      segments,
      ...(deferred_until !== null && { deferred_until }),
    })),
    errors: errorsOf(faults),
  }
}

/** The template of all messages; null if they differ, or have none. */
function templateOfAll(messages: readonly MessageRow[]): UsedTemplate | null {
  const [first] = messages
  if (!first) return null
  const { template: name, template_version: version, template_locale: locale } = first
  if (name === null || version === null || locale === null) return null
  const isOne = messages.every(
    (one) =>
      one.template === name && one.template_version === version && one.template_locale === locale,
  )
  return isOne ? { name, version, locale } : null
}

/** The refusal of a whole bulk. It lists the faults of all its recipients. */
function bulkRefusal(list: BulkDraft['list'], rejected: readonly RejectedRecipient[]): SvcError {
  const details = byIndex(rejected).flatMap(
    (one) => one.details ?? [{ path: pathOf(list, one), message: textOf(list, one) }],
  )
  return new SvcError('validation_error', details[0]?.message ?? 'Invalid request', { details })
}

/** The rejected recipients for the response, ordered as in the request. */
function errorsOf(rejected: readonly RejectedRecipient[]): Data<typeof endpoints.send>['errors'] {
  return byIndex(rejected).map(({ index, to, error, message }) => ({ index, to, error, message }))
}

function byIndex(rejected: readonly RejectedRecipient[]): RejectedRecipient[] {
  return rejected.toSorted((a, b) => a.index - b.index)
}

function pathOf(list: BulkDraft['list'], { index, field }: RejectedRecipient): string {
  return field === '' ? `${list}.${index}` : `${list}.${index}.${field}`
}

function textOf(
  list: BulkDraft['list'],
  { error, message, field, index }: RejectedRecipient,
): string {
  // The specification fixes the text for an invalid address; the path names the recipient.
  return error === 'invalid_recipient' && field !== 'contact_id'
    ? message
    : `${list}.${index}: ${message}`
}
