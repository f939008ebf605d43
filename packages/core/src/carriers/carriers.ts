import type { Traits } from '../contract/outside/provider.ts'
import type { Channel } from '../contract/resources/content.ts'
import { type InstalledProvider, SANDBOX } from '../providers/installed.ts'
import type { PauseRow } from '../rows/rows.ts'
import type { Runtime } from '../runtime/runtime.ts'
import type { Storage } from '../storage/ports/storage.ts'

/** A provider for a message, and the sender of the message with this provider. */
export interface Carrier {
  provider: string
  sender: string | null
}

/** The providers for messages, as the settings alone determine them. */
export interface Carriers {
  /**
   * Returns providers, ordered as in the settings. Test messages, and channels without a provider, get the sandbox. Empty for a live
   * call, and for a message that a real `provider` had before, if none serves the channel now: the sandbox would report that it
   * reached the recipient.
   */
  of(message: {
    channel: Channel
    livemode: boolean
    sender: string | null
    provider?: string | null
  }): Carrier[]
  /** The message's own sender, otherwise the provider's first sender for the channel, otherwise null. */
  senderOf(provider: string, message: { channel: Channel; sender: string | null }): string | null
  /** The error message when no provider has the sender; otherwise null. Not called for test keys: they may use any sender. */
  senderFault(channel: Channel, sender: string | undefined): string | null
  /** Whether every provider that may get the message sends one message to several recipients. */
  takesSeveral(message: { channel: Channel; livemode: boolean }): boolean
  /** Whether the settings of any provider list the sender for the channel. */
  hasSender(channel: Channel, sender: string): boolean
  /** The senders that the settings list for the channel, each once. */
  listedSenders(channel: Channel): string[]
  /** Whether the settings of the provider list the sender. */
  isListed(provider: string, sender: string): boolean
  /** The traits of the providers in the settings, and of the sandbox. */
  traits: ReadonlyMap<string, Traits>
  /** Whether a provider other than the sandbox serves the channel. */
  serves(channel: Channel): boolean
}

export function createCarriers(
  providers: readonly Pick<InstalledProvider, 'name' | 'traits'>[],
): Carriers {
  const own = providers.map(({ name, traits }) => ({ provider: name, traits }))
  const traits = new Map(own.map((one) => [one.provider, one.traits]))
  traits.set(SANDBOX.name, SANDBOX.traits)

  const serving = (channel: Channel) => own.filter((one) => one.traits.channels.includes(channel))

  const listedSenders = (channel: Channel) => [
    ...new Set(serving(channel).flatMap(({ traits }) => traits.senders[channel] ?? [])),
  ]

  function senderOf(
    provider: string,
    { channel, sender }: { channel: Channel; sender: string | null },
  ) {
    return sender ?? traits.get(provider)?.senders[channel]?.[0] ?? null
  }

  return {
    of(message) {
      const { channel, livemode, sender, provider: last = null } = message
      const all = livemode ? serving(channel) : []
      if (all.length === 0) {
        // A live call is accepted only while a provider for voice is configured.
        const isForProvider = channel === 'voice' || last !== null
        const isWaiting = livemode && isForProvider && last !== SANDBOX.name
        return isWaiting ? [] : [{ provider: SANDBOX.name, sender }]
      }
      const able = all.filter(({ traits }) => takes(traits, channel, sender))
      return able.map(({ provider }) => ({ provider, sender: senderOf(provider, message) }))
    },
    senderOf,
    senderFault(channel, sender) {
      const all = serving(channel)
      if (sender === undefined || all.length === 0) return null
      if (all.some(({ traits }) => takes(traits, channel, sender))) return null
      return `Invalid sender. Must be one of: ${listedSenders(channel).join(', ')}`
    },
    takesSeveral({ channel, livemode }) {
      const all = livemode ? serving(channel) : []
      const served = all.length > 0 ? all : [SANDBOX]
      return served.every(({ traits }) => traits.several_recipients === true)
    },
    hasSender: (channel, sender) =>
      own.some((one) => one.traits.senders[channel]?.includes(sender) ?? false),
    listedSenders,
    isListed: (provider, sender) =>
      Object.values(traits.get(provider)?.senders ?? {}).some((listed) => listed.includes(sender)),
    traits,
    serves: (channel) => serving(channel).length > 0,
  }
}

/** A provider whose settings list no senders accepts any sender. The sender of an e-mail is only a name, so any is accepted. */
function takes({ senders }: Traits, channel: Channel, sender: string | null): boolean {
  const known = senders[channel]
  if (sender === null || channel === 'email') return true
  return !known || known.length === 0 || known.includes(sender)
}

/** The pauses of providers and senders. They are in the database, so that all servers read them and they survive a restart. */
export interface Pauses {
  /**
   * Whether the provider may send from this sender. After a pause for wrong settings, sends are tried again with a single
   * message at a time.
   */
  allows(provider: string, sender: string | null): boolean
  /** Whether an operator paused the provider or this sender: calls that have not begun do not begin. */
  isStopped(provider: string, sender: string | null): boolean
  /** Records that a message is sent to the provider. If the provider is paused, no other message follows for a while. */
  noteSend(provider: string, sender: string | null): void
  /** Records that the provider refused its settings or the sender. */
  noteMisconfigured(
    provider: string,
    sender: string | null,
    fault: { error_code: string; error_message: string },
  ): Promise<void>
  /**
   * Records that the provider accepted a message from this sender, and ends the pause. Has no effect before the time of the
   * next try, because such a message was in flight before the pause.
   */
  noteAccepted(provider: string, sender: string | null): Promise<void>
  /** Reads the pauses from the database. */
  refresh(): Promise<void>
}

const MINUTE_MS = 60_000

/** Durations of successive pauses for wrong settings. */
const RETRY_MS = [MINUTE_MS, 5 * MINUTE_MS, 15 * MINUTE_MS, 60 * MINUTE_MS]

/** The minimum time between two messages that try the settings again. */
const PROBE_EVERY_MS = 10_000

/** The accepted difference between the clocks of two servers. */
const CLOCK_SLACK_MS = 10_000

export function createPauses({ storage, runtime }: { storage: Storage; runtime: Runtime }): Pauses {
  let rows = new Map<string, PauseRow>()
  const probed = new Map<string, number>()

  const pausesOf = (provider: string, sender: string | null): PauseRow[] =>
    [...new Set([keyOf(provider, null), keyOf(provider, sender)])].flatMap(
      (key) => rows.get(key) ?? [],
    )

  /** Whether one message may try the settings again. */
  function allowsProbe(row: PauseRow): boolean {
    const last_ms = probed.get(keyOf(row.provider, row.sender)) ?? Number.NEGATIVE_INFINITY
    return isProbing(row, runtime.now()) && runtime.elapsed() - last_ms >= PROBE_EVERY_MS
  }

  async function refresh(): Promise<void> {
    const found = await storage.read.providerPauses.list()
    rows = new Map(found.map((row) => [keyOf(row.provider, row.sender), row]))
    for (const key of probed.keys()) if (!rows.has(key)) probed.delete(key)
  }

  return {
    refresh,
    allows: (provider, sender) => rows.size === 0 || pausesOf(provider, sender).every(allowsProbe),
    isStopped: (provider, sender) =>
      rows.size > 0 && pausesOf(provider, sender).some(({ cause }) => cause === 'operator'),
    noteSend(provider, sender) {
      if (rows.size === 0) return
      for (const row of pausesOf(provider, sender)) {
        probed.set(keyOf(row.provider, row.sender), runtime.elapsed())
      }
    },
    async noteMisconfigured(provider, sender, { error_code, error_message }) {
      const at = runtime.now()
      const known = rows.get(keyOf(provider, sender))
      // An operator's pause stays. Other messages of the same batch are not new failures.
      if (known && !isProbing(known, at)) return
      const failures = (known?.failures ?? 0) + 1
      const wait_ms = RETRY_MS[Math.min(failures, RETRY_MS.length) - 1] as number
      const row: PauseRow = {
        provider,
        sender: sender ?? '',
        cause: 'misconfigured',
        code: error_code,
        reason: error_message,
        failures,
        retry_at: new Date(at.getTime() + wait_ms),
        created_at: at,
      }
      rows.set(keyOf(provider, sender), row)
      runtime.log.error(
        { provider, sender, error_code, retry_at: row.retry_at },
        'a provider refuses its settings and is paused; messages wait. See: svc providers status',
      )
      runtime.telemetry?.providerPaused(provider)
      await storage.write(({ providerPauses }) => providerPauses.put(row))
    },
    async noteAccepted(provider, sender) {
      if (rows.size === 0) return
      const at = runtime.now()
      for (const row of pausesOf(provider, sender).filter((row) => isProbing(row, at))) {
        rows.delete(keyOf(row.provider, row.sender))
        runtime.log.info({ provider, sender: row.sender || null }, 'a provider works again')
        await storage.write(({ providerPauses }) => providerPauses.remove(row))
      }
    },
  }
}

/**
 * Whether the next try may start; never for an operator's pause. A pause whose start is in the future was written while
 * the clock was ahead. The end of such a pause is wrong too, so a try may start now.
 */
function isProbing({ retry_at, created_at }: PauseRow, at: Date): boolean {
  if (retry_at === null) return false
  return retry_at <= at || created_at.getTime() > at.getTime() + CLOCK_SLACK_MS
}

function keyOf(provider: string, sender: string | null): string {
  return `${provider}\n${sender ?? ''}`
}

/** Limits the messages per second of a sender, and limits retries to a share of a provider's sends. */
export interface Pace {
  /** Returns 0 and counts the message if it may be sent now; otherwise the waiting time in ms. */
  take(of: {
    provider: string
    sender: string | null
    per_second: number | null
    isRetry: boolean
    /** The `Runtime.elapsed` in ms. If the clock were used and set back, no tokens would be added. */
    at_ms: number
  }): number
}

/**
 * Within this period, each waiting message gets a time of its own. Later messages must ask again; their requests are spread
 * over a second period of this length, so that a long backlog is not read all the time.
 */
const TURNS_MS = 60_000

/**
 * The share of a second's messages that may be sent at once. Due messages are claimed several times a second, so with a
 * smaller share capacity would be lost between two claims.
 */
const BURST_SHARE = 0.25

/**
 * The budget of retries grows with each first send and with time, up to `RETRIES_MAX`. Without the growth with time, retries
 * would stop when no new message is sent. The budget keeps the retries of a whole backlog away from a provider that is down.
 */
const RETRY_SHARE = 0.2
const RETRIES_PER_SECOND = 10
const RETRIES_MAX = 100
const RETRY_WAIT_MS = 5_000

/** The maximum number of senders in memory. Beyond it, the least recently used sender is removed. */
const SENDERS_MAX = 10_000

interface Budget {
  left: number
  at_ms: number
}

interface Bucket {
  /** The number of messages that may be sent now. */
  tokens: number
  at_ms: number
  /** The latest assigned time. */
  assigned_ms: number
  /** The number of messages that had to ask again; it spreads their waiting times. */
  put_off: number
}

/** The number of messages that may be sent at once. */
export function burstOf(per_second: number): number {
  return 1 + per_second * BURST_SHARE
}

/** The limits apply to one process; with several servers, each server may send up to the limits. */
export function createPace(): Pace {
  const buckets = new Map<string, Bucket>()
  const budgets = new Map<string, Budget>()

  function bucketOf(key: string, per_second: number, at_ms: number): Bucket {
    const full = burstOf(per_second)
    const bucket = buckets.get(key) ?? {
      tokens: full,
      at_ms,
      assigned_ms: Number.NEGATIVE_INFINITY,
      put_off: 0,
    }
    const gained = ((at_ms - bucket.at_ms) / 1_000) * per_second
    bucket.tokens = Math.min(full, bucket.tokens + gained)
    bucket.at_ms = at_ms
    buckets.delete(key)
    buckets.set(key, bucket)
    if (buckets.size > SENDERS_MAX) buckets.delete(buckets.keys().next().value as string)
    return bucket
  }

  function takeRate(key: string, per_second: number, at_ms: number): number {
    const bucket = bucketOf(key, per_second, at_ms)
    if (bucket.tokens >= 1) {
      bucket.tokens -= 1
      return 0
    }
    const each_ms = 1_000 / per_second
    const soonest_ms = at_ms + (1 - bucket.tokens) * each_ms
    const turn_ms = Math.max(soonest_ms, bucket.assigned_ms + each_ms)
    if (turn_ms <= at_ms + TURNS_MS) {
      bucket.assigned_ms = turn_ms
      return Math.ceil(turn_ms - at_ms)
    }
    bucket.put_off += 1
    return Math.ceil(TURNS_MS * (1 + spread(bucket.put_off)))
  }

  /** The budget of retries that a provider may get now. */
  function budgetOf(provider: string, at_ms: number): Budget {
    const budget = budgets.get(provider) ?? { left: RETRIES_MAX, at_ms }
    const gained = ((at_ms - budget.at_ms) / 1_000) * RETRIES_PER_SECOND
    budget.left = Math.min(RETRIES_MAX, budget.left + gained)
    budget.at_ms = at_ms
    budgets.set(provider, budget)
    return budget
  }

  return {
    take({ provider, sender, per_second, isRetry, at_ms }) {
      const budget = budgetOf(provider, at_ms)
      if (isRetry && budget.left < 1) return RETRY_WAIT_MS
      const key = `${provider}\n${sender ?? ''}`
      const wait_ms = per_second === null ? 0 : takeRate(key, per_second, at_ms)
      if (wait_ms === 0) budget.left += isRetry ? -1 : RETRY_SHARE
      return wait_ms
    },
  }
}

/** The golden ratio spreads any number of values evenly between 0 and 1. */
function spread(n: number): number {
  return (n * 0.618_033_988_749_895) % 1
}
