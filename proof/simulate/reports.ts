import type {
  Receipt,
  Report,
  SendJob,
  Sink,
} from '../../packages/core/src/contract/outside/provider.ts'
import { elapsedMs, later, running } from './clock.ts'
import type { ProviderName } from './model.ts'
import { carriedOf, dueOf, fateOf, optOutOf, outside, personOf } from './outside.ts'
import { mixed } from './random.ts'
import { UNANSWERED } from './world.ts'

// What providers report by themselves: receipts, late refusals, complaints, and what people write.

/** The number of the service, to which people answer. */
export const SENDER = '+15550000000'

/** The sinks of the running process, by provider. */
export const sinks = new Map<ProviderName, { process: number; sink: Sink }>()

/** A callback, which the provider repeats until it is answered. */
function tell(name: ProviderName, report: Report, what: string, onAnswer: () => void): void {
  const { world, model } = outside
  model.callbacks += 1
  const send = async (): Promise<void> => {
    const body = new TextEncoder().encode(JSON.stringify([report]))
    const url = `http://127.0.0.1:3000/callbacks/${name}`
    const own = sinks.get(name)
    const answer = await world
      .ask(async (core) => {
        if (own?.process !== running.process) {
          return core.providers.callback(name, { method: 'POST', url, headers: {}, body })
        }
        await own.sink.receive([report])
        return { type: 'read' as const }
      })
      .catch((error: Error) => error)
    if (answer === UNANSWERED || answer instanceof Error) return later(() => void send(), 3_000)
    model.callbacks -= 1
    world.trace(`${what}: ${answer.type}`)
    onAnswer()
  }
  void send()
}

function callBack(name: ProviderName, report: Extract<Report, { type: 'receipt' }>): void {
  const { world, model } = outside
  const id = report.about?.message_id ?? ''
  const { status, duration_s } = report.receipt
  tell(name, report, `receipt ${world.nameOf('m', id)} ${status}`, () => {
    world.count('receipts')
    if (duration_s !== undefined) carriedOf(id).isEnded = true
    for (const { addresses } of report.receipt.recipients ?? []) {
      personOf(carriedOf(id), addresses[0]?.toLowerCase() ?? '').reports.push(status)
    }
    const acknowledged = model.receipts.get(id) ?? []
    acknowledged.push(status)
    model.receipts.set(id, acknowledged)
  })
}

type Pattern = readonly (readonly [Receipt['status'], after_ms: number, duration_s?: number])[]

const PATTERNS: readonly Pattern[] = [
  [['delivered', 800]],
  [['delivered', 4_000]],
  [['delivered', 25_000]],
  [
    ['delivered', 1_000],
    ['delivered', 1_000],
  ],
  [
    ['sent', 500],
    ['delivered', 900],
    ['read', 9_000],
  ],
  [
    ['failed', 1_500],
    ['delivered', 7_000],
  ],
  [
    ['delivered', 1_500],
    ['failed', 3_000],
  ],
  [['delivered', 1]],
  [['failed', 2]],
  [['failed', 3_000]],
  [['read', 3_000]],
  [['read', 600]],
  [],
]

const HOUR_MS = 3_600_000

/** The last ones report after the service has returned the held credits. */
const CALL_PATTERNS: readonly Pattern[] = [
  [['delivered', 9_000, 42]],
  [['delivered', 20_000, 61]],
  [
    ['sent', 500],
    ['delivered', 30_000, 119],
  ],
  [
    ['delivered', 1],
    ['delivered', 12_000, 30],
  ],
  [
    ['delivered', 8_000, 65],
    ['delivered', 8_000, 65],
  ],
  [
    ['delivered', 8_000, 65],
    ['delivered', 9_000, 125],
  ],
  [['delivered', 4_000, 600]],
  [['failed', 3_000, 0]],
  [['failed', 3_000]],
  [
    ['failed', 2_000, 0],
    ['delivered', 8_000, 70],
  ],
  [],
  [['delivered', 32 * HOUR_MS, 61]],
  [
    ['delivered', 30 * HOUR_MS, 61],
    ['delivered', 31 * HOUR_MS, 125],
  ],
]

/** The receipts of a message that the provider has: early, late, repeated, contradictory or none. */
export function report(
  name: ProviderName,
  job: SendJob,
  draw: number,
  people: readonly string[],
): void {
  const one = carriedOf(job.message_id)
  const patterns = job.channel === 'voice' ? CALL_PATTERNS : PATTERNS
  const pattern = patterns[draw % patterns.length] ?? []
  const { model } = outside
  const due = dueOf(job)
  for (const [status, after_ms, duration_s] of pattern) {
    model.reports_until_ms = Math.max(model.reports_until_ms, elapsedMs() + after_ms)
    later(() => {
      one.status = status
      if (duration_s !== undefined) one.durations.push(duration_s)
      const named = namedIn(job, people, draw)
      // A report without names, before the outcome is known, is about all recipients of the attempt.
      for (const address of named ?? due) personOf(one, address).wasReported = true
      const receipt = {
        status,
        ...(named && { recipients: named.map((address) => recipientReceipt(address, status)) }),
        provider_message_id: `${name}-${job.message_id}`,
        error_code: status === 'failed' ? failureOf(draw) : null,
        error_message: status === 'failed' ? 'Simulated' : null,
        ...(duration_s !== undefined && { duration_s }),
        ...(isBounce(job, status, draw) && { suppress: 'bounce' as const }),
      }
      const { workspace_id, message_id } = job
      callBack(name, {
        type: 'receipt',
        about: { workspace_id, message_id },
        provider_message_id: receipt.provider_message_id,
        receipt,
      })
    }, after_ms)
  }
}

/** The ids of the parts of a text. */
export const partIdsOf = (id: string, number: number, draw: number): string[] =>
  Array.from({ length: 1 + (mixed(draw, 14) % 3) }, (_, part) => `spare-${id}-${number}-${part}`)

/** The receipts of the parts of a text, which may come before its outcome. They name no message. */
export function reportParts({ message_id }: SendJob, number: number, draw: number): void {
  const { model, world } = outside
  const at = `receipt ${world.nameOf('m', message_id)}`
  for (const [i, part] of partIdsOf(message_id, number, draw).entries()) {
    const pattern = PATTERNS[mixed(draw, 15, i) % PATTERNS.length] ?? []
    for (const [status, after_ms] of pattern) {
      model.reports_until_ms = Math.max(model.reports_until_ms, elapsedMs() + after_ms)
      later(() => {
        const error = status === 'failed' ? 'undelivered' : null
        const failure = { error_code: error, error_message: error }
        const receipt = { status, provider_message_id: part, ...failure }
        const report = { type: 'receipt', about: null, provider_message_id: part, receipt } as const
        tell('spare', report, `${at} part ${i} ${status}`, () => world.count('receipts of parts'))
      }, after_ms)
    }
  }
}

/** It becomes known late that the provider sent the parts of a text. */
export function reportAcceptance(
  { workspace_id, message_id }: SendJob,
  number: number,
  draw: number,
): void {
  const ms = 2_000 + (mixed(draw, 17) % 20_000)
  outside.model.reports_until_ms = Math.max(outside.model.reports_until_ms, elapsedMs() + ms)
  later(() => {
    const receipt = {
      ...{ status: 'sent' as const, provider_message_id: null, error_code: null },
      ...{ error_message: null, part_ids: partIdsOf(message_id, number, draw) },
    }
    const about = { workspace_id, message_id }
    callBack('spare', { type: 'receipt', about, provider_message_id: null, receipt })
  }, ms)
}

/** The recipients that a report names; null: none, so that it is about all of them. */
function namedIn(
  { channel, recipient, recipients }: SendJob,
  people: readonly string[],
  draw: number,
): readonly string[] | null {
  const form = mixed(draw, 9) % 4
  if (form === 0) return null
  // Some reports about a mail to one person name the person, or another address of the person.
  if (channel === 'email' && !recipients && form < 3) {
    return form === 1 ? [recipient] : ['other@people.example']
  }
  if (people.length === 0) return null
  return form === 1 ? people.slice(0, 1) : people
}

/** Some failures are final for the address of a mail to one person. */
const isBounce = ({ channel, recipients }: SendJob, status: string, draw: number): boolean =>
  channel === 'email' && !recipients && status === 'failed' && mixed(draw, 16) % 3 === 0

const failureOf = (draw: number): string => (mixed(draw, 18) % 3 === 0 ? 'bounced' : 'undelivered')

const recipientReceipt = (address: string, status: Receipt['status']) => ({
  addresses: [address.toUpperCase()],
  status,
  error_code: status === 'failed' ? 'undelivered' : null,
  error_message: status === 'failed' ? 'Simulated' : null,
})

/** It becomes known late that the provider never accepted the message. */
export function refuseLate(
  name: ProviderName,
  { workspace_id, message_id, recipient }: SendJob,
  ms: number,
): void {
  const { model } = outside
  const kind = fateOf(recipient) % 4
  model.reports_until_ms = Math.max(model.reports_until_ms, elapsedMs() + ms)
  later(() => {
    const receipt = {
      ...{ status: 'failed' as const, provider_message_id: null, never_accepted: true as const },
      ...(kind === 0
        ? { error_code: null, error_message: null }
        : { error_code: 'refused', error_message: 'Simulated' }),
      ...(kind === 1 && { suppress: 'bounce' as const }),
    }
    const about = { workspace_id, message_id }
    model.refusedLate.add(message_id)
    callBack(name, { type: 'receipt', about, provider_message_id: null, receipt })
  }, ms)
}

/** A recipient presses "spam". */
export function complain(
  name: ProviderName,
  { workspace_id, message_id }: SendJob,
  address: string | undefined,
  after_ms: number,
): void {
  const { world, model, database } = outside
  if (address === undefined) return
  const place = model.places.findIndex(({ id }) => id === workspace_id)
  const one = optOutOf(place, 'email', address)
  later(() => {
    one.toggle.begin()
    const report: Report = {
      type: 'suppress',
      about: { workspace_id, message_id },
      reason: 'complaint',
      addresses: [address],
    }
    tell(name, report, `complaint of ${address}`, () => {
      const isErased = database()
        .prepare('select erased_at is not null from messages where id = ?')
        .pluck()
        .get(message_id)
      // A complaint about an erased message has no address any more.
      one.toggle.end(isErased === 0 ? 'yes' : 'unknown')
      one.since_ms = elapsedMs()
      world.count('complaints')
    })
  }, after_ms)
}

/** What people send with a text. */
const MEDIA = [
  { url: 'https://files.example/photo.jpg', content_type: 'image/jpeg' },
  { url: 'https://files.example/other', content_type: null },
]

/** A person writes to the workspace that sent the message. */
export function write(
  {
    id,
    place,
    channel,
    address,
  }: { id: string; place: number; channel: 'sms' | 'whatsapp'; address: string },
  text: 'stop' | 'start' | 'thanks',
  copies: number,
): void {
  const { world, model } = outside
  const name = channel === 'sms' ? 'plain' : 'asked'
  const written = { provider_message_id: `in-${model.written.length}`, isAnswered: false }
  model.written.push(written)
  const toggles =
    text === 'thanks' ? [] : model.places.map((_, at) => optOutOf(at, channel, address))
  for (const { toggle } of toggles) toggle.begin()
  let open = copies
  const report: Report = {
    type: 'received',
    channel,
    provider_message_id: written.provider_message_id,
    sender: address,
    answers: `${name}-${id}`,
    recipient: SENDER,
    content: { text: text.toUpperCase(), media: text === 'thanks' ? MEDIA : [] },
    ...(channel === 'whatsapp' && { identities: [`user.${fateOf(address)}`] }),
  }
  for (let copy = 0; copy < copies; copy++) {
    tell(name, report, `${text} from ${world.nameOf('r', address)}`, () => {
      written.isAnswered = true
      open -= 1
      // A repetition changes nothing, but the first answer may belong to it.
      if (open > 0) return
      for (const [at, one] of toggles.entries()) {
        // The word holds for each workspace that used the number.
        one.toggle.end(text === 'start' ? 'no' : at === place ? 'yes' : 'unknown')
        one.since_ms = elapsedMs()
      }
    })
  }
}
