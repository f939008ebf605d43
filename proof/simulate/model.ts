import type { PaymentState } from '../../packages/core/src/billing/payment.ts'
import { units } from '../../packages/core/src/contract/fields/units.ts'
import type {
  Receipt,
  RecipientOutcome,
} from '../../packages/core/src/contract/outside/provider.ts'
import { mixed } from './random.ts'

/**
 * `plain` recognises no repetition and cannot be asked; `asked` and `called` have a look-up; `once` recognises repetitions. `spare` gets
 * what `plain` does not take, sends a text in parts, and reports each part by an id of its own.
 */
export const PROVIDERS = [
  { name: 'plain', channel: 'sms' },
  { name: 'asked', channel: 'whatsapp' },
  { name: 'once', channel: 'email' },
  { name: 'called', channel: 'voice' },
  { name: 'spare', channel: 'sms' },
] as const

export type ProviderName = (typeof PROVIDERS)[number]['name']

export const hasLookup = (name: ProviderName): boolean => name === 'asked' || name === 'called'

/** In some seeds, these have a number of connections. */
const MAY_BE_LIMITED: readonly ProviderName[] = ['plain', 'spare', 'once', 'asked']
const CONNECTIONS = [1, 2, 5, 40, 40]

/** The connections of a provider in a seed; null: any number. */
export function connectionsOf(seed: number, name: ProviderName): number | null {
  const place = MAY_BE_LIMITED.indexOf(name)
  if (place === -1 || mixed(seed, 16, place) % 2 === 1) return null
  return CONNECTIONS[mixed(seed, 17, place) % CONNECTIONS.length] ?? null
}

/** The number of a person with this fate. */
export const numberOf = (fate: number): string => `+1415${2_000_000 + (fate % 7_999_999)}`

/** What the clients and operators know: `unknown` while a change has no answer. */
export type Known = 'yes' | 'no' | 'unknown'

/** A state that people change. It is known only while one change at a time was asked for, because two have no known order. */
export interface Toggle {
  state: Known
  begin(): void
  end(state: Known): void
}

export function createToggle(): Toggle {
  let open = 0
  let isMixed = false
  const toggle: Toggle = {
    state: 'no',
    begin() {
      open += 1
      isMixed ||= open > 1
      toggle.state = 'unknown'
    },
    end(state) {
      open -= 1
      if (open > 0) return
      toggle.state = isMixed ? 'unknown' : state
      isMixed = false
    },
  }
  return toggle
}

export interface Place {
  id: string
  key: string
  key_id: string
  test_key: string
  /** A live key with a daily limit. */
  limited_key: string
  /** A live key that signs requests in the form of Twilio. */
  signing_key: string
  signing_key_id: string
}

export interface Hook {
  id: string
  place: number
  receiver: number
  mode: 'all' | 'live' | 'test'
  secrets: Set<string>
  /** Whether a secret was made whose answer was lost. */
  hasUnknownSecret: boolean
  /** Since when, in elapsed milliseconds, the webhook is certainly disabled or deleted; null: it may be active. */
  off_since_ms: number | null
  /** The form of its requests. Those of others have the events of some channels only. */
  form: 'svc' | 'resend' | 'twilio'
  /** Whether its owner asked for deliveries again, which are made at once. */
  wasAskedAgain?: boolean
  /** Whether it was active and subscribed for the whole seed, as far as its owner knows. */
  isWhole: boolean
}

/** A sending domain, and whether it may be in the address of a sender, as far as its owner knows. */
export interface Domain {
  id: string
  place: number
  name: string
  usable: Toggle
  /** The elapsed time at which `usable` was known last. */
  since_ms: number
  /** Whether the service may have a domain of this name with an unknown id. */
  isLost: boolean
}

/** The receiver of the status callbacks, which clients name in their sends. */
export const CALLBACK_RECEIVER = 9

/** The channels whose events a webhook gets. */
export const CHANNELS_OF: Readonly<Record<Hook['form'], readonly string[]>> = {
  svc: ['sms', 'whatsapp', 'email', 'voice'],
  resend: ['email'],
  twilio: ['sms', 'whatsapp'],
}

/** One request that a receiver got. */
export interface Post {
  receiver: number
  url: string
  at_ms: number
  headers: Record<string, string>
  body: string
  /** Whether it was acknowledged. */
  isAnswered: boolean
  answered_ms: number | null
}

/** The provider's view of one message. */
export interface Carried {
  calls: number
  /** How many times the recipient gets it. */
  copies: number
  /** Whether the last call ended so that the service may send the message again. */
  mayRepeat: boolean
  status: Receipt['status']
  /** Whether a call was written that may still arrive. */
  mayArrive: boolean
  /** The provider that sent a part, which alone may send the rest. */
  part_of: ProviderName | null
  /** The number of look-ups after which the provider wanted another one. */
  follows: number
  /** The durations of a call that the provider reported, in the order of their first reports. */
  durations: number[]
  /** Whether a report of a duration was acknowledged. */
  isEnded: boolean
  /** By address, for a mail to several. */
  people: Map<string, Person>
  /** Before this elapsed time the provider asked to get no further call; null: it did not ask, or the clock was set since. */
  not_before_ms: number | null
}

/** The provider's view of one of several recipients of a mail. */
export interface Person {
  /** How many times the recipient gets the mail. */
  copies: number
  /** Whether a report named the recipient, or all of them. */
  wasReported: boolean
  /** The acknowledged reports that named the recipient. */
  reports: Receipt['status'][]
}

/** One request of a client, with its repetitions. */
export interface Asked {
  place: number
  isTest: boolean
  /** Whether the key is the one with a daily limit. */
  isLimited: boolean
  kind: 'send' | 'bulk' | 'code'
  key: string | undefined
  body: unknown
  /** Where the statuses of the message are reported; only with `send`. */
  callback?: { url: string; method?: 'GET'; events?: readonly ['message.delivered'] } | undefined
  /** The bytes of the first answer. */
  answer: string | null
  ids: string[]
  /** The refusals, and the number of requests that had no answer. */
  refusals: string[]
  lost: number
  pending: number
  /** The price lists that were in force when the request was made and repeated. */
  prices: Set<number>
}

/** All recipients of a send, in the order to, cc, bcc. */
export function addressesOf(body: unknown): string[] {
  const { to, content } = body as {
    to: string | string[]
    content?: { cc?: string[]; bcc?: string[] }
  }
  return [to, content?.cc ?? [], content?.bcc ?? []].flat()
}

/** A payment at its provider. */
export interface Sold
  extends Pick<PaymentState, 'status' | 'amount' | 'currency' | 'reversed' | 'disputed'> {
  session_id: string
  purchase_id: string
  workspace_id: string
}

/** One call of a provider. */
export interface Call {
  message_id: string
  /** The number of the attempt. */
  attempt: number
  began_ms: number
  /** The answer of the provider; null: none. */
  answer: { type: string; at_ms: number } | null
  /** The recipients of a mail to several to which this call sends it, and the results that differ. */
  due: readonly string[]
  listed: readonly RecipientOutcome[]
  /** The calls of the same batch: the service takes their answers together. */
  batch: readonly Call[]
}

/** What a person wrote to the service. */
export interface Written {
  provider_message_id: string
  isAnswered: boolean
}

export interface Contact {
  id: string
  place: number
  /** Null: it was changed. */
  name: string | null
  phone: string | null
  email: string | null
  /** The zone of the attribute `time_zone`. */
  zone: string | null
}

/** A broadcast of which a client knows. */
export interface Mailing {
  id: string
  key: string | undefined
  place: number
  paused: Toggle
  /** Its messages when it was paused; null: it may run. */
  accepted: number | null
  isCanceled: boolean
}

/** A change of quiet hours, at times of the wall. */
export interface QuietChange {
  asked_ms: number
  answered_ms: number | null
  hours:
    | readonly { category: string; start: string; end: string; days?: readonly string[] }[]
    | null
}

/** What a client knows of a one-time code. */
export interface Verification {
  id: string
  place: number
  isTest: boolean
  /** Those of the person. */
  addresses: readonly string[]
  /** The code, for a test key. */
  test_code: string | null
  /** The answered approvals, the answered wrong codes that did not end it, and the calls that had no answer, of all that were made. */
  approvals: number
  wrong: number
  lost: number
  guesses: number
  /** Whether it was approved or canceled, by an answer. */
  isOver: boolean
}

export type Model = ReturnType<typeof createModel>

/** What clients, operators, owners, providers and receivers know and did. */
export function createModel(
  places: readonly Place[],
  hooks: readonly Hook[],
  domains: readonly Omit<Domain, 'usable' | 'since_ms' | 'isLost'>[],
  contacts: readonly Contact[],
  records: ReadonlyMap<string, string>,
) {
  return {
    domains: domains.map((domain): Domain => {
      const usable = createToggle()
      // The first domain of a workspace is verified when the seed begins.
      if (domain.name.startsWith('acme')) usable.state = 'yes'
      return { ...domain, usable, since_ms: 0, isLost: false }
    }),
    zone: { records: new Map(records), silent: new Set<string>(), latency_ms: 30 },
    zone_changes: 0,
    /** `spent_max`: the micro-credits that may be spent in a day while `limit` is known. */
    places: places.map((place) => {
      return { ...place, frozen: createToggle(), limit: createToggle(), spent_max: 0 }
    }),
    hooks: hooks.map((hook) => ({ ...hook, secrets: new Set(hook.secrets) })),
    asked: [] as Asked[],
    verifications: new Map<string, Verification>(),
    /** How many numbers of attacked countries were used. */
    numbers: 0,
    contacts: [...contacts],
    /** The versions of templates by workspace, name and number, each with the number in its texts; `marks`: how many were made. */
    published: new Map<string, number>(),
    marks: 0,
    /** By the bulk. `since_ms`: when the state was last known to begin. */
    bulkPauses: new Map<string, { toggle: Toggle; since_ms: number }>(),
    broadcasts: { asked: 0, made: [] as Mailing[], lost: places.map(() => 0) },
    /** By place. */
    quiet: places.map((): QuietChange[] => []),
    /** The links in mails that people got. */
    links: [] as { token: string; place: number; address: string }[],
    /** The codes that people read, by message. */
    codes: new Map<string, string>(),
    grants: [] as { place: number; id: string; credits: number; isAnswered: boolean }[],
    /** The number of adjustments. */
    adjusted: 0,
    statuses: new Map<string, { status: string; isRefunded: boolean }>(),
    /** The acknowledged receipts of each message. */
    receipts: new Map<string, string[]>(),
    carried: new Map<string, Carried>(),
    calls: [] as Call[],
    /** The journalled attempts that were seen without an outcome, and the elapsed time of the first look at each. */
    started: new Map<string, number>(),
    /** The claims of deliveries, as their token and delivery: since when each was seen, and those whose request began. */
    claimed: new Map<string, number>(),
    delivering: new Set<string>(),
    /** The deliveries, with their number of attempts, that were there when the clock was set. */
    redated: new Set<string>(),
    /** The messages whose clients asked for another time, which decides when the next attempt is made. */
    moved: new Set<string>(),
    /** The elapsed times at which the process ended, and at which the machine began to sleep. */
    deaths: [] as number[],
    sleeps: [] as number[],
    /** The elapsed time at which the machine woke up last after it was suspended. */
    woke_ms: Number.NEGATIVE_INFINITY,
    posts: [] as Post[],
    /** By place, channel and address. `since_ms`: when the state was last known to begin. */
    optOuts: new Map<string, { toggle: Toggle; since_ms: number }>(),
    written: [] as Written[],
    /** The number of answers of receivers that have replies to what people wrote, by place. */
    replies: places.map(() => 0),
    /** The addresses whose erasure was asked for. */
    erasing: new Set<string>(),
    /** The messages that an erasure found ended, with their address. */
    erased: new Map<string, string>(),
    /** By the session. */
    sold: new Map<string, Sold>(),
    /** The sessions that payers know. */
    visited: new Set<string>(),
    /** The number of random choices of the payment provider. */
    drawn: 0,
    receivers: new Map<number, string>(),
    /** The receiver that fails until that elapsed time, although the faults have ended; null: none. */
    failing: null as { receiver: number; until_ms: number } | null,
    moods: Object.fromEntries(PROVIDERS.map(({ name }) => [name, 'well'])) as Record<
      ProviderName,
      'well' | 'down' | 'busy' | 'silent'
    >,
    pause: createToggle(),
    providerPauses: Object.fromEntries(
      PROVIDERS.map(({ name }) => [name, createToggle()]),
    ) as Record<ProviderName, Toggle>,
    /** The messages that a provider refused late. */
    refusedLate: new Set<string>(),
    /** The elapsed time of the last report that is still to come. */
    reports_until_ms: 0,
    /** The callbacks that have no answer yet. */
    callbacks: 0,
    /** The requests of clients and operators that have no answer yet. */
    open: 0,
    /** Whether the wall clock was set, which a look-up by time does not survive. */
    isClockSet: false,
    /** The elapsed time at which the wall clock was set last. */
    clock_set_ms: Number.NEGATIVE_INFINITY,
    /** Whether webhooks were made whose answer was lost. */
    hasUnknownHooks: false,
    /** Whether the faults have ended. */
    calm: false,
  }
}

/** The prices that an operator may set. The keys of an object are prefixes of numbers. */
export const PRICE_LISTS = [
  { sms: '1', whatsapp: '0.5', email: '0.1', voice: '2' },
  {
    sms: { default: '1', '+14151': '0.8', '+14152': '2', '+141521': '1.25' },
    whatsapp: '0.25',
    email: '0.2',
    voice: { default: '2', '+1415': '3' },
  },
  { sms: '0.5', whatsapp: { default: '0.5', '+14153': '0.75' }, email: '0.1', voice: '1.5' },
] as const

/** The price of one unit for a recipient in micro-credits. */
export function unitPriceOf(
  list: number,
  channel: keyof (typeof PRICE_LISTS)[0],
  to: string,
): number {
  const price: string | Readonly<Record<string, string>> = PRICE_LISTS[list]?.[channel] ?? '0'
  if (typeof price === 'string') return Number(price) * 1_000_000
  const prefixes = Object.keys(price).filter((prefix) => to.startsWith(prefix))
  const longest = prefixes.sort((a, b) => b.length - a.length)[0] ?? 'default'
  return Math.round(Number(price[longest]) * 1_000_000)
}

export const PACKAGE = {
  id: 'small',
  name: 'Small',
  description: 'Few credits',
  credits: units(20_000_000),
  bonus_credits: units(1_000_001),
  price: { amount: 999, currency: 'EUR' },
}

/** The credits that a payment has bought. */
export function creditsOf({ status, reversed, amount }: PaymentState): number {
  if (status !== 'paid') return 0
  const all = PACKAGE.credits + PACKAGE.bonus_credits
  return all - Math.floor((all * Math.min(reversed, amount)) / amount)
}
