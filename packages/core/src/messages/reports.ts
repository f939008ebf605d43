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
import {
  codeOf,
  codeSourceOf,
  mayQuoteCode,
  withoutNumbers,
  withoutQuotes,
} from '../secrets/codes.ts'
import type { CodeKey } from '../secrets/secrets.ts'
import type { Storage } from '../storage/ports/storage.ts'

/** Stores reports that a provider sent by itself. The caller acknowledges them only after the promise resolves. */
export type ReceiveReports = (provider: string, reports: readonly Report[]) => Promise<void>

type ReceiptReport = Extract<Report, { type: 'receipt' }>
type ReceivedReport = Extract<Report, { type: 'received' }>

/** Receipts of a known message. */
interface KnownReceipts {
  about: MessageRef
  receipts: Receipt[]
  suppress?: SuppressionReason
  addresses?: readonly string[]
}

export function createReportIntake({
  storage,
  runtime,
  codeKey,
  receive,
  tracing = null,
}: {
  storage: Storage
  runtime: Runtime
  /** The key under which codes are derived. */
  codeKey: Pick<CodeKey, 'known'>
  /** Stores the messages of recipients. */
  receive: (provider: string, received: readonly ReceivedReport[]) => Promise<void>
  tracing?: Tracing | null
}): {
  receiveReports: ReceiveReports
  /**
   * Reads one page (`PARKED_PAGE`) of the receipts that arrived before their message was known, and settles those whose
   * message is known now. Returns the number of receipts that it read.
   */
  settleParked: () => Promise<number>
} {
  /** The start of the next page: a page full of receipts of unknown messages must not block the later pages. */
  let cursor: Pick<ParkedReceiptRow, 'created_at' | 'id'> | undefined

  /** The receipts of a message without its code, which a provider may quote in the text of a failure. */
  async function withoutCode({ receipts, ...of }: KnownReceipts): Promise<KnownReceipts> {
    if (!receipts.some(mayQuoteCode)) return { ...of, receipts }
    const { workspace_id, message_id } = of.about
    const message = await storage.read.messages.byId(workspace_id, message_id)
    const source = message && codeSourceOf(message.content)
    const key = source && (await codeKey.known())
    if (!source || !key) return { ...of, receipts }
    const code = codeOf(key, source)
    return { ...of, receipts: receipts.map((receipt) => withoutQuotes(receipt, code)) }
  }

  async function settle(provider: string, found: readonly KnownReceipts[]): Promise<void> {
    if (found.length === 0) return
    const known = await Promise.all(found.map(withoutCode))
    const at = runtime.now()
    const settlements = known.map(
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
  }

  /** Finds the messages of receipts by the provider's ids. Null: the message is not known yet. */
  async function identify(
    provider: string,
    reports: readonly { provider_message_id: string; receipt: Receipt }[],
  ): Promise<(KnownReceipts | null)[]> {
    const ids = reports.map(({ provider_message_id }) => provider_message_id)
    const parts = await storage.read.messageParts.byProvider(provider, ids)
    const open_from = new Date(runtime.now().getTime() - OPEN_MAX_MS)
    return reports.map(({ provider_message_id, receipt }) => {
      const part = newestUnfinished(parts, provider_message_id, open_from)
      return part && { about: part, receipts: [{ ...receipt, provider_message_id }] }
    })
  }

  async function receiveReceipts(provider: string, reports: readonly ReceiptReport[]) {
    const known: KnownReceipts[] = []
    const unidentified: { provider_message_id: string; receipt: Receipt }[] = []
    for (const { about, provider_message_id, receipt } of reports) {
      if (about) known.push({ about, receipts: [receipt] })
      else if (provider_message_id !== null) unidentified.push({ provider_message_id, receipt })
    }
    const found = unidentified.length === 0 ? [] : await identify(provider, unidentified)
    const unknown = unidentified.filter((_, i) => !found[i])
    if (unknown.length > 0) {
      const created_at = runtime.now()
      const isCoded = unknown.some(({ receipt }) => mayQuoteCode(receipt))
      // Without a key, no message has a code.
      const mayBeCode = isCoded && (await codeKey.known()) !== null
      const parked = unknown.map(({ provider_message_id, receipt: given }) => {
        const receipt = mayBeCode ? withoutNumbers(given) : given
        return { id: runtime.id(), provider, provider_message_id, receipt, created_at }
      })
      await storage.write(({ parkedReceipts }) => parkedReceipts.park(parked))
    }
    await settle(provider, [...known, ...found.filter((one) => one !== null)])
  }

  return {
    async receiveReports(provider, reports) {
      await receiveReceipts(
        provider,
        reports.filter((report) => report.type === 'receipt'),
      )
      const suppressions = reports.filter((report) => report.type === 'suppress')
      await settle(
        provider,
        suppressions.map(({ about, reason, addresses = [] }) => ({
          about,
          receipts: [],
          suppress: reason,
          addresses,
        })),
      )
      const received = reports.filter((report) => report.type === 'received')
      if (received.length > 0) await receive(provider, received)
    },
    async settleParked() {
      const parked = await storage.read.parkedReceipts.due(PARKED_PAGE, cursor)
      cursor = parked.length === PARKED_PAGE ? parked.at(-1) : undefined
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
          'receipts of unknown messages were dropped',
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

/** The number of parked receipts that are read at a time. */
export const PARKED_PAGE = 1_000

/** A receipt may arrive before the response that has the message's id, by at most this time. */
const PARKED_MAX_MS = 10 * 60_000

/** No receipts are expected for older messages, because networks stop their tries after days. */
const OPEN_MAX_MS = 7 * 24 * 60 * 60_000

/**
 * Providers reuse ids, for example after a restart. Returns the newest part that has the status `sent` and was created after
 * `open_from`, otherwise the newest part. `parts` are sorted newest first.
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

function resultOf({ receipts, suppress, addresses = [] }: KnownReceipts): Settlement['result'] {
  const refused = receipts.find(({ never_accepted }) => never_accepted)
  if (refused) return { task: 'refused', receipt: refused }
  return { task: 'callback', receipts, ...(suppress && { suppress, addresses }) }
}
