import type {
  LookupJob,
  LookupResult,
  Outcome,
  RecipientOutcome,
  Report,
  SendJob,
  Sink,
} from '../../packages/core/src/contract/outside/provider.ts'
import { elapsedMs, later, running } from './clock.ts'
import { checkCall } from './invariants/attempts.ts'
import { checkSent } from './invariants/sent.ts'
import {
  type Call,
  type Carried,
  connectionsOf,
  hasLookup,
  PROVIDERS,
  type ProviderName,
} from './model.ts'
import { answerIn, carriedOf, dueOf, fateOf, outside, personOf } from './outside.ts'
import { mixed } from './random.ts'
import {
  complain,
  partIdsOf,
  refuseLate,
  report,
  reportAcceptance,
  reportParts,
  SENDER,
  sinks,
} from './reports.ts'

const { defineProvider } = await import(
  '../../packages/core/src/providers/defined/define-provider.ts'
)

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
        const { world, model } = outside
        const draw = mixed(world.seed, Math.floor(elapsedMs()), 23)
        if (!model.calm && draw % 8 === 0) {
          throw Object.assign(new Error('The port is in use'), { code: 'EADDRINUSE' })
        }
        if (draw % 8 === 1) sink.note('warn', 'the line is noisy', {})
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

/** For this time after the machine woke up, calls take longer, up to the second time. */
const SLOW_NETWORK_MS = 15_000

const SLOW_NETWORK_CALL_MS = 20_000

const never = <T>(): Promise<T> => new Promise<T>(() => {})

function carry(name: ProviderName, job: SendJob, batch: Call[]): Promise<Outcome> {
  const { world, model, database } = outside
  const id = job.message_id
  const due = dueOf(job)
  checkSent(job)
  const one = carriedOf(id)
  checkCall({ world, model, database: database() }, name, job, one)
  if (!one.mayRepeat && name !== 'once') {
    world.violate('an unknown outcome is not repeated', `${name}: ${world.nameOf('m', id)}`)
  }
  if (one.part_of !== null && one.part_of !== name) {
    const at = `${world.nameOf('m', id)} by ${name}, after a part by ${one.part_of}`
    world.violate('a message that was sent in part stays with its provider', at)
  }
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
      const only = name === 'once' && isUnsure ? job.recipient : undefined
      const complaining = job.recipients ? taken[draw % taken.length] : only
      complain(name, job, complaining, 100 << (mixed(draw, 10) % 8))
    }
    if (one.copies > 1 && name !== 'once' && !one.mayRepeat) {
      world.violate('an unknown outcome is not repeated', `${world.nameOf('m', id)} arrived twice`)
    }
    if (name !== 'spare') return report(name, job, mixed(draw, 3), taken)
    reportParts(job, one.calls, draw)
    if (isUnsure) reportAcceptance(job, one.calls, draw)
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
  const failed = { error_code: errorOf(draw), error_message: 'Simulated' }
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
    const misconfigured = variant % 16 < 2 && {
      misconfigured: MISCONFIGURED[variant % 16] ?? 'sender',
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
    if (LATE.includes(name) && !hasIt && variant % 2 === 0) refuseLate(name, job, 4_000 + latency)
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

/** The errors that providers name. */
const ERRORS = ['simulated', 'bounced', 'blocked'] as const

const errorOf = (draw: number): string => ERRORS[draw % ERRORS.length] ?? 'simulated'

/** These may learn late that they never had a message. */
const LATE: readonly ProviderName[] = ['plain', 'asked']

const MISCONFIGURED = ['provider', 'sender'] as const

/** The recipients of a mail to several for which the provider does not take it. It answers for those that have it as before. */
function listedOf(one: Carried, due: readonly string[], draw: number): RecipientOutcome[] {
  if (outside.model.calm) return []
  return due.flatMap((address, i): RecipientOutcome[] => {
    const kind = mixed(draw, 20 + i) % 10
    if (kind < 6 || personOf(one, address).copies > 0) return []
    const error = { address, error_code: errorOf(kind + i), error_message: 'Simulated' }
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
