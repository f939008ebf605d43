import type { Outcome, Report, SendJob } from '../../contract/outside/provider.ts'
import { NOT_CONNECTED, type OnResult, type Pool } from './pool.ts'
import { createReferences } from './references.ts'
import type { SmppSettings, Timing } from './settings.ts'
import type { StatusMeaning } from './status-table.ts'
import { submissionOf } from './submission.ts'
import { type PartResult, partResult, verdictOf } from './verdict.ts'

/** How many messages that are out in part are remembered until they are tried again. */
const BEGUN_MAX = 10_000

interface Begun {
  reference: number | null
  results: (PartResult | null)[]
}

interface SendingParts {
  settings: SmppSettings
  timing: Timing
  meaningOf: (status: number) => StatusMeaning
  /** Null while nothing is connected. */
  pool: () => Pool | null
  /** Takes what becomes known after the outcome was told. */
  tell: (report: Report) => void
}

/** Sends messages over a pool of binds. What is out in part goes on, when tried again, where it stopped. */
export function createSending({ settings, timing, meaningOf, pool, tell }: SendingParts) {
  const references = createReferences(timing.random)
  const begun = new Map<string, Begun>()
  // What is written is waited for as long as any answer may take.
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
      // The core joins it to its part whenever it comes; named, it could be there before the message is `sent`.
      const { provider_message_id } = receipt
      tell({ type: 'receipt', about: null, provider_message_id, receipt })
    }
    if (outcome.type === 'retry') remember(job.message_id, { reference, results })
    return outcome
  }

  /** The first part goes alone: what is refused is nearly always refused with it, and then nothing is out in part. */
  async function submitAll(job: SendJob, pdus: Buffer[], results: Begun['results']): Promise<void> {
    const write_by = performance.now() + write_ms
    const [first, ...rest] = pdus.flatMap((_, i) => (results[i]?.type === 'accepted' ? [] : [i]))
    let isTold = false
    const submit = (i: number) =>
      new Promise<void>((resolve) => {
        const done: OnResult = (result) => {
          results[i] =
            result.type === 'answered' ? partResult(result, settings.id_form, meaningOf) : result
          if (isTold && result.type === 'answered') learn(job, results)
          resolve()
        }
        const open = pool()
        if (open) open.submit(pdus[i] as Buffer, write_by, done)
        else done(NOT_CONNECTED)
      })
    if (first === undefined) return
    await submit(first)
    if (results[first]?.type === 'accepted') await Promise.all(rest.map(submit))
    isTold = true
  }

  /** An answer came after the message was called ambiguous: once nothing is open any more, that is told. */
  function learn(job: SendJob, results: Begun['results']): void {
    const { workspace_id, message_id } = job
    const about = { workspace_id, message_id }
    const { outcome, missing } = verdictOf(message_id, results, true)
    if (outcome.type === 'ambiguous') return
    if (outcome.type !== 'accepted') {
      const { error_code, error_message } = outcome
      const suppress = outcome.type === 'rejected' ? outcome.suppress : undefined
      tell({
        type: 'receipt',
        about,
        provider_message_id: null,
        receipt: {
          status: 'failed',
          provider_message_id: null,
          error_code,
          error_message,
          never_accepted: true,
          ...(suppress && { suppress }),
        },
      })
      return
    }
    const { provider_message_id, part_ids } = outcome
    const receipt = {
      status: 'sent' as const,
      provider_message_id,
      error_code: null,
      error_message: null,
      ...(part_ids && { part_ids }),
    }
    tell({ type: 'receipt', about, provider_message_id, receipt })
    for (const one of missing) {
      tell({
        type: 'receipt',
        about,
        provider_message_id: one.provider_message_id,
        receipt: one,
      })
    }
  }

  function remember(message_id: string, { reference, results }: Begun): void {
    if (!results.some((one) => one?.type === 'accepted')) return
    begun.set(message_id, { reference, results })
    if (begun.size > BEGUN_MAX) begun.delete(begun.keys().next().value as string)
  }

  return (jobs: readonly SendJob[]): Promise<Outcome[]> => Promise.all(jobs.map(sendOne))
}
