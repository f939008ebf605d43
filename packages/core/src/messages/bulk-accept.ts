import type { KeyIdentity } from '../api-keys/api-keys.ts'
import type { CountryFault } from '../channels/country-rule.ts'
import type { PriceOf } from '../channels/price.ts'
import type { Contacts } from '../contacts/contacts.ts'
import type { Data } from '../contract/endpoints/endpoint.ts'
import { units } from '../contract/fields/units.ts'
import { bulks as endpoints } from '../contract/resources/bulk.ts'
import type { Channel } from '../contract/resources/content.ts'
import type { BulkRow, MessageRow } from '../rows/rows.ts'
import { SUPPRESSED_TEXT } from '../rules/suppression.ts'
import type { TestQuotas } from '../rules/test-usage.ts'
import type { Runtime } from '../runtime/runtime.ts'
import type { Tracing } from '../runtime/tracing.ts'
import type { Storage } from '../storage/ports/storage.ts'
import { type Answered, acceptOne, answerFor } from './acceptance.ts'
import type { Refused } from './bulk-reading.ts'
import type { Reached } from './bulk-recipients.ts'
import { refusalOf, refusedInAnswer } from './bulk-refusal.ts'
import { debitFor, newMessage, type Schedule, spendingOf } from './new-message.ts'
import type { Senders } from './sender.ts'
import type { SequenceGuard } from './sequence-guard.ts'
import { testUseOf } from './test-usage.ts'

export interface BulkParts {
  storage: Storage
  runtime: Runtime
  quotas: TestQuotas
  priceOf: PriceOf
  countryFault: CountryFault
  senders: Senders
  /** Null where nobody looks at numbers in sequence. */
  sequences: SequenceGuard | null
  contacts: Pick<Contacts, 'forSending'>
  /** How many recipients one request may have. */
  recipients_max: number
  tracing?: Tracing | null
  /** Told after a commit that there is something to send, or to tell webhooks of. */
  onQueued: () => void
}

/** What is answered to whoever sends a bulk. */
export type SentBulk = Data<typeof endpoints.send>

/** What is to become a bulk. */
export interface BulkDraft {
  channel: Channel
  total: number
  reached: readonly Reached[]
  /** Who sends a message, and when. */
  sendingOf(reached: Reached): { schedule: Schedule; sender: string | null }
  refused: Refused[]
  duplicates: number
  isStrict: boolean
  /** The bulk whose failed messages these are; a bulk is sent again once. */
  retry_of: string | null
  /** What the answer is kept under, if the caller wants it kept. */
  answer: { route: string; request: unknown; key: string | undefined }
}

/**
 * Accepts a bulk whole. Whoever turns out to be suppressed is refused then, with all the others where it is strict.
 * @throws SvcError when it is refused; nothing is written then.
 */
export async function acceptBulk(
  { storage, runtime, quotas }: { storage: Storage; runtime: Runtime; quotas: TestQuotas },
  identity: KeyIdentity,
  draft: BulkDraft,
): Promise<Answered<SentBulk>> {
  const { workspace_id } = identity
  const bulk_id = runtime.id()
  const at = runtime.now()
  const { channel } = draft
  const messages = draft.reached.map((reached) => {
    const { to: recipient, content, metadata, price } = reached
    const { schedule, sender } = draft.sendingOf(reached)
    const message = { channel, sender, recipient, content, metadata, bulk_id }
    return newMessage(identity, message, { price, schedule, id: runtime.id(), at })
  })
  const debitId = runtime.id()
  const suppressed = new Set<string>()
  // Each round but the last finds at least one more recipient suppressed.
  for (;;) {
    const going = draft.reached.flatMap((reached, i) =>
      suppressed.has(reached.to) ? [] : [{ reached, message: messages[i] as MessageRow }],
    )
    const refused = [...draft.refused, ...suppressedOf(draft, suppressed)]
    if (going.length === 0 || (draft.isStrict && refused.length > 0)) throw refusalOf(refused)
    const rows = going.map(({ message }) => message)
    const prices = going.map(({ reached }) => reached.price)
    const bulk = bulkRow(identity, draft, { id: bulk_id, messages: rows, refused, at })
    const data = answerOf(bulk, going, refused)
    const accepting = {
      workspace_id,
      debit: debitFor(rows, prices, { id: debitId, reference: { type: 'bulk', id: bulk_id } }),
      messages: rows,
      bulk,
      spending: spendingOf(identity, at),
      test_use: await testUseOf(identity, rows, { quotas, at }),
      idempotency: answerFor(identity, draft.answer.key, {
        ...draft.answer,
        response: () => endpoints.send.data.encode(data),
      }),
    }
    const result = await acceptOne(storage, accepting, at)
    if (result.outcome === 'replayed') return replay(result.response)
    if (result.outcome === 'accepted') return { data, replayed: false }
    for (const recipient of result.recipients) suppressed.add(recipient)
  }
}

/** A stored answer, given again. */
export function replay(response: string): Answered<SentBulk> {
  return { data: endpoints.send.data.decode(JSON.parse(response)), replayed: true }
}

function suppressedOf({ reached }: BulkDraft, suppressed: ReadonlySet<string>): Refused[] {
  return reached
    .filter(({ to }) => suppressed.has(to))
    .map(({ index, to }) => ({
      index,
      field: '',
      to,
      error: 'suppressed',
      message: SUPPRESSED_TEXT,
    }))
}

function bulkRow(
  { workspace_id, api_key_id, mode }: KeyIdentity,
  { channel, total, duplicates, retry_of }: BulkDraft,
  {
    id,
    messages,
    refused,
    at,
  }: { id: string; messages: readonly MessageRow[]; refused: readonly Refused[]; at: Date },
): BulkRow {
  return {
    id,
    workspace_id,
    api_key_id,
    channel,
    livemode: mode === 'live',
    total,
    accepted: messages.length,
    rejected: refused.length,
    duplicates,
    credits_used: units(messages.reduce((sum, { credits_used }) => sum + credits_used, 0)),
    retry_of,
    created_at: at,
  }
}

function answerOf(
  { id, total, accepted, rejected, duplicates, credits_used, created_at }: BulkRow,
  going: readonly { reached: Reached; message: MessageRow }[],
  refused: readonly Refused[],
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
    messages: going.map(({ reached: { index, to }, message }) => ({
      index,
      message_id: message.id,
      to,
      status: 'queued',
      credits_used: message.credits_used,
      segments: message.segments,
    })),
    errors: refusedInAnswer(refused),
  }
}
