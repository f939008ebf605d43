import type {
  MessageRef,
  Receipt,
  Report,
  SuppressionReason,
} from '../contract/outside/provider.ts'
import type { MessagePartRow, ParkedReceiptRow } from '../rows/rows.ts'
import type { Settlement } from '../rules/settlement.ts'
import type { Runtime } from '../runtime/runtime.ts'
import type { Tracing } from '../runtime/tracing.ts'
import type { Storage } from '../storage/ports/storage.ts'

/** Takes in what providers tell by themselves. Resolves when all of it is stored: only then may it be acknowledged. */
export type ReceiveReports = (provider: string, reports: readonly Report[]) => Promise<void>

type ReceiptReport = Extract<Report, { type: 'receipt' }>
type ReceivedReport = Extract<Report, { type: 'received' }>

/** A receipt whose message is known. */
interface Told {
  about: MessageRef
  receipts: Receipt[]
  suppress?: SuppressionReason
}

export function createReportIntake({
  storage,
  runtime,
  receive,
  onSettled,
  tracing = null,
}: {
  storage: Storage
  runtime: Runtime
  /** Takes what recipients wrote. */
  receive: (provider: string, received: readonly ReceivedReport[]) => Promise<void>
  /** Told when deliveries may have been queued. */
  onSettled: () => void
  tracing?: Tracing | null
}): {
  receiveReports: ReceiveReports
  /** Settles receipts whose messages are known by now, of so many at a time; says how many it looked at. */
  settleParked: () => Promise<number>
} {
  /** Where the next look goes on: many of nobody's must not hide those behind them. */
  let looked: Pick<ParkedReceiptRow, 'created_at' | 'id'> | undefined

  async function settle(provider: string, told: readonly Told[]): Promise<void> {
    if (told.length === 0) return
    const at = runtime.now()
    const settlements = told.map(
      (one): Settlement => ({
        workspace_id: one.about.workspace_id,
        message_id: one.about.message_id,
        token: null,
        provider,
        abilities: { idempotent: false, lookup: false },
        result: resultOf(one),
        at,
      }),
    )
    const store = () => storage.hot.settle(settlements)
    await (tracing ? tracing.settle(settlements.length, [], store) : store())
    onSettled()
  }

  /** Whose receipts these are, found by the provider's own ids; those of nobody known yet. */
  async function identify(
    provider: string,
    reports: readonly { provider_message_id: string; receipt: Receipt }[],
  ): Promise<(Told | null)[]> {
    const ids = reports.map(({ provider_message_id }) => provider_message_id)
    const parts = await storage.read.messageParts.byProvider(provider, ids)
    const open_from = new Date(runtime.now().getTime() - OPEN_MAX_MS)
    return reports.map(({ provider_message_id, receipt }) => {
      const part = newestUnfinished(parts, provider_message_id, open_from)
      return part && { about: part, receipts: [{ ...receipt, provider_message_id }] }
    })
  }

  async function receiveReceipts(provider: string, reports: readonly ReceiptReport[]) {
    const told: Told[] = []
    const nameless: { provider_message_id: string; receipt: Receipt }[] = []
    for (const { about, provider_message_id, receipt } of reports) {
      if (about) told.push({ about, receipts: [receipt] })
      else if (provider_message_id !== null) nameless.push({ provider_message_id, receipt })
    }
    const found = nameless.length === 0 ? [] : await identify(provider, nameless)
    const unknown = nameless.filter((_, i) => !found[i])
    if (unknown.length > 0) {
      const created_at = runtime.now()
      const parked = unknown.map((one) => ({ ...one, id: runtime.id(), provider, created_at }))
      await storage.write(({ parkedReceipts }) => parkedReceipts.park(parked))
    }
    await settle(provider, [...told, ...found.filter((one) => one !== null)])
  }

  return {
    async receiveReports(provider, reports) {
      await receiveReceipts(
        provider,
        reports.filter((report) => report.type === 'receipt'),
      )
      const unwanted = reports.filter((report) => report.type === 'suppress')
      await settle(
        provider,
        unwanted.map(({ about, reason }) => ({ about, receipts: [], suppress: reason })),
      )
      const received = reports.filter((report) => report.type === 'received')
      if (received.length > 0) await receive(provider, received)
    },
    async settleParked() {
      const parked = await storage.read.parkedReceipts.due(PARKED_PAGE, looked)
      looked = parked.length === PARKED_PAGE ? parked.at(-1) : undefined
      const gone: string[] = []
      for (const provider of new Set(parked.map((one) => one.provider))) {
        const mine = parked.filter((one) => one.provider === provider)
        const found = await identify(provider, mine)
        await settle(
          provider,
          found.filter((one) => one !== null),
        )
        gone.push(...mine.filter((_, i) => found[i]).map(({ id }) => id))
      }
      const settled = new Set(gone)
      const before = runtime.now().getTime() - PARKED_MAX_MS
      const stale = parked.filter(
        ({ id, created_at }) => !settled.has(id) && created_at.getTime() < before,
      )
      if (stale.length > 0) {
        const providers = [...new Set(stale.map(({ provider }) => provider))]
        runtime.log.warn(
          { receipts: stale.length, providers },
          'receipts told of messages that nobody knows',
        )
      }
      const ended = [...gone, ...stale.map(({ id }) => id)]
      if (ended.length > 0) {
        await storage.write(({ parkedReceipts }) => parkedReceipts.remove(ended))
      }
      return parked.length
    },
  }
}

/** So many parked receipts are looked at in one go. */
export const PARKED_PAGE = 1_000

/** A receipt may come before the answer to the request that it tells of; by then it never will. */
const PARKED_MAX_MS = 10 * 60_000

/** What was sent before and is still open is told of no more: networks give a message up after days. */
const OPEN_MAX_MS = 7 * 24 * 60 * 60_000

/**
 * Providers give an id again, after a restart for example: what is still open is meant, if it was sent after
 * `open_from`, and of several the newest; else the newest of all. The parts come newest first.
 */
function newestUnfinished(
  parts: readonly MessagePartRow[],
  id: string,
  open_from: Date,
): MessagePartRow | null {
  const mine = parts.filter(({ provider_message_id }) => provider_message_id === id)
  const open = mine.find((part) => part.status === 'sent' && part.created_at > open_from)
  return open ?? mine[0] ?? null
}

function resultOf({ receipts, suppress }: Told): Settlement['result'] {
  const refused = receipts.find(({ never_accepted }) => never_accepted)
  if (refused) return { task: 'refused', receipt: refused }
  return { task: 'callback', receipts, ...(suppress && { suppress }) }
}
