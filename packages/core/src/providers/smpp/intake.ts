import type { Report, Sink } from '../../contract/outside/provider.ts'
import { ownSenderOf, textOfAddress } from './address.ts'
import { decodeText, encodeUcs2, type Languages } from './charset.ts'
import type { Place } from './message-parts.ts'
import { type Delivery, TLV } from './pdu.ts'
import { receiptOf } from './receipt.ts'
import type { SmppSettings } from './settings.ts'
import { STATUS } from './status-table.ts'

/** The maximum number of reports that wait to be stored. The SMSC must repeat any further reports. */
const WAITING_MAX = 5000
const BATCH_MAX = 500

interface Arrival {
  report: Report
  answer: (status: number) => void
}

/**
 * Stores the reports of the SMSC in batches, and acknowledges each one after it is stored. Reports that arrive while a batch
 * is being stored form the next batch and share its commit.
 */
export function createIntake(receive: Sink['receive']) {
  const waiting: Arrival[] = []
  let pumping: Promise<void> | null = null

  async function pump(): Promise<void> {
    // Lets the other reports of the same packet join the batch.
    await Promise.resolve()
    while (waiting.length > 0) {
      const batch = waiting.splice(0, BATCH_MAX)
      const status = await store(batch.map(({ report }) => report))
      for (const { answer } of batch) answer(status)
    }
    pumping = null
  }

  async function store(reports: Report[]): Promise<number> {
    try {
      await receive(reports)
      return STATUS.ok
    } catch {
      // The SMSC keeps the reports and sends them again.
      return STATUS.temporary_error
    }
  }

  return {
    /** Stores a report. `answer` receives the status for the SMSC. */
    add(report: Report, answer: (status: number) => void): void {
      if (waiting.length >= WAITING_MAX) {
        answer(STATUS.temporary_error)
        return
      }
      waiting.push({ report, answer })
      pumping ??= pump()
    },
    /** Resolves when every report has its answer. */
    async idle(): Promise<void> {
      await pumping
    },
  }
}

const AGAIN_MS = 1000
const TRIES_MAX = 300
const OPEN_MAX = 5000

type Store = (report: Report, done: (isStored: boolean) => void) => void

/**
 * Stores reports that the SMSC does not repeat, such as a late answer. Retries for five minutes. Reports that come
 * before `open`, or that exceed the limit, are lost.
 */
export function createOwnReports() {
  let store: Store | null = null
  const timers = new Set<NodeJS.Timeout>()

  function attempt(report: Report, tries: number): void {
    store?.(report, (isStored) => {
      if (isStored || !store || tries >= TRIES_MAX || timers.size >= OPEN_MAX) return
      const timer = setTimeout(() => {
        timers.delete(timer)
        attempt(report, tries + 1)
      }, AGAIN_MS)
      timers.add(timer)
    })
  }

  return {
    open(by: Store): void {
      store = by
    },
    add: (report: Report): void => attempt(report, 1),
    close(): void {
      store = null
      for (const timer of timers) clearTimeout(timer)
      timers.clear()
    },
  }
}

const EVERY_MS = 60_000

/** Notes a delivery that cannot be stored, and the reason. */
export type UnusableNotes = (reason: string) => void

/**
 * Notes deliveries that cannot be stored, at most one line a minute. `count` is the number of deliveries since the
 * previous line, and `reason` is the reason of the latest delivery.
 */
export function createUnusableNotes(
  note: (fields: { reason: string; count: number }) => void,
  now_ms: () => number = () => performance.now(),
): UnusableNotes {
  let noted_at = Number.NEGATIVE_INFINITY
  let count = 0
  return (reason) => {
    count += 1
    if (now_ms() - noted_at < EVERY_MS) return
    noted_at = now_ms()
    note({ reason, count })
    count = 0
  }
}

/** Bits of esm_class (SMPP 3.4 section 5.2.12): the type of the message, and whether it has a user data header. */
const TYPE_MASK = 0x3c
const MESSAGE = 0x00
const RECEIPT = 0x04
const INTERMEDIATE = 0x20
const UDH_INDICATOR = 0x40

/** Converts a deliver_sm or a data_sm to a report, or returns the reason why it cannot be stored. */
export function reportOf(
  delivery: Delivery,
  settings: SmppSettings,
): Report | { unusable: string } {
  const type = delivery.esm_class & TYPE_MASK
  // A text from a phone has neither of these (SMPP 3.4 sections 4.6.1.1 and 4.7.3).
  const isReceipt =
    delivery.tlvs.has(TLV.receipted_message_id) || delivery.tlvs.has(TLV.message_state)
  if (type === RECEIPT || type === INTERMEDIATE || (type === MESSAGE && isReceipt)) {
    return receiptReport(delivery, settings, type === INTERMEDIATE)
  }
  if (type !== MESSAGE) return { unusable: 'neither a text nor a receipt' }
  return receivedReport(delivery, settings)
}

function receiptReport(
  delivery: Delivery,
  settings: SmppSettings,
  isIntermediate: boolean,
): Report | { unusable: string } {
  // Labels are ASCII, and every alphabet has the same codes for their characters.
  const { octets, data_coding } = withoutHeader(delivery)
  const text = decodeText(octets, data_coding === 0 ? 3 : data_coding, settings.alphabet)
  const receipt = receiptOf(delivery, text ?? '', settings, isIntermediate)
  if (!receipt) return { unusable: 'a receipt without an id' }
  const { provider_message_id } = receipt
  return { type: 'receipt', about: null, provider_message_id, receipt }
}

function receivedReport(delivery: Delivery, settings: SmppSettings): Report | { unusable: string } {
  const { octets, data_coding, header } = withoutHeader(delivery)
  const elements = elementsOf(header)
  const text = decodeText(octets, data_coding, settings.alphabet, languagesOf(elements))
  if (text === null) return { unusable: 'a message that is not a text' }
  const place = placeOf(elements) ?? placeOfTlvs(delivery)
  const common = {
    type: 'received' as const,
    channel: 'sms' as const,
    provider_message_id: null,
    sender: textOfAddress(delivery.source, settings.default_country),
    recipient: ownSenderOf(delivery.destination, settings.senders ?? [], settings.default_country),
  }
  if (!place) return { ...common, content: { text: storable(text), media: [] } }
  // A surrogate pair may be split between two parts, so the units are stored as hex until the parts are joined.
  const units = encodeUcs2(text.replaceAll('\0', '\ufffd')).toString('hex')
  return { ...common, content: { text: null, media: [] }, part: { ...place, units } }
}

/** No database stores U+0000 or half of a surrogate pair. */
function storable(text: string): string {
  return text.toWellFormed().replaceAll('\0', '\ufffd')
}

const NO_HEADER = Buffer.alloc(0)

/** Separates the user data header. A header that is longer than the message is ignored. 3GPP TS 23.040 clause 9.2.3.24. */
function withoutHeader({ esm_class, octets, data_coding }: Delivery) {
  const length = (esm_class & UDH_INDICATOR) === 0 ? 0 : (octets[0] ?? 0) + 1
  if (length === 0 || length > octets.length) return { octets, data_coding, header: NO_HEADER }
  return { octets: octets.subarray(length), data_coding, header: octets.subarray(1, length) }
}

/** The elements of a user data header by their identifiers. Of a repeated element, the last one counts (clause 9.2.3.24). */
function elementsOf(header: Buffer): ReadonlyMap<number, Buffer> {
  const elements = new Map<number, Buffer>()
  for (let at = 0; at + 2 <= header.length; at += 2 + (header[at + 1] as number)) {
    const value = header.subarray(at + 2, at + 2 + (header[at + 1] as number))
    if (value.length === header[at + 1]) elements.set(header[at] as number, value)
  }
  return elements
}

/** Finds the place of a part, with an 8-bit or a 16-bit reference (clauses 9.2.3.24.1 and 9.2.3.24.8). */
function placeOf(elements: ReadonlyMap<number, Buffer>): Place | null {
  const short = elements.get(0x00)
  if (short?.length === 3) return valid(short.readUInt8(0), short.readUInt8(1), short.readUInt8(2))
  const long = elements.get(0x08)
  if (long?.length === 4) return valid(long.readUInt16BE(0), long.readUInt8(2), long.readUInt8(3))
  return null
}

/** The national language single shift and locking shift (clauses 9.2.3.24.15 and 9.2.3.24.16). */
function languagesOf(elements: ReadonlyMap<number, Buffer>): Languages {
  return { single: elements.get(0x24)?.[0] ?? 0, locking: elements.get(0x25)?.[0] ?? 0 }
}

function placeOfTlvs({ tlvs }: Delivery): Place | null {
  const reference = tlvs.get(TLV.sar_reference)
  const total = tlvs.get(TLV.sar_total)
  const number = tlvs.get(TLV.sar_number)
  if (reference?.length !== 2 || total?.length !== 1 || number?.length !== 1) return null
  return valid(reference.readUInt16BE(0), total.readUInt8(0), number.readUInt8(0))
}

/** Returns null if the numbers are invalid, or if the text has only one part. */
function valid(reference: number, total: number, number: number): Place | null {
  return total < 2 || number < 1 || number > total ? null : { reference, total, number }
}
