import fc from 'fast-check'
import type { CommitFault } from './world.ts'

// What happens in one seed, as data: everything else follows from it. References to messages, keys and webhooks are numbers
// that are reduced modulo what exists, so that a script stays valid when steps are removed.

export const small = fc.nat(999)
/** Decides what provider and recipient do with a message. */
export const fate = fc.nat(2_000_000)
export const workspace = fc.nat(1)
/** A change of the terms of a workspace; `tight`: a daily limit that its next messages reach. */
type Change = 'freeze' | 'unfreeze' | 'limit' | 'tight' | 'free' | 'low'
const templateName = fc.constantFrom('news' as const, 'receipt' as const)

const kinds = {
  send: fc.record({
    do: fc.constant('send' as const),
    workspace,
    channel: fc.constantFrom('sms' as const, 'sms' as const, 'whatsapp' as const, 'email' as const),
    isTest: fc.constantFrom(false, false, false, false, false, false, false, false, false, true),
    isKeyed: fc.boolean(),
    /** The number of times that an impatient client sends the same request at once. */
    copies: fc.constantFrom(1, 1, 1, 1, 2, 3),
    delay_s: fc.constantFrom(0, 0, 0, 0, 0, 1, 5, 60, 3_600),
    expires_s: fc.constantFrom(0, 0, 60, 60, 600, 7_200),
    fate,
  }),
  call: fc.record({
    do: fc.constant('call' as const),
    workspace,
    /** The minutes for which credits are held. */
    minutes: fc.constantFrom(1 as const, 1 as const, 2 as const, 3 as const),
    isTest: fc.constantFrom(false, false, false, false, false, false, false, true),
    isKeyed: fc.boolean(),
    copies: fc.constantFrom(1, 1, 1, 2),
    delay_s: fc.constantFrom(0, 0, 0, 5, 600),
    expires_s: fc.constantFrom(0, 0, 60, 600),
    fate,
  }),
  mail: fc.record({
    do: fc.constant('mail' as const),
    workspace,
    people: fc.uniqueArray(fc.nat(23), { minLength: 1, maxLength: 6, size: 'max' }),
    /** How many of them get copies; one is always named in `To`. */
    cc: fc.nat(2),
    bcc: fc.nat(2),
    /** Chooses the domain of the sender; none for a number that no domain has. */
    from: fc.constantFrom(0, 0, 0, 1, 2, 9),
    isTest: fc.constantFrom(false, false, false, false, false, false, false, true),
    isKeyed: fc.boolean(),
    copies: fc.constantFrom(1, 1, 1, 2),
    delay_s: fc.constantFrom(0, 0, 1, 5, 5, 60, 600),
    expires_s: fc.constantFrom(0, 0, 60, 7_200),
    fate,
  }),
  /** An SMS of several segments. */
  text: fc.record({
    do: fc.constant('text' as const),
    workspace,
    length: fc.constantFrom(70, 71, 160, 161, 306, 307),
    isUnicode: fc.boolean(),
    isTest: fc.constant(false),
    isKeyed: fc.boolean(),
    copies: fc.constantFrom(1, 1, 1, 2),
    delay_s: fc.constantFrom(0, 0, 0, 5, 600),
    expires_s: fc.constantFrom(0, 0, 60, 7_200),
    fate,
  }),
  domain: fc.record({
    do: fc.constant('domain' as const),
    which: small,
    how: fc.constantFrom(
      'verify' as const,
      'verify' as const,
      'verify' as const,
      'publish' as const,
      'publish' as const,
      'unpublish' as const,
      'falsify' as const,
      'silence' as const,
      'rotate' as const,
      'remove' as const,
      'remove' as const,
      'add' as const,
    ),
  }),
  /** The operator starts the service again with other prices. */
  prices: fc.record({ do: fc.constant('prices' as const), which: fc.nat(2) }),
  repeat: fc.record({
    do: fc.constant('repeat' as const),
    which: small,
    isOther: fc.constantFrom(false, false, false, false, true),
  }),
  bulk: fc.record({
    do: fc.constant('bulk' as const),
    workspace,
    /** Some have more than a provider takes at once. */
    size: fc.constantFrom(1, 2, 3, 4, 5, 6, 1, 2, 3, 4, 5, 6, 50),
    delay_s: fc.constantFrom(0, 0, 0, 30),
    isKeyed: fc.boolean(),
    fate,
  }),
  templated: fc.record({
    do: fc.constant('templated' as const),
    workspace,
    channel: fc.constantFrom('sms' as const, 'email' as const),
    name: templateName,
    version: fc.constantFrom(null, null, 1 as const),
    isTest: fc.constantFrom(false, false, false, false, false, false, false, true),
    isKeyed: fc.boolean(),
    copies: fc.constantFrom(1, 1, 1, 2),
    delay_s: fc.constantFrom(0, 0, 0, 5, 60),
    expires_s: fc.constantFrom(0, 0, 60, 7_200),
    fate,
  }),
  /** A bulk whose texts have placeholders. */
  fill: fc.record({
    do: fc.constant('fill' as const),
    workspace,
    size: fc.integer({ min: 1, max: 6 }),
    name: fc.constantFrom(null, 'news' as const, 'receipt' as const),
    isKeyed: fc.boolean(),
    fate,
  }),
  template: fc.record({
    do: fc.constant('template' as const),
    workspace,
    name: templateName,
    isRestored: fc.constantFrom(false, false, true),
  }),
  broadcast: fc.record({
    do: fc.constant('broadcast' as const),
    workspace,
    channel: fc.constantFrom('sms' as const, 'sms' as const, 'email' as const),
    name: fc.constantFrom('news' as const, 'news' as const, 'receipt' as const),
    tags: fc.constantFrom(null, 'all' as const, 'odd' as const, 'even' as const),
    rate: fc.constantFrom(null, null, 12, 30, 120),
    delay_s: fc.constantFrom(0, 0, 0, 5, 60, 7_200, 14_400),
    /** Whether the time is that of each recipient. */
    isZoned: fc.boolean(),
    isDraft: fc.constantFrom(false, false, false, true),
    isKeyed: fc.boolean(),
    copies: fc.constantFrom(1, 1, 1, 2),
    fate,
  }),
  steer: fc.record({
    do: fc.constant('steer' as const),
    which: small,
    how: fc.constantFrom(
      'pause' as const,
      'pause' as const,
      'resume' as const,
      'resume' as const,
      'cancel' as const,
      'update' as const,
      'preview' as const,
      'get' as const,
    ),
  }),
  quiet: fc.record({
    do: fc.constant('quiet' as const),
    workspace,
    category: fc.constantFrom('marketing' as const, 'marketing' as const, 'transactional' as const),
    from_min: fc.constantFrom(-60, -1, 0, 1),
    /** At most an hour after the present time, so that a seed sees their end. */
    length_min: fc.constantFrom(2, 3, 62, 120),
    zone: fc.constantFrom(
      'Etc/UTC' as const,
      'Etc/UTC' as const,
      'Asia/Kathmandu' as const,
      'Pacific/Honolulu' as const,
      'Europe/Berlin' as const,
      'Europe/Berlin' as const,
    ),
    isOff: fc.constantFrom(false, false, true),
  }),
  unsubscribe: fc.record({
    do: fc.constant('unsubscribe' as const),
    which: small,
    isUndone: fc.constantFrom(false, false, false, true),
  }),
  contact: fc.record({
    do: fc.constant('contact' as const),
    workspace,
    which: small,
    how: fc.constantFrom('add' as const, 'rename' as const, 'out' as const, 'in' as const),
  }),
  code: fc.record({
    do: fc.constant('code' as const),
    workspace,
    channel: fc.constantFrom(
      'sms' as const,
      'sms' as const,
      'whatsapp' as const,
      'email' as const,
      'voice' as const,
    ),
    /** Whether the person asks for codes often. */
    isRegular: fc.boolean(),
    length: fc.constantFrom(6, 6, 4, 10),
    /** Whether the text is a stored template, and which version. */
    template: fc.constantFrom(null, null, null, 'login' as const),
    expires_s: fc.constantFrom(60, 60, 600, 3_600),
    fallback: fc.constantFrom(
      'none' as const,
      'none' as const,
      'one' as const,
      'two' as const,
      'mail' as const,
      'all' as const,
    ),
    isTest: fc.constantFrom(false, false, false, false, false, false, false, true),
    isKeyed: fc.boolean(),
    copies: fc.constantFrom(1, 1, 1, 2, 3),
    fate,
  }),
  guess: fc.record({
    do: fc.constant('guess' as const),
    which: small,
    how: fc.constantFrom('right' as const, 'right' as const, 'wrong' as const, 'address' as const),
    copies: fc.constantFrom(1, 1, 1, 2, 2, 6),
    wait_s: fc.constantFrom(0, 0, 0, 0, 61),
  }),
  codeAgain: fc.record({
    do: fc.constant('codeAgain' as const),
    which: small,
    channel: fc.constantFrom('same' as const, 'same' as const, 'sms' as const, 'voice' as const),
    isKeyed: fc.boolean(),
  }),
  codeEnd: fc.record({
    do: fc.constant('codeEnd' as const),
    which: small,
    how: fc.constantFrom('cancel' as const, 'approve' as const),
  }),
  cancel: fc.record({ do: fc.constant('cancel' as const), which: small }),
  cancelBulk: fc.record({
    do: fc.constant('cancelBulk' as const),
    which: small,
    how: fc.constantFrom('cancel' as const, 'pause' as const, 'pause' as const, 'resume' as const),
  }),
  reschedule: fc.record({
    do: fc.constant('reschedule' as const),
    which: small,
    delay_s: fc.constantFrom(0, 2, 30, 600),
  }),
  read: fc.record({ do: fc.constant('read' as const), which: small }),
  stranger: fc.record({ do: fc.constant('stranger' as const), which: small }),
  grant: fc.record({
    do: fc.constant('grant' as const),
    workspace,
    credits: fc.integer({ min: 1, max: 30 }),
    copies: fc.constantFrom(1, 1, 2),
    /** After this time the rest expires; 0: never. */
    expires_s: fc.constantFrom(0, 0, 2, 20, 600),
  }),
  /** An operator corrects a balance. */
  adjust: fc.record({
    do: fc.constant('adjust' as const),
    workspace,
    credits: fc.integer({ min: -4, max: 4 }),
    copies: fc.constantFrom(1, 2),
    /** Whether `credits` are what the workspace keeps. */
    isRest: fc.constantFrom(false, false, false, false, false, true),
  }),
  /** An owner erases a message or its content. */
  forget: fc.record({
    do: fc.constant('forget' as const),
    which: small,
    how: fc.constantFrom('erase' as const, 'redact' as const),
  }),
  look: fc.record({ do: fc.constant('look' as const), workspace, which: small }),
  wrong: fc.record({ do: fc.constant('wrong' as const), workspace, which: small }),
  /** Many people ask for codes in one country, as in an attack, or after an operator allowed it. */
  burst: fc.record({
    do: fc.constant('burst' as const),
    workspace,
    country: fc.nat(1),
    how: fc.constantFrom(
      'start' as const,
      'start' as const,
      'start' as const,
      'allow' as const,
      'look' as const,
    ),
  }),
  /** The service is stopped and started. */
  restart: fc.record({
    do: fc.constant('restart' as const),
    grace_ms: fc.constantFrom(0, 1_000, 25_000),
    down_ms: fc.constantFrom(50, 2_000),
  }),
  buy: fc.record({
    do: fc.constant('buy' as const),
    workspace,
    isKeyed: fc.boolean(),
    copies: fc.constantFrom(1, 1, 2),
    fate,
  }),
  refund: fc.record({ do: fc.constant('refund' as const), which: small }),
  compare: fc.record({ do: fc.constant('compare' as const), which: small }),
  write: fc.record({
    do: fc.constant('write' as const),
    which: small,
    text: fc.constantFrom('stop' as const, 'stop' as const, 'start' as const, 'thanks' as const),
    copies: fc.constantFrom(1, 1, 2),
  }),
  again: fc.record({ do: fc.constant('again' as const), which: small }),
  erase: fc.record({ do: fc.constant('erase' as const), which: small }),
  terms: fc.record({
    do: fc.constant('terms' as const),
    workspace,
    change: fc.constantFrom<Change[]>(
      'freeze',
      'unfreeze',
      'unfreeze',
      'limit',
      'free',
      'free',
      'low',
    ),
  }),
  pause: fc.record({ do: fc.constant('pause' as const) }),
  resume: fc.record({ do: fc.constant('resume' as const) }),
  pauseProvider: fc.record({ do: fc.constant('pauseProvider' as const), which: fc.nat(4) }),
  resumeProvider: fc.record({ do: fc.constant('resumeProvider' as const), which: fc.nat(4) }),
  provider: fc.record({
    do: fc.constant('provider' as const),
    which: fc.nat(4),
    mood: fc.constantFrom(
      'well' as const,
      'well' as const,
      'down' as const,
      'busy' as const,
      'silent' as const,
    ),
  }),
  receiver: fc.record({
    do: fc.constant('receiver' as const),
    which: small,
    mood: fc.constantFrom(
      'well' as const,
      'well' as const,
      'slow' as const,
      'broken' as const,
      'dead' as const,
      'gone' as const,
      'hanging' as const,
      'busy' as const,
      'moved' as const,
      'forgetful' as const,
    ),
  }),
  webhook: fc.record({ do: fc.constant('webhook' as const), workspace, kind: fc.nat(4) }),
  change: fc.record({
    do: fc.constant('change' as const),
    which: small,
    how: fc.constantFrom(
      'disable' as const,
      'disable' as const,
      'enable' as const,
      'enable' as const,
      'rotate' as const,
      'rotate' as const,
      'delete' as const,
      'test' as const,
      'test' as const,
      'retry' as const,
      'recover' as const,
    ),
  }),
  revoke: fc.record({ do: fc.constant('revoke' as const), workspace }),
  kill: fc.record({
    do: fc.constant('kill' as const),
    /** Whether the whole machine ends. */
    isPower: fc.boolean(),
    down_ms: fc.constantFrom(0, 50, 2_000, 90_000),
  }),
  commit: fc.record({
    do: fc.constant('commit' as const),
    in_commits: fc.nat(12),
    fault: fc.constantFrom<CommitFault[]>(
      'killed_before',
      'killed_after',
      'disk_full',
      'disk_full',
      'disk_full',
      'power_cut',
      'failed_flush',
      'write_fails',
      'write_fails',
    ),
  }),
  clock: fc.record({
    do: fc.constant('clock' as const),
    by_ms: fc.constantFrom(-3_600_000, -30_000, -1_500, 1_500, 30_000, 3_600_000),
  }),
  sleep: fc.record({
    do: fc.constant('sleep' as const),
    ms: fc.constantFrom(500, 4_900, 5_100, 20_000, 61_000, 61_000, 61_000, 130_000),
    /** Whether the timers of the process stand still meanwhile, as in a suspended machine. */
    isSuspended: fc.constantFrom(true, true, false),
  }),
} as const

type Kinds = typeof kinds
/** One step of a script. */
export type Step = {
  [K in keyof Kinds]: Kinds[K] extends fc.Arbitrary<infer T> ? T : never
}[keyof Kinds]
export type Doing<K extends Step['do']> = Extract<Step, { do: K }>

/** How often each kind is chosen; those after `revoke` are faults. */
const weights: Record<keyof Kinds, number> = {
  send: 120,
  call: 14,
  mail: 18,
  text: 6,
  domain: 16,
  prices: 1,
  repeat: 16,
  bulk: 8,
  templated: 12,
  fill: 4,
  template: 3,
  broadcast: 4,
  steer: 8,
  quiet: 2,
  unsubscribe: 4,
  contact: 4,
  code: 14,
  guess: 20,
  codeAgain: 5,
  codeEnd: 3,
  cancel: 12,
  cancelBulk: 6,
  reschedule: 5,
  read: 16,
  stranger: 4,
  grant: 4,
  adjust: 3,
  forget: 6,
  look: 10,
  wrong: 14,
  burst: 1,
  restart: 1,
  buy: 6,
  refund: 1,
  compare: 1,
  write: 8,
  again: 8,
  erase: 2,
  terms: 4,
  pause: 2,
  resume: 3,
  pauseProvider: 2,
  resumeProvider: 3,
  webhook: 3,
  change: 9,
  revoke: 1,
  provider: 5,
  receiver: 8,
  kill: 1,
  commit: 6,
  clock: 2,
  sleep: 3,
}

const FAULTS: readonly Step['do'][] = [
  'provider',
  'receiver',
  'kill',
  'restart',
  'commit',
  'clock',
  'sleep',
]

export const isFault = (step: Step): boolean => FAULTS.includes(step.do)

const step = fc.oneof(
  ...(Object.keys(kinds) as (keyof Kinds)[]).map((kind) => ({
    weight: weights[kind],
    arbitrary: kinds[kind] as fc.Arbitrary<Step>,
  })),
)
/** A step, and how long after the one before it. */
export type Timed = { after_ms: number; step: Step }

export const timed = fc.record({
  after_ms: fc.constantFrom(0, 0, 0, 0, 1, 3, 10, 30, 60, 120, 300, 700),
  step,
})
