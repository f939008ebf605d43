import type {
  LookupJob,
  LookupResult,
  Outcome,
  Receipt,
  RecipientOutcome,
  Report,
  SendJob,
  Sink,
} from '../../packages/core/src/contract/outside/provider.ts'
import { elapsedMs, isWaking, later, running } from './clock.ts'
import { checkCall } from './invariants/attempts.ts'
import { checkRequest } from './invariants/deliveries.ts'
import {
  type Call,
  type Carried,
  connectionsOf,
  createToggle,
  hasLookup,
  type Model,
  type Person,
  type Post,
  PROVIDERS,
  type ProviderName,
} from './model.ts'
import { mixed } from './random.ts'
import { type Connection, type Network, UNANSWERED, type World } from './world.ts'

const { readVerbs } = await import('../../packages/core/src/twiml/send-replies.ts')
// Loads the parser of TwiML, which the service loads for the first reply: this takes time of the machine.
await readVerbs('<Response/>')

const { defineProvider } = await import(
  '../../packages/core/src/providers/defined/define-provider.ts'
)

/** The world and what is known of it; both are replaced for each seed, because providers are defined once. */
export interface Outside {
  world: World
  model: Model
  /** Reads the database of the running service. */
  database(): Connection
}

export let outside: Outside
export function setOutside(next: Outside): void {
  outside = next
}

/** The number of the service, to which people answer. */
const SENDER = '+15550000000'

/** The sinks of the running process, by provider. */
const sinks = new Map<ProviderName, { process: number; sink: Sink }>()

const providers = PROVIDERS.map(({ name, channel }) =>
  defineProvider({
    name,
    traits: {
      channels: [channel],
      idempotent: name === 'once',
      several_recipients: channel === 'email',
      ...(name === 'spare' && { messages_per_second: 10 }),
      ...(channel !== 'email' && { senders: { [channel]: [SENDER] } }),
    },
    send: (jobs, { note_call }) => {
      const batch: Call[] = []
      return jobs.map(async (job) => {
        const began_ms = elapsedMs()
        const outcome = await carry(name, job, batch)
        note_call?.(elapsedMs() - began_ms)
        return outcome
      })
    },
    // Its reports come on a connection that it keeps.
    ...(name === 'called' && {
      listen: (sink: Sink) => {
        sinks.set(name, { process: running.process, sink })
        return {
          states: () => [{ name: 'line', state: 'up' as const, detail: '' }],
          close: async () => void sinks.delete(name),
        }
      },
    }),
    check: () => (outside.model.moods[name] === 'down' ? 'It is down' : null),
    ...(hasLookup(name) && { lookup: (jobs) => jobs.map((job) => lookUp(name, job)) }),
    readCallback: ({ body }) => ({
      type: 'read',
      reports: JSON.parse(new TextDecoder().decode(body)) as Report[],
    }),
  }),
)

/** The senders of a provider. */
export const sendersOf = (name: ProviderName): string[] => (name === 'once' ? [] : [SENDER])

const MARK = Symbol.for('svc.provider')

/** The providers of a seed. */
export const providersOf = (seed: number) =>
  providers.map((provider) => {
    const connections = connectionsOf(seed, provider.name as ProviderName)
    // In some seeds, the provider of e-mails signs them with the keys of domains.
    const signs = provider.name === 'once' && mixed(seed, 18) % 2 === 0
    if (connections === null && !signs) return provider
    const traits = { ...provider.traits, signs, ...(connections !== null && { connections }) }
    return Object.defineProperty({ ...provider, traits }, MARK, { value: true })
  })

/** What was sent to a suspended machine is sent again within this time after it woke up. */
const SENT_AGAIN_MS = 12_000

/** For this time after the machine woke up, calls take longer, up to the second time. */
const SLOW_NETWORK_MS = 15_000
const SLOW_NETWORK_CALL_MS = 20_000

/** Resolves after `ms`, unless the process that asks was killed meanwhile. */
export function answerIn<T>(ms: number, answer: () => T): Promise<T> {
  const asking = running.process
  return new Promise((resolve, reject) => {
    function arrive(): void {
      if (asking !== running.process) return
      if (isWaking()) {
        later(arrive, mixed(outside.world.seed, Math.floor(elapsedMs()), ms) % SENT_AGAIN_MS)
        return
      }
      try {
        resolve(answer())
      } catch (error) {
        reject(error)
      }
    }
    later(arrive, ms)
  })
}

const never = <T>(): Promise<T> => new Promise<T>(() => {})

function carriedOf(id: string): Carried {
  const { carried } = outside.model
  const known = carried.get(id)
  if (known) return known
  const one: Carried = {
    calls: 0,
    copies: 0,
    mayRepeat: true,
    status: 'sent',
    mayArrive: false,
    part_of: null,
    follows: 0,
    durations: [],
    isEnded: false,
    people: new Map(),
    not_before_ms: null,
  }
  carried.set(id, one)
  return one
}

/** After this time, a message was accepted before the opt-out and has waited. */
const OPTED_OUT_MS = 300_000

function assertMayReach(job: SendJob, recipient: string): void {
  const { workspace_id, message_id, channel, content } = job
  const { world, model } = outside
  const place = model.places.findIndex(({ id }) => id === workspace_id)
  const { toggle, since_ms } = optOutOf(place, channel, recipient)
  if (toggle.state !== 'yes' || model.isClockSet || elapsedMs() < since_ms + OPTED_OUT_MS) return
  // The service's own answers to the words name them.
  if (JSON.stringify(content).includes('Reply ST')) return
  world.violate('an opt-out holds', `${world.nameOf('m', message_id)} was sent`)
}

/** A mail that was read with its domain is sent within this time. */
const DOMAIN_READ_MS = 5_000

function assertMaySendFrom({ workspace_id, message_id, content }: SendJob): void {
  const { world, model } = outside
  const { from_address } = content as { from_address?: string }
  const domain = model.domains.find(
    ({ place, name }) =>
      model.places[place]?.id === workspace_id && from_address?.endsWith(`@${name}`),
  )
  if (domain?.usable.state !== 'no' || domain.isLost) return
  if (elapsedMs() < domain.since_ms + DOMAIN_READ_MS) return
  const at = `${world.nameOf('m', message_id)} from ${domain.name}`
  world.violate('only a verified domain is used', at)
}

/** A message of a bulk that was claimed before the pause is sent within this time. */
const CLAIMED_MS = 15_000

function assertNotPaused({ workspace_id, message_id }: SendJob): void {
  const { world, model, database } = outside
  if (model.bulkPauses.size === 0) return
  const find = database()
    .prepare('select bulk_id from messages where workspace_id = ? and id = ?')
    .pluck()
  const paused = model.bulkPauses.get((find.get(workspace_id, message_id) as string | null) ?? '')
  if (paused?.toggle.state !== 'yes') return
  const { since_ms } = paused
  if (elapsedMs() < since_ms + CLAIMED_MS || model.sleeps.some((at) => at >= since_ms)) return
  world.violate('a paused bulk sends nothing', `${world.nameOf('m', message_id)} was sent`)
}

/** A message from a template has the text of its version, with all values. */
function assertVersion({ workspace_id, message_id, content }: SendJob): void {
  const { world, model, database } = outside
  const row = database()
    .prepare('select template, template_version from messages where workspace_id = ? and id = ?')
    .get(workspace_id, message_id) as { template: string | null; template_version: number }
  if (!row?.template) return
  const { text, html } = content as { text?: string; html?: string }
  const at = `${world.nameOf('m', message_id)} of ${row.template} ${row.template_version}`
  const mark = model.published.get(`${workspace_id} ${row.template} ${row.template_version}`)
  for (const part of [text, html]) {
    if (part === undefined) continue
    const isOther = mark !== undefined && !part.includes(`#${mark}#`)
    if (!isOther && !part.includes('{{')) continue
    world.violate('a message has the text of its version', `${at}: ${part.slice(0, 200)}`)
  }
}

function carry(name: ProviderName, job: SendJob, batch: Call[]): Promise<Outcome> {
  const { world, model, database } = outside
  const id = job.message_id
  const due = dueOf(job)
  for (const address of job.recipients ? due : [job.recipient]) assertMayReach(job, address)
  assertMaySendFrom(job)
  assertNotPaused(job)
  assertVersion(job)
  const one = carriedOf(id)
  checkCall({ world, model, database: database() }, name, job, one)
  if (!one.mayRepeat && name !== 'once') {
    world.violate('an unknown outcome is not repeated', `${name}: ${world.nameOf('m', id)}`)
  }
  if (one.part_of !== null && one.part_of !== name) {
    const at = `${world.nameOf('m', id)} by ${name}, after a part by ${one.part_of}`
    world.violate('a message that was sent in part stays with its provider', at)
  }
  assertFiles(job)
  one.calls += 1
  const { attempt } = job
  const fate = fateOfJob(job)
  const draw = mixed(fate, one.calls)
  const call: Call = {
    message_id: id,
    attempt,
    began_ms: elapsedMs(),
    answer: null,
    batch,
    due,
    listed: [],
  }
  batch.push(call)
  model.calls.push(call)
  const hasIt = (mixed(draw, 1) & 1) === 1
  const mood = model.calm ? 'well' : model.moods[name]
  // A provider that recognises repetitions accepts the repetition of a message that it has.
  const isKnown = name === 'once' && one.copies > 0 && draw % 100 < 80
  // The outcome of a mail to several is often unknown, so that some of them complain before it is sent again.
  const isDoubtful = due.length > 1 && mixed(draw, 11) % 3 === 0
  const kind = model.calm || isKnown ? 0 : isDoubtful ? 80 + (draw % 12) : draw % 100
  const isUnsure = mood === 'silent' || (kind >= 80 && kind < 92)
  const slow = 5_000 + (mixed(draw, 4) % 19_000)
  const isAwake = elapsedMs() - model.woke_ms > SLOW_NETWORK_MS
  const usual = 3 + (mixed(draw, 2) % (isAwake ? 400 : SLOW_NETWORK_CALL_MS))
  const latency = mixed(draw, 6) % 16 === 0 ? slow : usual
  const take = () => {
    one.copies += 1
    readText(job)
    const refused = new Set(call.listed.map(({ address }) => address))
    const taken = due.filter((address) => !refused.has(address))
    for (const address of taken) personOf(one, address).copies += 1
    // Who gets a mail whose outcome is unknown may complain before it is sent again.
    if (isUnsure || mixed(draw, 8) % 4 === 0) {
      complain(name, job, taken[draw % taken.length], 100 << (mixed(draw, 10) % 8))
    }
    if (one.copies > 1 && name !== 'once' && !one.mayRepeat) {
      world.violate('an unknown outcome is not repeated', `${world.nameOf('m', id)} arrived twice`)
    }
    if (name === 'spare') reportParts(job, one.calls, draw)
    else report(name, job, mixed(draw, 3), taken)
  }
  const end = (
    text: string,
    ms: number,
    outcome: Outcome,
    mayRepeat: boolean,
  ): Promise<Outcome> => {
    one.mayRepeat = false
    const number = one.calls
    world.trace(`${name} ${world.nameOf('m', id)} call ${number}: ${text}`)
    return answerIn(ms, () => {
      call.answer = { type: outcome.type, at_ms: elapsedMs() }
      // After a later call, the answer comes too late.
      if (number < one.calls) return outcome
      one.mayRepeat = mayRepeat
      if (outcome.type === 'retry') one.not_before_ms = elapsedMs() + (outcome.delay_ms ?? 0)
      return outcome
    })
  }
  const failed = { error_code: 'simulated', error_message: 'Simulated' }
  world.count(`call ${mood === 'well' ? 'by fate' : mood}`)
  if (mood === 'down') return end('down', 5, { type: 'retry', ...failed, delay_ms: null }, true)
  if (mood === 'busy') {
    return end('busy', 5, { type: 'retry', ...failed, delay_ms: 1_000 + (draw % 20_000) }, true)
  }
  if (mood === 'silent') {
    if (hasIt) take()
    one.mayRepeat = false
    world.trace(`${name} ${world.nameOf('m', id)} call ${one.calls}: silence`)
    return never()
  }
  if (kind < 60) {
    call.listed = listedOf(one, due, draw)
    const { listed } = call
    const text = listed.map(({ address, type }) => `, ${type} for ${address}`).join('')
    const recipients = due.length > 0 ? { recipients: listed } : {}
    const isForNone = listed.length > 0 && listed.length === due.length
    const isRetried = listed.some(({ type }) => type === 'retry')
    if (isForNone && isRetried) {
      const outcome = { type: 'retry', ...failed, delay_ms: null, ...recipients } as const
      return end(`retry${text}`, latency, outcome, true)
    }
    if (isForNone) {
      const outcome = { type: 'rejected', ...failed, ...recipients } as const
      return end(`rejected${text}`, latency, outcome, false)
    }
    take()
    return end(
      `accepted${text}`,
      latency,
      { ...accepted(name, job, { number: one.calls, draw }), ...recipients },
      isRetried,
    )
  }
  // Some providers report on a message that they rejected.
  if (kind < 67 && hasIt && name !== 'spare') report(name, job, mixed(draw, 3), due)
  const variant = mixed(draw, 12)
  if (kind < 67) {
    const suppress = due.length === 0 && variant % 4 === 0 && { suppress: 'bounce' as const }
    return end('rejected', latency, { type: 'rejected', ...failed, ...suppress }, false)
  }
  if (kind < 70 && name === 'spare') {
    one.part_of = name
    const outcome = { type: 'retry', ...failed, delay_ms: null, partial: true } as const
    return end('retry, in part', latency, outcome, true)
  }
  if (kind < 77) {
    const misconfigured = variant % 30 < 2 && {
      misconfigured: MISCONFIGURED[variant % 30] ?? 'sender',
    }
    const outcome = { type: 'retry' as const, ...failed, delay_ms: null, ...misconfigured }
    return end(misconfigured ? 'retry, misconfigured' : 'retry', latency, outcome, true)
  }
  if (kind < 80) return end('retry', latency, { type: 'retry', ...failed, delay_ms: 5_000 }, true)
  // A request without an answer may arrive late, but before the service takes a look-up's word for it.
  const isLate = hasIt && kind < 85 && hasLookup(name)
  const takeLate = () => {
    one.mayArrive = false
    // After a step of the clock meanwhile, the age of the request is not known.
    if (model.clock_set_ms < call.began_ms) take()
  }
  if (isLate) {
    one.mayArrive = true
    later(takeLate, 2_000 + (mixed(draw, 5) % 30_000))
  } else if (hasIt || kind >= 92) take()
  const whether = hasIt ? 'has it' : 'lost it'
  if (kind < 85) {
    if (name === 'plain' && !hasIt && variant % 2 === 0) refuseLate(name, job, 4_000 + latency)
    return end(`ambiguous, ${whether}`, latency, { type: 'ambiguous', ...failed }, false)
  }
  if (kind < 88) {
    const answered = { delay_ms: variant % 2 === 0 ? 4_000 : null }
    const outcome = { type: 'ambiguous', ...failed, answered } as const
    return end(`server error, ${whether}`, latency, outcome, true)
  }
  if (kind < 90) {
    return end(`exception, ${whether}`, latency, { type: 'ambiguous', ...failed }, false).then(
      () => {
        throw new Error('simulated')
      },
    )
  }
  if (kind < 92) {
    one.mayRepeat = false
    world.trace(`${name} ${world.nameOf('m', id)} call ${one.calls}: silence, ${whether}`)
    return never()
  }
  const late = accepted(name, job, { number: one.calls, draw })
  return end('accepted late', kind < 96 ? slow : latency, late, false)
}

const MISCONFIGURED = ['provider', 'sender'] as const

/** It becomes known late that the provider never accepted the message. */
function refuseLate(name: ProviderName, { workspace_id, message_id }: SendJob, ms: number): void {
  const { model } = outside
  const began_ms = elapsedMs()
  model.reports_until_ms = Math.max(model.reports_until_ms, began_ms + ms)
  later(() => {
    // Not played: the attempt of a process that died stays without an outcome in the journal.
    if (model.deaths.some((at) => at >= began_ms)) return
    const receipt = {
      ...{ status: 'failed' as const, provider_message_id: null, never_accepted: true as const },
      ...{ error_code: 'refused', error_message: 'Simulated' },
    }
    const about = { workspace_id, message_id }
    callBack(name, { type: 'receipt', about, provider_message_id: null, receipt })
  }, ms)
}

/** The bytes of a file, which follow from its name. */
export function fileOf(name: string): Buffer {
  const [, size = '0', fate = '0'] = /^f(\d+)-(\d+)\.txt$/.exec(name) ?? []
  return Buffer.alloc(Number(size), `${fate} `)
}

/** A mail has its files as the client gave them. */
function assertFiles({ message_id, content }: SendJob): void {
  const { attachments = [] } = content as {
    attachments?: { filename: string; content: string }[]
  }
  for (const { filename, content } of attachments) {
    if (content === fileOf(filename).toString('base64')) continue
    const at = `${outside.world.nameOf('m', message_id)}: ${filename}`
    outside.world.violate('a file arrives as it was given', at)
  }
}

/** The recipients of a mail to several to which it is sent now. */
const dueOf = ({ recipients = [] }: SendJob): string[] =>
  recipients.flatMap(({ address, is_due }) => (is_due ? address : []))

function personOf({ people }: Carried, address: string): Person {
  const known = people.get(address)
  if (known) return known
  const person: Person = { copies: 0, wasReported: false, reports: [] }
  people.set(address, person)
  return person
}

/** The recipients of a mail to several for which the provider does not take it. It answers for those that have it as before. */
function listedOf(one: Carried, due: readonly string[], draw: number): RecipientOutcome[] {
  if (outside.model.calm) return []
  return due.flatMap((address, i): RecipientOutcome[] => {
    const kind = mixed(draw, 20 + i) % 10
    if (kind < 6 || personOf(one, address).copies > 0) return []
    const error = { address, error_code: 'simulated', error_message: 'Simulated' }
    if (kind < 8) return [{ ...error, type: 'retry' }]
    return [{ ...error, type: 'rejected', ...(kind === 9 && { suppress: 'bounce' as const }) }]
  })
}

/** A person reads the code in a message, and sees the link in it. In a call, the digits are read one by one. */
function readText({ workspace_id, message_id, content, recipient }: SendJob): void {
  const { text = '', html = '' } = content as { text?: string; html?: string }
  const [, token] = /\/unsubscribe\/([^"/?]+)/.exec(html) ?? []
  const place = outside.model.places.findIndex(({ id }) => id === workspace_id)
  if (token) outside.model.links.push({ token, place, address: recipient })
  const [digits] = /\d(?:, \d){3,9}|\b\d{4,10}\b/.exec(text) ?? []
  if (digits) outside.model.codes.set(message_id, digits.replaceAll(', ', ''))
}

/** A recipient presses "spam". */
function complain(
  name: ProviderName,
  { workspace_id, message_id }: SendJob,
  address: string | undefined,
  after_ms: number,
): void {
  const { world, model } = outside
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
      one.toggle.end('yes')
      one.since_ms = elapsedMs()
      world.count('complaints')
    })
  }, after_ms)
}

function accepted(
  name: ProviderName,
  { message_id: id, recipient, recipients }: SendJob,
  { number, draw }: { number: number; draw: number },
): Outcome {
  if (name === 'spare') {
    const part_ids = partIdsOf(id, number, draw)
    return { type: 'accepted', provider_message_id: null, lookup_after_ms: null, part_ids }
  }
  const provider_message_id = `${name}-${id}`
  const lookup_after_ms = hasLookup(name) && (draw & 2) === 0 ? 10_000 : null
  const variant = mixed(draw, 13) % 6
  // WhatsApp knows people by other names too.
  const fate = fateOf(recipient) % 7_999_999
  const [own, other] = [`user.${fate}`, `+1416${2_000_000 + fate}`]
  const identities = name === 'asked' &&
    variant < 2 && { identities: variant ? [own] : [other, own] }
  const isAtOnce = name === 'once' && !recipients && variant === 0
  const status = isAtOnce && { status: 'delivered' as const }
  return { type: 'accepted', provider_message_id, lookup_after_ms, ...identities, ...status }
}

/** The ids of the parts of a text. */
const partIdsOf = (id: string, number: number, draw: number): string[] =>
  Array.from({ length: 1 + (mixed(draw, 14) % 3) }, (_, part) => `spare-${id}-${number}-${part}`)

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
function report(name: ProviderName, job: SendJob, draw: number, people: readonly string[]): void {
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
      const named = namedIn(people, draw)
      // A report without names, before the outcome is known, is about all recipients of the attempt.
      for (const address of named ?? due) personOf(one, address).wasReported = true
      const receipt = {
        status,
        ...(named && { recipients: named.map((address) => recipientReceipt(address, status)) }),
        provider_message_id: `${name}-${job.message_id}`,
        error_code: status === 'failed' ? 'undelivered' : null,
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

/** The receipts of the parts of a text, which may come before its outcome. They name no message. */
function reportParts({ message_id }: SendJob, number: number, draw: number): void {
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

/** The recipients that a report names; null: none, so that it is about all of them. */
function namedIn(people: readonly string[], draw: number): readonly string[] | null {
  const form = mixed(draw, 9) % 4
  if (people.length === 0 || form === 0) return null
  return form === 1 ? people.slice(0, 1) : people
}

/** Some failures are final for the address of a mail to one person. */
const isBounce = ({ channel, recipients }: SendJob, status: string, draw: number): boolean =>
  channel === 'email' && !recipients && status === 'failed' && mixed(draw, 16) % 3 === 0

const recipientReceipt = (address: string, status: Receipt['status']) => ({
  addresses: [address.toUpperCase()],
  status,
  error_code: status === 'failed' ? 'undelivered' : null,
  error_message: status === 'failed' ? 'Simulated' : null,
})

/** The state of an opt-out. */
export function optOutOf(place: number, channel: string, address: string) {
  const { optOuts } = outside.model
  const key = `${place} ${channel} ${address}`
  const known = optOuts.get(key)
  if (known) return known
  const one = { toggle: createToggle(), since_ms: 0 }
  optOuts.set(key, one)
  return one
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

/** A look-up asks for another one at most this number of times. */
const FOLLOWS_MAX = 3

function lookUp(name: ProviderName, { message_id, recipient }: LookupJob): Promise<LookupResult> {
  const { world, model } = outside
  if (model.pause.state === 'yes') world.violate('a pause holds', 'a message was looked up')
  const one = carriedOf(message_id)
  const draw = mixed(fateOf(recipient), one.calls, 7)
  const at = world.nameOf('m', message_id)
  world.count('look-ups')
  if (!model.calm && draw % 5 === 0) {
    world.trace(`${name} ${at}: look-up unavailable`)
    return answerIn(20, () => ({ type: 'unavailable' as const }))
  }
  if (one.copies === 0) {
    world.trace(`${name} ${at}: look-up finds nothing`)
    return answerIn(20, () => {
      one.mayRepeat = true
      const isCertain = !one.mayArrive && draw % 3 === 0
      return { type: 'not_found' as const, ...(isCertain && { certain: true as const }) }
    })
  }
  world.trace(`${name} ${at}: look-up finds ${one.status}`)
  const [duration_s] = one.durations
  const receipt = {
    status: one.status,
    provider_message_id: `${name}-${message_id}`,
    error_code: one.status === 'failed' ? 'undelivered' : null,
    error_message: one.status === 'failed' ? 'Simulated' : null,
    ...(duration_s !== undefined && { duration_s }),
  }
  const isFollowed = !model.calm && one.follows < FOLLOWS_MAX && draw % 7 === 0
  if (isFollowed) one.follows += 1
  const reply = { provider_message_id: `reply-${message_id}`, text: 'Thanks' }
  return answerIn(20, () => ({
    type: 'found' as const,
    receipts: [receipt],
    replies: draw % 11 === 0 ? [reply] : [],
    lookup_after_ms: isFollowed ? 15_000 : null,
  }))
}

/** The fate of a mail to several people is in its subject: the same people get other mails. */
function fateOfJob({ recipient, content }: SendJob): number {
  const [, fate] = /^Order (\d+)$/.exec((content as { subject?: string }).subject ?? '') ?? []
  return fate === undefined ? fateOf(recipient) : Number(fate)
}

/** The fate of a message is in its address, so that it does not depend on other messages. */
export function fateOf(recipient: string): number {
  return Number(recipient.replace(/^\+1415|\D/g, ''))
}

type Options = Parameters<Network['dispatch']>[0]
type Handler = Parameters<Network['dispatch']>[1]
type Controller = Parameters<NonNullable<Handler['onRequestStart']>>[0]

/** The network between the service and its receivers. */
export const network = {
  dispatch(options: Options, handler: Handler): boolean {
    const asking = running.process
    const { world } = outside
    const receiver = Number(String(options.origin).split('.').at(-1))
    const controller = {
      aborted: false,
      paused: false,
      reason: null as Error | null,
      pause() {},
      resume() {},
      abort(reason: Error) {
        if (controller.aborted) return
        controller.aborted = true
        controller.reason = reason
        handler.onResponseError?.(controller, reason)
      },
    }
    const isOver = () => controller.aborted || asking !== running.process
    const draw = mixed(world.seed, receiver, outside.model.posts.length)
    later(
      () => {
        if (!isOver()) begin(receiver, options, { handler, controller, isOver, draw })
      },
      1 + (draw % 30),
    )
    return true
  },
  destroy: async () => {},
} as unknown as Network

/** The form of Twilio names its delivery and not its event. */
function withoutTwilio(headers: Record<string, string>): Record<string, string> {
  const delivery = headers['i-twilio-idempotency-token'] ?? ''
  const find = outside.database().prepare('select event_id from deliveries where id = ?').pluck()
  return {
    'x-svc-delivery': delivery,
    'x-svc-event': 'as Twilio',
    'webhook-id': (find.get(delivery) as string | undefined) ?? '',
  }
}

/** The replies of a receiver to what a person wrote. */
const TWIML = [
  '<Response><Message>Thank you</Message></Response>',
  '<Response><Message><Body>Thank you</Body></Message><Message>See you</Message></Response>',
  '<Response/>',
  `<Response><Message>${'a'.repeat(20_000)}</Message></Response>`,
  'no XML',
] as const

/** The form of Resend has the same signature under other names, and does not name its delivery. */
function withoutSvix(receiver: number, headers: Record<string, string>): Record<string, string> {
  const { model, database } = outside
  const id = headers['svix-id'] ?? ''
  const find = database().prepare('select id from deliveries where event_id = ? and webhook_id = ?')
  const delivery = model.hooks
    .filter((hook) => hook.receiver === receiver && hook.form === 'resend')
    .map((hook) => find.pluck().get(id, hook.id) as string | undefined)
    .find((one) => one !== undefined)
  return {
    'x-svc-delivery': delivery ?? `${id} ${receiver}`,
    'x-svc-event': 'as Resend',
    'webhook-id': id,
    'webhook-timestamp': headers['svix-timestamp'] ?? '',
    'webhook-signature': headers['svix-signature'] ?? '',
  }
}

function begin(
  receiver: number,
  options: Options,
  {
    handler,
    controller,
    isOver,
    draw,
  }: {
    handler: Handler
    controller: Controller
    isOver: () => boolean
    draw: number
  },
): void {
  const { world, model } = outside
  const mood = model.calm ? 'well' : (model.receivers.get(receiver) ?? 'well')
  const fail = (code: string) =>
    handler.onResponseError?.(controller, Object.assign(new Error(code), { code }))
  if (mood === 'dead') return void fail('ECONNREFUSED')
  handler.onRequestStart?.(controller, {})
  if (isOver()) return
  if (model.pause.state === 'yes')
    world.violate('a pause holds', `receiver ${receiver} got a request`)
  const headers: Record<string, string> = {}
  for (const [name, value] of Object.entries(options.headers as Record<string, string>)) {
    headers[name.toLowerCase()] = value
  }
  if (headers['svix-id'] !== undefined) Object.assign(headers, withoutSvix(receiver, headers))
  const isTwilio = headers['x-twilio-signature'] !== undefined
  if (isTwilio) Object.assign(headers, withoutTwilio(headers))
  const post: Post = {
    receiver,
    url: `${options.origin}${options.path}`,
    at_ms: elapsedMs(),
    headers,
    body: options.body == null ? '' : String(options.body),
    isAnswered: false,
    answered_ms: null,
  }
  checkRequest({ world, model, database: outside.database() }, post)
  model.posts.push(post)
  const delivery = world.nameOf('d', headers['x-svc-delivery'] ?? '')
  world.trace(`receiver ${receiver} ${delivery} ${headers['x-svc-event']}: ${mood}`)
  world.count(`request ${mood}`)
  const answer = (
    status: number,
    ms: number,
    fields: Record<string, string> = {},
    text: string = 'ok',
  ) =>
    later(() => {
      if (isOver()) return
      post.isAnswered = status < 300
      post.answered_ms = elapsedMs()
      handler.onResponseStart?.(controller, status, fields, '')
      handler.onResponseData?.(controller, Buffer.from(text))
      handler.onResponseEnd?.(controller, {})
    }, ms)
  const short = 2 + (mixed(draw, 1) % 60)
  if (mood === 'well' && isTwilio && post.body.includes('SmsStatus=received')) {
    const twiml = TWIML[draw % TWIML.length]
    const place = model.hooks.find((hook) => hook.receiver === receiver)?.place ?? 0
    model.replies[place] = (model.replies[place] ?? 0) + (twiml?.split('<Message>').length ?? 1) - 1
    return void answer(200, short, { 'content-type': 'text/xml' }, twiml)
  }
  if (mood === 'well') return void answer(draw % 3 === 0 ? 204 : 200, short)
  if (mood === 'slow') return void answer(200, 2_000 + (mixed(draw, 2) % 16_000))
  if (mood === 'broken') return void answer(draw % 2 === 0 ? 500 : 503, short)
  if (mood === 'gone') return void answer(410, short)
  if (mood === 'busy') return void answer(429, short, { 'retry-after': '7' })
  if (mood === 'moved') return void answer(302, short, { location: 'http://10.0.0.99/hook' })
  if (mood === 'forgetful') {
    later(() => {
      if (!isOver()) fail('ECONNRESET')
    }, short)
  }
}
