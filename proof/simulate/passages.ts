import fc from 'fast-check'
import { type Doing, fate, type Step, small, type Timed, timed, workspace } from './script.ts'

// The script of a seed: single steps in any order, and passages between them.

const after = (after_ms: number, next: Step): Timed => ({ after_ms, step: next })

const fates = fc.array(fate, { minLength: 8, maxLength: 8 })

type Fields<K extends Step['do']> = Partial<Doing<K>> & { workspace: number; fate: number }

const USUAL = { isTest: false, isKeyed: false, copies: 1, delay_s: 0, expires_s: 0 } as const
const aSend = (fields: Fields<'send'>): Doing<'send'> => ({
  do: 'send',
  channel: 'sms',
  ...USUAL,
  ...fields,
})
const aMail = (fields: Fields<'mail'>): Doing<'mail'> => ({
  do: 'mail',
  people: [1],
  cc: 0,
  bcc: 0,
  from: 0,
  ...USUAL,
  ...fields,
})
const aCall = (fields: Fields<'call'>): Doing<'call'> => ({
  do: 'call',
  minutes: 1,
  ...USUAL,
  ...fields,
})
const aBulk = (fields: Fields<'bulk'>): Doing<'bulk'> => ({
  do: 'bulk',
  size: 6,
  delay_s: 0,
  isKeyed: false,
  ...fields,
})
const aCode = (fields: Fields<'code'>): Doing<'code'> => ({
  do: 'code',
  channel: 'sms',
  isRegular: false,
  length: 6,
  template: null,
  fallback: 'none',
  isTest: false,
  isKeyed: false,
  copies: 1,
  expires_s: 600,
  ...fields,
})
const aTemplated = (fields: Fields<'templated'>): Doing<'templated'> => ({
  do: 'templated',
  channel: 'sms',
  name: 'news',
  version: null,
  ...USUAL,
  ...fields,
})
const CHANNELS = ['sms', 'whatsapp', 'email'] as const
const CODE_CHANNELS = ['sms', 'email', 'whatsapp', 'voice'] as const

/** This number of looks asks all questions. */
const PAGES = 22

/** People who get few other mails: after one complaint, each later mail to several people is refused. */
const peopleFrom = (draw: number): number => 100 + (draw % 50_000) * 4

/** A message of each kind in turn. */
function anyOf(n: number, fields: { workspace: number; fate: number; expires_s?: 60 | 600 }): Step {
  const { fate, expires_s = 0 } = fields
  const people = [1, 2, 3].map((i) => peopleFrom(fate) + i)
  if (n % 5 === 3) return aCall({ ...fields, expires_s })
  if (n % 5 === 4) return aMail({ ...fields, people, expires_s: expires_s && 60 })
  return aSend({ ...fields, channel: CHANNELS[n % 5] ?? 'sms', expires_s })
}

/** Passages of a script: steps that seldom follow each other by chance. Each seed has some of them. */
const passages: readonly fc.Arbitrary<Timed[]>[] = [
  // During a pause of everything or of a provider, messages wait for longer than they are valid.
  fc
    .record({ workspace, fates, which: fc.nat(5), ms: fc.constantFrom(61_000, 130_000) })
    .map(({ workspace, fates, which, ms }) => [
      after(60, which === 5 ? { do: 'pause' } : { do: 'pauseProvider', which }),
      ...fates.map((fate, n) =>
        after(n === 0 ? 120 : 3, anyOf(n, { workspace, fate, expires_s: n % 3 === 2 ? 600 : 60 })),
      ),
      after(300, { do: 'sleep', ms, isSuspended: false }),
      after(10, which === 5 ? { do: 'resume' } : { do: 'resumeProvider', which }),
    ]),
  // A machine is suspended while mails are sent, for longer than a lease.
  fc
    .record({
      workspace,
      fates,
      ms: fc.constantFrom(61_000, 130_000),
      wait_ms: fc.constantFrom(10, 60),
    })
    .map(({ workspace, fates, ms, wait_ms }) => [
      ...fates.map((fate, n) => {
        const expires_s = n % 4 < 2 ? 7_200 : 60
        const first = peopleFrom(fate)
        const people = n % 2 === 0 ? [first] : [first, first + 1, first + 2]
        return after(n % 2, aMail({ workspace, fate, people, expires_s, from: 9 }))
      }),
      after(wait_ms, { do: 'sleep', ms, isSuspended: true }),
    ]),
  // One of many writes in one commit fails.
  fc
    .record({
      workspace,
      fates,
      fault: fc.constantFrom('write_fails' as const, 'disk_full' as const),
    })
    .map(({ workspace, fates, fault }) => [
      after(60, { do: 'commit', in_commits: 0, fault }),
      ...fates.map((fate, n) =>
        after(n === 0 ? 1 : 0, anyOf(n, { workspace: (workspace + n) % 2, fate })),
      ),
      after(0, aBulk({ workspace, fate: fates[0] ?? 0, isKeyed: true })),
    ]),
  // Results cannot be stored at once.
  fc
    .record({ workspace, fates })
    .map(({ workspace, fates }) => [
      ...fates.map((fate, n) => after(0, anyOf(n, { workspace, fate }))),
      after(120, { do: 'commit', in_commits: 0, fault: 'disk_full' }),
      after(120, { do: 'commit', in_commits: 0, fault: 'disk_full' }),
      ...[0, 1, 2, 3].map((which) => after(700, { do: 'read', which })),
    ]),
  // An owner disables a webhook that fails.
  fc
    .record({
      workspace,
      fates,
      which: small,
      mood: fc.constantFrom('broken' as const, 'dead' as const),
    })
    .map(({ workspace, fates, which, mood }) => [
      after(0, { do: 'receiver', which, mood }),
      ...fates.slice(0, 4).map((fate, n) => after(3, anyOf(n, { workspace: n % 2, fate }))),
      after(700, { do: 'read', which: 0 }),
      after(700, { do: 'change', which, how: 'disable' }),
      after(700, aSend({ workspace, fate: fates[4] ?? 0 })),
      after(700, { do: 'read', which: 0 }),
    ]),
  // A workspace spends its last credits, and its clients repeat what was refused.
  fc
    .record({ workspace, fates, credits: fc.nat(3) })
    .map(({ workspace, fates, credits }) => [
      after(10, { do: 'adjust', workspace, credits, copies: 1, isRest: true }),
      ...fates.slice(0, 4).map((fate, n) => after(30, aSend({ workspace, fate, isKeyed: n > 0 }))),
      ...[7, 8].map((n) =>
        after(3, aBulk({ workspace, fate: fates[n - 3] ?? 0, isKeyed: n === 7, size: 5 })),
      ),
      after(0, aCall({ workspace, fate: fates[6] ?? 0, minutes: 3, isKeyed: true })),
      after(0, aMail({ workspace, fate: fates[7] ?? 0, people: [30, 31, 32], isKeyed: true })),
      ...[0, 2, 4, 6].map((which) => after(60, { do: 'repeat', which, isOther: false })),
      after(60, { do: 'grant', workspace, credits: 30, copies: 2, expires_s: 0 }),
    ]),
  // A workspace is frozen for a moment.
  fc
    .record({ workspace, fates })
    .map(({ workspace, fates }) => [
      after(60, { do: 'terms', workspace, change: 'freeze' }),
      ...fates
        .slice(0, 5)
        .map((fate, n) => after(n === 0 ? 120 : 10, anyOf(n, { workspace, fate }))),
      after(0, aBulk({ workspace, fate: fates[5] ?? 0, isKeyed: true })),
      after(0, aCode({ workspace, fate: fates[6] ?? 0 })),
      ...[0, 2].map((which) => after(60, { do: 'repeat', which, isOther: false })),
      after(60, { do: 'terms', workspace, change: 'unfreeze' }),
    ]),
  // A workspace gets a daily limit and reaches it.
  fc
    .record({ workspace, fates })
    .map(({ workspace, fates }) => [
      after(60, { do: 'terms', workspace, change: 'tight' }),
      ...fates
        .slice(0, 6)
        .map((fate, n) => after(n === 0 ? 120 : 30, anyOf(n, { workspace, fate }))),
      after(0, aBulk({ workspace, fate: fates[6] ?? 0, size: 3 })),
      after(120, { do: 'terms', workspace, change: 'free' }),
    ]),
  // People guess a code.
  fc
    .record({ workspace, fates, wait_s: fc.constantFrom(0 as const, 61 as const) })
    .map(({ workspace, fates, wait_s }) => [
      ...[0, 1].map((n) =>
        after(
          0,
          aCode({
            workspace,
            fate: fates[n] ?? 0,
            channel: CHANNELS[n] ?? 'sms',
            expires_s: wait_s > 0 ? 60 : 600,
          }),
        ),
      ),
      after(700, { do: 'read', which: 0 }),
      after(700, { do: 'guess', which: 1, how: 'wrong', copies: 6, wait_s: 0 }),
      after(60, { do: 'guess', which: 0, how: 'wrong', copies: 2, wait_s: 0 }),
      after(60, { do: 'guess', which: 0, how: 'right', copies: 2, wait_s }),
      after(60, { do: 'guess', which: 1, how: 'wrong', copies: 6, wait_s: 0 }),
    ]),
  // A client makes several calls.
  fc
    .record({ workspace, fates })
    .map(({ workspace, fates }) =>
      fates
        .slice(0, 5)
        .map((fate, n) => after(1, aCall({ workspace, fate, minutes: n === 4 ? 2 : 1 }))),
    ),
  // People read what they get.
  fc
    .record({ workspace, fates })
    .map(({ workspace, fates }) =>
      fates.map((fate, n) => after(n % 2, aSend({ workspace, fate, channel: 'whatsapp' }))),
    ),
  // The same few people get several mails.
  fc
    .record({ workspace, fates, first: fate.map(peopleFrom) })
    .map(({ workspace, fates, first }) => [
      ...fates.slice(0, 4).map((fate, n) => {
        const people = [first + (n % 2), first + 3, first + 2, first + 5].slice(0, 3 + (n % 2))
        return after(3, aMail({ workspace, fate, people, from: 9 }))
      }),
      ...[0, 1, 2].map((which) => after(700, { do: 'read', which })),
      ...fates.slice(4).map((fate, n) => {
        const people = n % 2 === 0 ? [first + n] : [first + 3, first + n + 7]
        return after(300, aMail({ workspace, fate, people, from: 9 }))
      }),
    ]),
  // Messages wait for a paused provider, and others of their workspace need not.
  fc
    .record({ workspace, fates })
    .map(({ workspace, fates }) => [
      after(60, { do: 'pauseProvider', which: 1 }),
      ...fates.map((fate, n) =>
        after(
          n === 0 ? 120 : 1,
          aSend({ workspace, fate, channel: n % 2 === 0 ? 'whatsapp' : 'sms', copies: 2 }),
        ),
      ),
      after(700, { do: 'resumeProvider', which: 1 }),
    ]),
  // A provider gets more than it can take at once.
  fc
    .record({ workspace, fates })
    .map(({ workspace, fates }) => [
      ...fates.slice(0, 2).map((fate) => after(0, aBulk({ workspace, fate, size: 50 }))),
      ...fates.slice(2).map((fate, n) => after(n, anyOf(n, { workspace, fate }))),
    ]),
  // Quiet hours begin, and contacts get messages from templates.
  fc
    .record({
      ...{ workspace, fates, from_min: fc.constantFrom(-60 as const, 0 as const) },
      ...{ length_min: fc.constantFrom(2 as const, 62 as const, 120 as const) },
      zone: fc.constantFrom(
        'Etc/UTC' as const,
        'Asia/Kathmandu' as const,
        'Europe/Berlin' as const,
      ),
    })
    .map(({ workspace, fates, ...hours }) => [
      ...(['marketing', 'transactional'] as const).map((category) =>
        after(0, { do: 'quiet', workspace, category, isOff: false, ...hours }),
      ),
      ...fates.map((fate, n) =>
        after(
          n === 0 ? 300 : 3,
          aTemplated({
            workspace,
            // Contacts.
            fate: fate - (fate % 2),
            channel: n % 2 === 0 ? 'sms' : 'email',
            name: n % 4 < 2 ? 'news' : 'receipt',
            delay_s: n < 4 ? 0 : 60,
          }),
        ),
      ),
    ]),
  // A person asks for codes again after each wait, with another length or on another channel.
  fc
    .record({ workspace, fate: fc.nat(5) })
    .map(({ workspace, fate }) => [
      after(0, aCode({ workspace, fate, isRegular: true, expires_s: 3_600, fallback: 'mail' })),
      after(60, { do: 'sleep', ms: 61_000, isSuspended: false }),
      after(300, aCode({ workspace, fate, isRegular: true, length: 4 })),
      after(60, { do: 'codeAgain', which: 0, channel: 'same', isKeyed: false }),
      after(60, { do: 'sleep', ms: 61_000, isSuspended: false }),
      after(300, { do: 'codeAgain', which: 0, channel: 'voice', isKeyed: true }),
      after(60, { do: 'sleep', ms: 130_000, isSuspended: false }),
      after(300, aCode({ workspace, fate, isRegular: true, length: 4, expires_s: 3_600 })),
    ]),
  // People opt out while messages to them wait.
  fc
    .record({ workspace, fates, channel: fc.constantFrom('sms' as const, 'whatsapp' as const) })
    .map(({ workspace, fates, channel }) => [
      ...fates
        .slice(0, 4)
        .flatMap((fate) => [
          after(3, aSend({ workspace, fate, channel })),
          after(3, aSend({ workspace, fate, channel, delay_s: 5 })),
          after(3, aSend({ workspace, fate, channel, delay_s: 60 })),
        ]),
      after(700, { do: 'read', which: 0 }),
      ...[0, 1, 2, 3].map((which) => after(120, { do: 'write', which, text: 'stop', copies: 1 })),
      after(700, { do: 'read', which: 0 }),
      after(60, { do: 'sleep', ms: 61_000, isSuspended: false }),
    ]),
  // Owners erase messages about which reports still come, and those that are being sent.
  fc
    .record({ workspace, fates, first: fate.map(peopleFrom) })
    .map(({ workspace, fates, first }) => [
      ...fates.slice(0, 6).flatMap((fate, n) => [
        after(
          3,
          n % 2 === 0
            ? aMail({ workspace, fate, people: [first, first + 1, first + 2], from: 9 })
            : anyOf(n >>> 1, { workspace, fate }),
        ),
        after(n < 3 ? 60 : 300, {
          do: 'forget',
          which: n % 3,
          how: n % 3 === 0 ? 'redact' : 'erase',
        }),
      ]),
      after(700, { do: 'read', which: 0 }),
      ...[0, 1, 2, 3].map((which) => after(60, { do: 'forget', which, how: 'erase' })),
    ]),
  // A domain is removed, or loses its record, while mails from it wait.
  fc
    .record({ workspace, fates, how: fc.constantFrom('remove' as const, 'unpublish' as const) })
    .map(({ workspace, fates, how }) => [
      after(0, { do: 'domain', which: 3 * workspace, how: 'publish' }),
      after(60, { do: 'domain', which: 3 * workspace, how: 'verify' }),
      ...fates.slice(0, 6).map((fate, n) => {
        const people = n % 2 === 0 ? [peopleFrom(fate)] : [peopleFrom(fate), peopleFrom(fate) + 1]
        return after(
          n === 0 ? 300 : 10,
          aMail({ workspace, fate, people, delay_s: n < 3 ? 5 : 60 }),
        )
      }),
      after(60, { do: 'domain', which: 3 * workspace, how }),
      after(60, { do: 'domain', which: 3 * workspace, how: 'verify' }),
      after(300, { do: 'sleep', ms: 61_000, isSuspended: false }),
      after(300, { do: 'domain', which: 3 * workspace, how: 'add' }),
      after(300, { do: 'domain', which: 3 * workspace, how: 'publish' }),
      after(60, { do: 'domain', which: 3 * workspace, how: 'verify' }),
    ]),
  // An owner limits codes: by country, or by what they cost in a day.
  fc
    .record({ workspace, fates, by: fc.constantFrom('country' as const, 'credits' as const) })
    .map(({ workspace, fates, by }) => {
      const limit = { from_min: by === 'country' ? 1 : -1, length_min: 3 } as const
      const quiet = { do: 'quiet', workspace, category: 'marketing', zone: 'Etc/UTC' } as const
      return [
        after(0, { ...quiet, ...limit, isOff: false }),
        ...fates.map((fate, n) =>
          after(
            n === 0 ? 300 : 30,
            aCode({
              workspace,
              fate,
              channel: CODE_CHANNELS[n % 4] ?? 'sms',
              fallback: n % 2 === 0 ? 'mail' : 'one',
            }),
          ),
        ),
        after(60, { do: 'codeAgain', which: 0, channel: 'sms', isKeyed: false }),
        after(300, { ...quiet, from_min: -1, length_min: 2, isOff: true }),
      ]
    }),
  // An attack stops, the operator allows the country, and another one begins.
  fc
    .record({ workspace, country: fc.nat(1) })
    .map(({ workspace, country }) => [
      after(0, { do: 'burst', workspace, country, how: 'start' }),
      after(700, { do: 'sleep', ms: 5_100, isSuspended: false }),
      after(60, { do: 'burst', workspace, country, how: 'look' }),
      after(300, { do: 'burst', workspace, country, how: 'allow' }),
      after(60, { do: 'burst', workspace, country, how: 'look' }),
      after(300, { do: 'burst', workspace, country, how: 'start' }),
    ]),
  // Bulks are paused for longer than their messages are valid.
  fc
    .record({ workspace, fates, ms: fc.constantFrom(20_000, 61_000, 130_000) })
    .map(({ workspace, fates, ms }) => [
      ...fates
        .slice(0, 4)
        .flatMap((fate, n) => [
          after(3, aBulk({ workspace, fate, size: 5, delay_s: n < 2 ? 0 : 30 })),
          after(n % 2 === 0 ? 1 : 30, { do: 'cancelBulk', which: 0, how: 'pause' }),
        ]),
      after(60, { do: 'sleep', ms, isSuspended: false }),
      ...[0, 1, 2, 3].map((which) => after(60, { do: 'cancelBulk', which, how: 'resume' })),
    ]),
  // Owners change webhooks whose deliveries are in flight.
  fc
    .record({
      ...{ workspace, fates, which: small },
      mood: fc.constantFrom('slow' as const, 'broken' as const, 'busy' as const),
    })
    .map(({ workspace, fates, which, mood }) => [
      ...[0, 1, 2, 3].map((n) => after(0, { do: 'receiver', which: which + n, mood } as const)),
      after(0, { do: 'webhook', workspace, kind: 4 }),
      ...fates.slice(0, 4).map((fate, n) => after(3, anyOf(n, { workspace, fate }))),
      after(300, { do: 'change', which, how: 'delete' }),
      after(30, { do: 'change', which: which + 1, how: 'disable' }),
      after(30, { do: 'change', which: which + 2, how: 'retry' }),
      after(30, { do: 'change', which: which + 3, how: 'test' }),
      ...fates.slice(4).map((fate, n) => after(60, anyOf(n, { workspace, fate }))),
      after(300, { do: 'change', which: which + 1, how: 'enable' }),
      after(60, { do: 'change', which: which + 2, how: 'recover' }),
    ]),
  // Owners and clients look at everything.
  fc
    .record({ workspace })
    .map(({ workspace }) =>
      Array.from({ length: PAGES }, (_, which) => after(1, { do: 'look', workspace, which })),
    ),
  // Operators start the service with other prices, without a provider or a key, while messages come.
  fc
    .record({ workspace, fates })
    .map(({ workspace, fates }) => [
      ...[0, 1, 2, 3].map((which) => after(3, { do: 'change', which, how: 'rotate' } as const)),
      after(300, { do: 'prices', which: 1 }),
      ...fates.slice(0, 4).map((fate, n) => after(60, anyOf(n, { workspace, fate }))),
      after(300, { do: 'prices', which: 2 }),
      ...fates.slice(4).map((fate, n) => after(60, anyOf(n, { workspace, fate }))),
      after(300, { do: 'prices', which: 0 }),
    ]),
  // An operator repeats a grant, and others whose rest expires; an owner replaces a key.
  fc
    .record({ workspace })
    .map(({ workspace }) => [
      after(0, { do: 'grant', workspace, credits: 9, copies: 2, expires_s: 0 }),
      after(3, { do: 'grant', workspace, credits: 2, copies: 1, expires_s: 600 }),
      after(3, { do: 'grant', workspace, credits: 3, copies: 1, expires_s: 20 }),
      after(3, { do: 'grant', workspace, credits: 4, copies: 1, expires_s: 20 }),
      after(120, { do: 'revoke', workspace }),
    ]),
]

/** A passage in which the workspace of its messages may send. */
function prepared(passage: readonly Timed[]): Timed[] {
  const found = passage.find(({ step }) => 'workspace' in step)?.step
  const workspace = found && 'workspace' in found ? found.workspace : 0
  return [
    after(0, { do: 'terms', workspace, change: 'unfreeze' }),
    after(0, { do: 'terms', workspace, change: 'free' }),
    after(0, { do: 'grant', workspace, credits: 20, copies: 1, expires_s: 0 }),
    after(0, { do: 'resume' }),
    after(120, { do: 'read', which: 0 }),
    ...passage,
  ]
}

/** How many passages a seed has. */
const PASSAGES = 8

const scripts = fc
  .record({
    single: fc.array(timed, { minLength: 140, maxLength: 155, size: 'max' }),
    between: fc
      .shuffledSubarray([...passages.keys()], { minLength: PASSAGES, maxLength: PASSAGES })
      .chain((chosen) => fc.tuple(...chosen.map((n) => passages[n] as fc.Arbitrary<Timed[]>))),
  })
  .map(({ single, between }) => {
    const length = Math.ceil(single.length / (between.length + 1))
    return single.flatMap((one, i) => {
      const passage = i % length === length - 1 ? (between[(i + 1) / length - 1] ?? []) : []
      return passage.length > 0 ? [one, ...prepared(passage)] : [one]
    })
  })

/** For shrinking: also short scripts. */
export const shorterScripts = fc.array(timed, { maxLength: 280, size: 'max' })

/** The script of a seed. */
export function scriptOf(seed: number): Timed[] {
  const [script] = fc.sample(scripts, { seed, numRuns: 1 })
  return script as Timed[]
}
