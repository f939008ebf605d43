import type {
  MessageRef,
  Outcome,
  Receipt,
  Report,
  SendJob,
} from '../../contract/outside/provider.ts'
import { destinationOf, sourceOf } from './address.ts'
import { partsOf } from './message-parts.ts'
import { submitSm } from './pdu.ts'
import { NOT_CONNECTED, type OnResult, type Pool } from './pool.ts'
import type { SmppSettings, Timing } from './settings.ts'
import type { StatusMeaning } from './status-table.ts'
import { type PartResult, partResult, verdictOf } from './verdict.ts'

const PAIRS_MAX = 50_000
/** The maximum number of partly sent messages that are remembered until their retry. */
const BEGUN_MAX = 10_000

interface Begun {
  reference: number | null
  results: (PartResult | null)[]
}

interface SendingParts {
  settings: SmppSettings
  timing: Timing
  meaningOf: (status: number) => StatusMeaning
  /** Returns null while the provider has no open connections. */
  pool: () => Pool | null
  /** Receives results that come after the outcome. */
  report: (report: Report) => void
}

/** Sends messages over a pool of binds. The retry of a partly sent message continues where it stopped. */
export function createSending(parts: SendingParts) {
  const { settings, timing, meaningOf, pool, report } = parts
  const references = createReferences(timing.random)
  const begun = new Map<string, Begun>()
  // The rest of the time is for the answer to the last PDU.
  const write_ms = timing.send_ms - timing.response_ms

  async function sendOne(job: SendJob): Promise<Outcome> {
    const before = begun.get(job.message_id)
    begun.delete(job.message_id)
    let reference = before?.reference ?? null
    const pdus = submissionOf(job, settings, () => {
      reference ??= references(job.sender, job.recipient)
      return reference
    })
    if (!Array.isArray(pdus)) return { type: 'rejected', ...pdus }
    const results: (PartResult | null)[] = before?.results ?? pdus.map(() => null)
    await submitAll(job, pdus, results)
    const { outcome, missing } = verdictOf(job.message_id, results, false)
    for (const receipt of missing) {
      // This receipt does not name the message, so the core matches it to its part later. A receipt that names the
      // message could be stored before `sent`.
      reportReceipt(null, receipt)
    }
    if (outcome.type === 'retry') remember(job.message_id, { reference, results })
    return outcome
  }

  /** Sends the first part alone. Most refusals occur at the first part, and then the message is not partly sent. */
  async function submitAll(job: SendJob, pdus: Buffer[], results: Begun['results']): Promise<void> {
    const write_by = performance.now() + write_ms
    const [first, ...rest] = pdus.flatMap((_, i) => (results[i]?.type === 'accepted' ? [] : [i]))
    const is_begun = () => results.some((one) => one?.type === 'accepted')
    let isOver = false
    const submit = (i: number) =>
      new Promise<void>((resolve) => {
        const done: OnResult = (result) => {
          results[i] =
            result.type === 'answered' ? partResult(result, settings.id_form, meaningOf) : result
          if (isOver && result.type === 'answered') reportLate(job, results)
          resolve()
        }
        const open = pool()
        if (open) open.submit(pdus[i] as Buffer, { write_by, is_begun }, done)
        else done(NOT_CONNECTED)
      })
    if (first === undefined) return
    await submit(first)
    if (results[first]?.type === 'accepted') await Promise.all(rest.map(submit))
    isOver = true
  }

  /** Called for an answer after the outcome `ambiguous`. Reports the final outcome once every part has a result. */
  function reportLate(job: SendJob, results: Begun['results']): void {
    const { workspace_id, message_id } = job
    const about = { workspace_id, message_id }
    const { outcome, missing } = verdictOf(message_id, results, true)
    if (outcome.type === 'ambiguous') return
    if (outcome.type !== 'accepted') {
      const { error_code, error_message } = outcome
      const suppress = outcome.type === 'rejected' ? outcome.suppress : undefined
      reportReceipt(about, {
        status: 'failed',
        provider_message_id: null,
        error_code,
        error_message,
        never_accepted: true,
        ...(suppress && { suppress }),
      })
      return
    }
    const { provider_message_id, part_ids } = outcome
    reportReceipt(about, {
      status: 'sent',
      provider_message_id,
      error_code: null,
      error_message: null,
      ...(part_ids && { part_ids }),
    })
    for (const receipt of missing) reportReceipt(about, receipt)
  }

  function reportReceipt(about: MessageRef | null, receipt: Receipt): void {
    const { provider_message_id } = receipt
    report({ type: 'receipt', about, provider_message_id, receipt })
  }

  function remember(message_id: string, { reference, results }: Begun): void {
    if (!results.some((one) => one?.type === 'accepted')) return
    begun.set(message_id, { reference, results })
    if (begun.size > BEGUN_MAX) begun.delete(begun.keys().next().value as string)
  }

  return (jobs: readonly SendJob[]): Promise<Outcome[]> => Promise.all(jobs.map(sendOne))
}

/**
 * Numbers the long texts from one sender to one recipient, from 0 to 255 and again from 0, because a phone must not
 * join two texts that are in flight at once. Starts at a random number, so that texts before and after a restart
 * rarely have the same number. Beyond `pairs_max` pairs, the least recently used pair is forgotten.
 */
export function createReferences(
  random: () => number,
  pairs_max = PAIRS_MAX,
): (sender: string | null, recipient: string) => number {
  const last = new Map<string, number>()
  return (sender, recipient) => {
    const pair = `${sender ?? ''}\n${recipient}`
    const before = last.get(pair) ?? Math.floor(random() * 256)
    const reference = (before + 1) % 256
    // Deleted first, so that the map is sorted by the latest use.
    last.delete(pair)
    last.set(pair, reference)
    if (last.size > pairs_max) last.delete(last.keys().next().value as string)
    return reference
  }
}

/** The error of a message that no SMSC could accept. */
interface Unsendable {
  error_code: string
  error_message: string
}

const REGISTERED: Record<SmppSettings['receipts'], number> = { none: 0x00, final: 0x01, all: 0x11 }

/** The submit_sm PDUs of a message, one for each part, in order. */
function submissionOf(
  job: SendJob,
  settings: SmppSettings,
  reference: () => number,
): Buffer[] | Unsendable {
  const { text } = job.content as { text?: unknown }
  if (typeof text !== 'string' || text === '') return INVALID.content
  const source = sourceOf(job.sender, settings.addresses)
  if (!source) return INVALID.sender
  const destination = destinationOf(job.recipient, settings.addresses)
  if (!destination) return INVALID.recipient
  const parts = partsOf(text, { ...settings, reference })
  if (typeof parts === 'string') return INVALID[parts]
  const { service_type, receipts, validity_hours } = settings
  const registered_delivery = REGISTERED[receipts]
  const validity_period = validity_hours === undefined ? '' : validityOf(validity_hours)
  const common = { service_type, source, destination, validity_period, registered_delivery }
  return parts.map((part) => submitSm({ ...common, ...part }))
}

/** Encodes a relative validity period in whole hours: SMPP 3.4 section 7.1.1. */
function validityOf(hours: number): string {
  const two = (count: number) => String(count).padStart(2, '0')
  return `0000${two(Math.floor(hours / 24))}${two(hours % 24)}0000000R`
}

const INVALID = {
  content: { error_code: 'invalid_content', error_message: 'smpp: The message has no text' },
  sender: {
    error_code: 'sender_invalid',
    error_message: 'smpp: The sender is neither a number nor 1 to 11 characters of GSM-7',
  },
  recipient: {
    error_code: 'invalid_recipient',
    error_message: 'smpp: The recipient is not a phone number',
  },
  too_many_parts: {
    error_code: 'too_many_parts',
    error_message: 'smpp: The text has more parts than are allowed',
  },
  alphabet: {
    error_code: 'invalid_content',
    error_message: "smpp: The SMSC's alphabet lacks a character of the text",
  },
} satisfies Record<string, Unsendable>
