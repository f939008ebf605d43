import { createHmac } from 'node:crypto'
import type { SendJob } from '../../packages/core/src/contract/outside/provider.ts'
import { FAULTS, FAULTS_AT_WORK, type Fault } from '../stage/rules.ts'
import { elapsedMs } from './clock.ts'
import {
  addressesOf,
  type Call,
  type Carried,
  creditsOf,
  hasLookup,
  type Model,
  type Post,
  PROVIDERS,
  type ProviderName,
  unitPriceOf,
} from './model.ts'
import type { Connection, World } from './world.ts'

// Each invariant has the name of the promise that it checks; `docs/concepts/guarantees.md` explains the promises.

interface Stage {
  world: World
  model: Model
  database: Connection
}

interface MessageRow {
  id: string
  workspace_id: string
  api_key_id: string | null
  bulk_id: string | null
  livemode: number
  channel: (typeof PROVIDERS)[number]['channel']
  status: string
  accepted: number
  credits_used: number
  credits_refunded: number
  error_code: string | null
  sequence: number
  delivered_at: number | null
  duration_s: number | null
  recipients: string | null
}

interface RecipientRow {
  address: string
  role: string
  status: string
  accepted: boolean
}

const recipientsOf = (row: Pick<MessageRow, 'recipients'> | undefined): RecipientRow[] =>
  JSON.parse(row?.recipients ?? '[]')

const brief = ({
  status,
  accepted,
  credits_used,
  credits_refunded,
  error_code,
  sequence,
}: MessageRow) =>
  JSON.stringify({ status, accepted, credits_used, credits_refunded, error_code, sequence })

/** What must hold at any moment. */
export function checkMoment(stage: Stage): void {
  checkStatuses(stage)
  checkBegun(stage)
  checkRetries(stage)
  checkRows(stage, FAULTS_AT_WORK)
}

function checkStatuses({ world, model, database }: Stage): void {
  const rows = database
    .prepare('select id, status, credits_used, credits_refunded from messages')
    .all() as Pick<MessageRow, 'id' | 'status' | 'credits_used' | 'credits_refunded'>[]
  for (const { id, status, credits_used, credits_refunded } of rows) {
    // A mail to several may be refunded in part.
    const isRefunded = credits_refunded > 0 && credits_refunded === credits_used
    const seen = { status, isRefunded }
    if (model.statuses.has(id)) noteStatus({ world, model }, id, seen)
    else model.statuses.set(id, seen)
  }
}

/** A journalled attempt begins within this time, unless the process dies or the machine sleeps. */
const BEGIN_MS = 4_000

/** An attempt that is refused without a call is stored with the outcomes of its batch. */
const REFUSED_MS = 30_000

/** Whether a mail names a domain of its sender, which may be no longer verified. */
function mayBeRefused(database: Connection, message_id: string): boolean {
  const find = database
    .prepare("select json_extract(content, '$.from_address') from messages where id = ?")
    .pluck()
  return find.get(message_id) != null
}

/** Each message has at most one attempt without an outcome, and its call begins soon. */
function checkBegun({ world, model, database }: Stage): void {
  const now_ms = elapsedMs()
  const rows = database
    .prepare("select message_id, number from message_attempts where outcome = 'started'")
    .all() as { message_id: string; number: number }[]
  const open = new Map<string, number>()
  const messages = new Set<string>()
  for (const { message_id, number } of rows) {
    const at = `attempt ${number} of ${world.nameOf('m', message_id)}`
    if (messages.has(message_id)) world.violate('at most one unanswered attempt', at)
    messages.add(message_id)
    const key = `${message_id} ${number}`
    const since_ms = model.started.get(key) ?? now_ms
    open.set(key, since_ms)
    const isCalled = model.calls.some(
      (call) => call.message_id === message_id && call.attempt === number,
    )
    const stops = [...model.deaths, ...model.sleeps]
    if (isCalled || now_ms - since_ms < BEGIN_MS || stops.some((stop) => stop >= since_ms)) continue
    if (now_ms - since_ms < REFUSED_MS && mayBeRefused(database, message_id)) continue
    world.violate('work that was handed over begins', `${at} waits since ${since_ms}`)
  }
  model.started = open
}

const ORDER = ['queued', 'sent', 'failed', 'delivered', 'read']

/** Notes a status that a client saw. */
export function noteStatus(
  { world, model }: { world: World; model: Model },
  id: string,
  seen: { status: string; isRefunded: boolean },
): void {
  const before = model.statuses.get(id)
  model.statuses.set(id, seen)
  if (!before) return
  const isBack = ORDER.indexOf(seen.status) < ORDER.indexOf(before.status)
  const isRevived = before.isRefunded && seen.status !== before.status
  if (isBack || isRevived || (before.isRefunded && !seen.isRefunded)) {
    const change = `${before.status} to ${seen.status}${before.isRefunded ? ' after a refund' : ''}`
    world.violate('a status moves forward', `${world.nameOf('m', id)}: ${change}`)
  }
}

const DAY_MS = 86_400_000

/** The last day on which a workspace spent, in days since 1970, and the sum of its debits on that day. */
export function spendingOf(database: Connection, workspace_id: string) {
  const debits = database
    .prepare(
      "select held_delta - amount as price, created_at from ledger_entries where workspace_id = ? and kind in ('send', 'hold') order by seq",
    )
    .all(workspace_id) as { price: number; created_at: number }[]
  let [day, spent] = [0, 0]
  for (const { price, created_at } of debits) {
    const own = Math.floor(created_at / DAY_MS)
    // A clock that was set back over midnight does not open the earlier day again.
    if (own !== day && own !== day - 1) [day, spent] = [own, 0]
    spent += price
  }
  return { day, spent }
}

/** Whether a fault lies in a time. */
export const isFaulted = ({ faulted }: World, from_ms: number, until_ms: number): boolean =>
  faulted.some((at) => at >= from_ms && at <= until_ms)

/** A delivery that failed is tried again by the schedule. The guide to webhooks has it. */
const RETRY_DELAYS_MS = [
  0, 5, 30, 120, 600, 1_800, 7_200, 18_000, 36_000, 50_400, 72_000, 86_400,
].map((delay_s) => delay_s * 1_000)
const RETRY_JITTER = 0.1

function checkRetries({ world, model, database }: Stage): void {
  // The waits of deliveries that were queued before the clock was set back count anew.
  if (model.isClockSet) return
  const rows = database
    .prepare(
      `select id, attempt_count, next_attempt_at - updated_at as wait_ms from deliveries
       where status = 'pending' and attempt_count > 0 and next_attempt_at is not null
         and coalesce(response_status, 0) not in (429, 503)`,
    )
    .all() as { id: string; attempt_count: number; wait_ms: number }[]
  for (const { id, attempt_count, wait_ms } of rows) {
    const delay_ms = RETRY_DELAYS_MS[attempt_count]
    // A request that may not have begun is made again without being counted.
    if (wait_ms === UNCOUNTED_WAIT_MS) continue
    const isRight =
      delay_ms !== undefined &&
      wait_ms >= delay_ms &&
      wait_ms <= Math.ceil(delay_ms * (1 + RETRY_JITTER))
    if (isRight) continue
    const at = `${world.nameOf('d', id)} waits ${wait_ms} ms after attempt ${attempt_count}`
    world.violate('a delivery is tried by the schedule', at)
  }
}

const UNCOUNTED_WAIT_MS = 5_000

/** After the clock was set, what was decided before is done for this time. */
const DECIDED_MS = 60_000

/** The time in which the answer of a provider is stored. */
const ANSWER_STORED_MS = 1_000

/** The time between the claim of a message and its call. */
const CALL_WITHIN_MS = 3_000

/** What must hold when a provider is called. */
export function checkCall(
  { world, model, database }: Stage,
  name: ProviderName,
  { workspace_id, message_id, attempt, recipients = [] }: SendJob,
  carried: Carried,
): void {
  const at = `${name} was called for ${world.nameOf('m', message_id)}`
  if (model.pause.state === 'yes') world.violate('a pause holds', at)
  if (model.providerPauses[name].state === 'yes') {
    world.violate('a pause holds', `${name} is paused: ${at}`)
  }
  const attempts = database
    .prepare(
      'select number, outcome, provider from message_attempts where workspace_id = ? and message_id = ? order by number desc',
    )
    .all(workspace_id, message_id) as { number: number; outcome: string; provider: string }[]
  const [last] = attempts
  if (last?.outcome !== 'started' || last.provider !== name || last.number !== attempt) {
    world.violate('no call without a journalled attempt', `${at}: ${JSON.stringify(last)}`)
  }
  if (attempts.filter(({ outcome }) => outcome === 'started').length > 1) {
    world.violate('at most one unanswered attempt', `${at}: ${JSON.stringify(attempts)}`)
  }
  const calls = model.calls.filter((one) => one.message_id === message_id)
  if (calls.some((one) => one.attempt === attempt)) {
    world.violate('no call without a journalled attempt', `${at}: attempt ${attempt} again`)
  }
  const now_ms = elapsedMs()
  const stops = [...model.deaths, ...model.sleeps]
  for (const { began_ms, answer } of calls) {
    const isOpen = answer === null && now_ms - began_ms < ANSWER_MAX_MS
    if (isOpen && !stops.some((stop) => stop >= began_ms)) {
      world.violate('at most one unanswered attempt', `${at}: called ${now_ms - began_ms} ms ago`)
    }
  }
  const row = database
    .prepare(
      `select m.status, m.error_code, m.scheduled_at, m.expires_at, m.recipients, m.updated_at >= a.started_at as is_reported
       from messages m left join message_attempts a on a.workspace_id = m.workspace_id and a.message_id = m.id and a.number = ?
       where m.workspace_id = ? and m.id = ?`,
    )
    .get(attempt, workspace_id, message_id) as
    | (Record<'status' | 'error_code' | 'recipients', string | null> &
        Record<'scheduled_at' | 'expires_at' | 'is_reported', number | null>)
    | undefined
  // A report may be stored between the claim and the call: the machine sleeps, or the call waits in a queue.
  for (const { address, is_due } of recipients) {
    const known = recipientsOf(row).find((one) => one.address === address)
    if (is_due && known?.status !== 'queued' && row?.is_reported !== 1) {
      world.violate('a recipient with a result is not sent to again', `${at} and ${address}`)
    }
  }
  if (!row || row.error_code === 'canceled') {
    world.violate('a canceled message is not sent', `${at}: ${row?.status}`)
  }
  // A fault may lose the answers of a batch before they are stored: then the service does not know that the provider asked to wait.
  const answers = calls.at(-1)?.batch.map(({ answer }) => answer?.at_ms ?? null) ?? []
  const times = answers.flatMap((at_ms) => at_ms ?? [])
  const isFaultedMeanwhile = isFaulted(
    world,
    Math.min(...times),
    Math.max(...times) + ANSWER_STORED_MS,
  )
  const isKnown = !answers.includes(null) && !isFaultedMeanwhile && !model.moved.has(message_id)
  if (isKnown && carried.not_before_ms !== null && now_ms < carried.not_before_ms) {
    world.violate('the wait of a provider is kept', `${at}: ${carried.not_before_ms - now_ms} ms`)
  }
  if (now_ms - model.clock_set_ms < DECIDED_MS) return
  if (attempt === 1 && (row?.scheduled_at ?? 0) > Date.now())
    world.violate('a schedule is kept', at)
  if (isFaulted(world, now_ms - DECIDED_MS, now_ms)) return
  if ((row?.expires_at ?? Number.POSITIVE_INFINITY) < Date.now() - CALL_WITHIN_MS) {
    world.violate('an expired message is not sent', at)
  }
}

/** What must hold when a receiver gets a request. */
export function checkRequest({ world, model, database }: Stage, post: Post): void {
  const { receiver, headers, at_ms } = post
  const id = headers['x-svc-delivery'] ?? ''
  const at = `${world.nameOf('d', id)} to receiver ${receiver}`
  const earlier = model.posts.find(
    (one) => one.isAnswered && one.receiver === receiver && one.headers['x-svc-delivery'] === id,
  )
  if (earlier && !isFaulted(world, earlier.at_ms, at_ms)) {
    world.violate('an acknowledged delivery ends', at)
  }
  const row = database
    .prepare(
      `select q.webhook_id, q.set_at from delivery_queue q where q.delivery_id = ? and q.token is not null`,
    )
    .get(id) as { webhook_id: string; set_at: number } | undefined
  const hook = model.hooks.find((one) => one.id === row?.webhook_id)
  if (!row || hook?.off_since_ms == null || at_ms - model.clock_set_ms < DECIDED_MS) return
  const claimed_ms = at_ms - (Date.now() - row.set_at)
  if (claimed_ms > hook.off_since_ms) {
    world.violate('a disabled webhook gets nothing', `${at}, claimed ${claimed_ms}`)
  }
}

/** What must hold when faults have ended and everything had time to end. */
export function checkAll(stage: Stage): void {
  checkMoment(stage)
  const { database } = stage
  const messages = database.prepare('select * from messages').all() as MessageRow[]
  checkAnswers(stage, messages)
  checkRows(stage, FAULTS)
  checkLedger(stage)
  checkMoney(stage, messages)
  checkPrices(stage, messages)
  checkCalls(stage, messages)
  checkMails(stage, messages)
  checkEnds(stage, messages)
  checkOutcomes(stage)
  checkEvents(stage, messages)
  checkPosts(stage)
  checkPeople(stage)
}

/** A 201 is on disk with its debit; one key, one message. */
function checkAnswers({ world, model }: Stage, messages: readonly MessageRow[]): void {
  const byId = new Map(messages.map((row) => [row.id, row]))
  const claimed = new Set<string>()
  const unclaimed = [0, 0]
  for (const asked of model.asked) {
    for (const id of asked.ids) {
      claimed.add(id)
      const row = byId.get(id)
      const place = model.places[asked.place]
      if (!row) world.violate('a 201 is on disk with its debit', `${world.nameOf('m', id)} is gone`)
      else if (row.workspace_id !== place?.id) {
        world.violate(
          'no row of another workspace',
          `${world.nameOf('m', id)} is in another workspace`,
        )
      }
    }
    const size =
      asked.kind === 'send' ? 1 : (asked.body as { recipients: unknown[] }).recipients.length
    if (asked.ids.length === 0)
      unclaimed[asked.place] = (unclaimed[asked.place] ?? 0) + asked.lost * size
    if (asked.key && asked.answer === null && asked.refusals.length === 0) {
      world.violate('nothing is stuck', `${asked.key} never got an answer`)
    }
  }
  for (const [place, { id }] of model.places.entries()) {
    // The service's answers to STOP and START have no key and cost nothing.
    const isReply = (row: MessageRow) => row.api_key_id === null && row.credits_used === 0
    const more = messages.filter(
      (row) => row.workspace_id === id && !claimed.has(row.id) && !isReply(row),
    ).length
    if (more > (unclaimed[place] ?? 0)) {
      world.violate(
        'a request is accepted once',
        `${more} messages without an answer, ${unclaimed[place]} possible`,
      )
    }
  }
}

interface EntryRow {
  workspace_id: string
  seq: number
  kind: string
  amount: number
  held_delta: number
  balance_after: number
  held_after: number
  ref_type: string
  ref_id: string
}

/** No credit is lost or created. */
function checkLedger({ world, model, database }: Stage): void {
  const entries = database
    .prepare('select * from ledger_entries order by workspace_id, seq')
    .all() as EntryRow[]
  for (const place of model.places) {
    const account = database
      .prepare('select spent_on, spent from credit_accounts where workspace_id = ?')
      .get(place.id) as Record<'spent_on' | 'spent', number>
    const { day, spent } = spendingOf(database, place.id)
    if (account.spent_on !== day || account.spent !== spent) {
      world.violate(
        'the spending of a day is exact',
        `${place.id}: ${JSON.stringify(account)}, day ${day} spent ${spent}`,
      )
    }
  }
  for (const [session, sold] of model.sold) {
    const own = entries.filter(
      (one) => one.ref_type === 'purchase' && one.ref_id === sold.purchase_id,
    )
    const credits = own.reduce((sum, { amount }) => sum + amount, 0)
    const isForeign = own.some((one) => one.workspace_id !== sold.workspace_id)
    if (credits !== creditsOf(sold) || isForeign) {
      const booked = own.map(({ kind, amount }) => `${kind} ${amount}`)
      const at = world.nameOf('p', session)
      world.violate('a payment is credited once', `${at} ${JSON.stringify(sold)}: ${booked}`)
    }
  }
  for (const grant of model.grants) {
    const workspace_id = model.places[grant.place]?.id
    const same = entries.filter(
      (one) => one.kind === 'grant' && one.ref_id === grant.id && one.workspace_id === workspace_id,
    )
    const isRight = same.every(({ amount }) => amount === grant.credits * 1_000_000)
    if (same.length > 1 || !isRight || (grant.isAnswered && same.length === 0)) {
      world.violate('no credit is lost or created', `grant ${grant.id}: ${JSON.stringify(same)}`)
    }
  }
}

const LOOKED_UP: readonly string[] = PROVIDERS.flatMap(({ name, channel }) =>
  hasLookup(name) ? channel : [],
)

/** A message that arrived is paid for. */
function checkMoney({ world, model }: Stage, messages: readonly MessageRow[]): void {
  for (const row of messages) {
    const { copies = 0 } = model.carried.get(row.id) ?? {}
    // A look-up that finds nothing counts after a time that steps of the clock change.
    const isDecidedByTime = LOOKED_UP.includes(row.channel) && model.isClockSet
    if (row.recipients === null && copies > 0 && row.credits_refunded > 0 && !isDecidedByTime) {
      const at = `${world.nameOf('m', row.id)} ${brief(row)}`
      world.violate('a message that arrived is not refunded', `${at}, ${copies} copies`)
    }
  }
}

/** GSM-7 and UCS-2: the characters of a single SMS, and of each segment of a longer one. */
const SEGMENTS = { gsm: [160, 153], unicode: [70, 67] } as const

function segmentsOf(text: string): number {
  const [single, part] = /[^\x20-\x7e]/.test(text) ? SEGMENTS.unicode : SEGMENTS.gsm
  return text.length <= single ? 1 : Math.ceil(text.length / part)
}

/** A message costs what it cost when it was accepted, whatever the prices are later. */
function checkPrices({ world, model, database }: Stage, messages: readonly MessageRow[]): void {
  const byId = new Map(messages.map((row) => [row.id, row]))
  const findHold = database
    .prepare("select held_delta from ledger_entries where ref_id = ? and kind = 'hold'")
    .pluck()
  for (const { ids, body, prices, kind, isTest } of model.asked) {
    const { channel, content } = body as { channel: MessageRow['channel']; content: object }
    const { text, audio_url } = content as { text?: string; audio_url?: string }
    for (const [i, id] of ids.entries()) {
      const row = byId.get(id)
      if (!row) continue
      const to =
        kind === 'send' ? addressesOf(body) : [(body as { recipients: string[] }).recipients[i]]
      const minutes = audio_url ? 3 : (text?.length ?? 0) > 600 ? 2 : 1
      const units =
        channel === 'sms' ? segmentsOf(text ?? '') : channel === 'voice' ? minutes : to.length
      const possible = [...prices].map(
        (list) => units * unitPriceOf(list, channel, to[0] ?? '') * (isTest ? 0 : 1),
      )
      const paid = channel === 'voice' ? (findHold.get(id) ?? 0) : row.credits_used
      if (possible.includes(paid as number)) continue
      const at = `${world.nameOf('m', id)} ${brief(row)}`
      world.violate('a message keeps its price', `${at}: ${paid} of ${possible}`)
    }
  }
}

/** Each of several recipients of a mail has its own outcome, and its own share of the price. */
function checkMails({ world, model, database }: Stage, messages: readonly MessageRow[]): void {
  const failures = failuresIn(database)
  const bodies = new Map(model.asked.flatMap(({ ids, body }) => ids.map((id) => [id, body])))
  for (const row of messages) {
    const recipients = recipientsOf(row)
    if (recipients.length === 0) continue
    const at = `${world.nameOf('m', row.id)} ${brief(row)} ${row.recipients}`
    const violate = (text: string) =>
      world.violate('each recipient has its own outcome', `${at}: ${text}`)
    const body = bodies.get(row.id)
    const asked = body === undefined ? null : addressesOf(body).join()
    if (asked !== null && asked !== recipients.map(({ address }) => address).join()) {
      violate(`asked for ${asked}`)
    }
    const rejected = recipients.filter((one) => one.status === 'failed' && !one.accepted)
    if (row.credits_refunded !== (row.credits_used / recipients.length) * rejected.length) {
      violate(`${rejected.length} were rejected`)
    }
    const reached = recipients.filter(({ status }) => status !== 'failed')
    const isDelivered = reached.every(({ status }) => status === 'delivered')
    const whole = reached.length === 0 ? 'failed' : isDelivered ? 'delivered' : 'sent'
    if (row.status !== whole) violate(`it is ${whole}`)
    const isWatched = model.hooks.some(
      (hook) =>
        hook.isWhole && hook.mode === 'all' && model.places[hook.place]?.id === row.workspace_id,
    )
    const announced = failures.get(row.id) ?? []
    for (const { address, status, accepted } of recipients) {
      const person = model.carried.get(row.id)?.people.get(address)
      if (person && person.copies > 0 && !accepted) violate(`${address} has it`)
      const isArrived = person?.reports.some((one) => one === 'delivered' || one === 'read')
      if (isArrived && accepted && status !== 'delivered') violate(`${address} was delivered`)
      const count = announced.filter((one) => one === address).length
      if (count > 1 || (isWatched && status === 'failed' && count === 0)) {
        violate(`${count} events about the failure of ${address}`)
      }
    }
    checkAnswersFor(row, recipients)
  }

  /** The answers of providers about each recipient count. */
  function checkAnswersFor(row: MessageRow, recipients: readonly RecipientRow[]): void {
    for (const call of model.calls) {
      if (call.message_id !== row.id || call.answer?.type !== 'accepted') continue
      if (isLost(world, model, call)) continue
      for (const address of call.due) {
        const type = call.listed.find((one) => one.address === address)?.type ?? 'accepted'
        const stored = recipients.find((one) => one.address === address)
        const isRejected = stored?.status === 'failed' && !stored.accepted
        const wasReported = model.carried.get(row.id)?.people.get(address)?.wasReported
        const isRight =
          type === 'accepted' ? !isRejected : type === 'retry' || isRejected || wasReported
        if (isRight) continue
        const at = `${world.nameOf('m', row.id)}: ${address} was ${type}`
        world.violate('an answer of a provider counts', `${at}, and is ${stored?.status}`)
      }
    }
  }
}

/** The recipients whose failure was announced, by message. */
function failuresIn(database: Connection): Map<string, string[]> {
  const events = database
    .prepare(
      "select message_id, body from events where event in ('message.failed', 'message.recipients_failed') and message_id is not null",
    )
    .all() as { message_id: string; body: string }[]
  const failures = new Map<string, string[]>()
  for (const { message_id, body } of events) {
    const { data } = JSON.parse(body) as { data: { failed_recipients?: string[] } }
    const known = failures.get(message_id) ?? []
    failures.set(message_id, [...known, ...(data.failed_recipients ?? [])])
  }
  return failures
}

/** Whether a call ended without a provider that took it. */
const hasReturnedHold = ({ channel, status, accepted }: MessageRow): boolean =>
  channel === 'voice' && status === 'failed' && accepted === 0

/** A call costs its started minutes, at most those for which credits were held, by the first report of its duration. */
function checkCalls({ world, model, database }: Stage, messages: readonly MessageRow[]): void {
  const findHold = database.prepare(
    "select held_delta, unit_price from ledger_entries where ref_type = 'message' and ref_id = ? and kind = 'hold'",
  )
  for (const row of messages) {
    if (row.channel !== 'voice' || row.livemode === 0) continue
    const at = `${world.nameOf('m', row.id)} ${brief(row)}`
    const hold = findHold.get(row.id) as Record<'held_delta' | 'unit_price', number> | undefined
    if (!hold) {
      world.violate('a call costs its duration', `${at} has no hold`)
      continue
    }
    const { copies = 0, durations = [], isEnded = false } = model.carried.get(row.id) ?? {}
    const wasRefunded = hasReturnedHold(row)
    if (wasRefunded && copies > 0 && !model.isClockSet) {
      world.violate('a message that arrived is not refunded', `${at}, ${copies} copies`)
    }
    const { duration_s } = row
    const isReported =
      duration_s === null ? !isEnded || wasRefunded : durations.includes(duration_s)
    const minutes = wasRefunded ? 0 : Math.ceil((duration_s ?? 0) / 60)
    const cost = Math.min(minutes * hold.unit_price, hold.held_delta)
    if (isReported && row.credits_used === cost) continue
    world.violate(
      'a call costs its duration',
      `${at}: ${duration_s} s of ${durations}, for ${cost}`,
    )
  }
}

/** An acknowledged receipt counts. */
function checkEnds({ world, model }: Stage, messages: readonly MessageRow[]): void {
  for (const row of messages) {
    if (row.recipients !== null) continue
    const at = () => `${world.nameOf('m', row.id)} ${brief(row)}`
    const receipts = model.receipts.get(row.id) ?? []
    const isDelivered = receipts.includes('delivered') || receipts.includes('read')
    const wasRefunded = row.credits_refunded > 0 || hasReturnedHold(row)
    if (isDelivered && !wasRefunded && !['delivered', 'read'].includes(row.status)) {
      world.violate('an acknowledged receipt counts', `${at()} ${receipts}`)
    }
    if (row.status === 'read' && row.delivered_at === null) {
      world.violate('every status has its event', `${at()} was read and not delivered`)
    }
  }
}

/** A result is stored within this time if no commit fails, and else after repetitions of the write within the second time. */
const STORED_MS = 2_000
const REPEATED_MS = 65_000

/** A provider that answers later, by the time of the machine, has not answered. */
const ANSWER_MAX_MS = 24_500

/** The answer of a provider is stored, unless the process died first. */
function checkOutcomes({ world, model, database }: Stage): void {
  const find = database
    .prepare('select outcome from message_attempts where message_id = ? and number = ?')
    .pluck()
  for (const call of model.calls) {
    const { message_id, attempt, answer } = call
    if (answer === null || isLost(world, model, call)) continue
    const outcome = find.get(message_id, attempt)
    if (outcome !== answer.type) {
      const at = `attempt ${attempt} of ${world.nameOf('m', message_id)}`
      world.violate('an answer of a provider counts', `${at} was ${answer.type}, and is ${outcome}`)
    }
  }
}

/** Whether the answer of a call may be lost. */
function isLost(
  world: World,
  { deaths, sleeps }: Model,
  { began_ms, answer, batch }: Call,
): boolean {
  if (batch.some((one) => one.answer === null)) return true
  const at_ms = Math.max(...batch.map((one) => one.answer?.at_ms ?? 0))
  if (at_ms - began_ms > ANSWER_MAX_MS) return true
  const isRepeated = isFaulted(world, began_ms, at_ms + STORED_MS)
  const until_ms = at_ms + (isRepeated ? REPEATED_MS : STORED_MS)
  if (deaths.some((at) => at >= began_ms && at <= until_ms)) return true
  // A lease that ended meanwhile is lost. What certainly happened counts without it.
  const isCertain = answer?.type === 'accepted' || answer?.type === 'retry'
  return !isCertain && sleeps.some((at) => at >= began_ms - STORED_MS && at <= until_ms)
}

/** Every change has its event, and every subscribed receiver got it. */
function checkEvents({ world, model, database }: Stage, messages: readonly MessageRow[]): void {
  /** The events that receivers acknowledged. */
  const got = new Set<string>()
  for (const { receiver, headers, isAnswered } of model.posts) {
    if (isAnswered) got.add(`${receiver} ${headers['webhook-id']}`)
  }
  const deliveries = database
    .prepare(
      'select id, workspace_id, webhook_id, event_id, message_id, status, attempt_count, error from deliveries',
    )
    .all() as {
    id: string
    webhook_id: string
    event_id: string
    message_id: string | null
    status: string
    attempt_count: number
  }[]
  const events = database
    .prepare('select id, message_id, body from events where message_id is not null')
    .all() as { id: string; message_id: string; body: string }[]
  const sequences = new Map<string, Map<number, string>>()
  for (const { id, message_id, body } of events) {
    const { data } = JSON.parse(body) as { data: { sequence?: number } }
    const of = sequences.get(message_id) ?? new Map<number, string>()
    if (of.has(data.sequence ?? 0)) {
      world.violate(
        'one event for each change',
        `${world.nameOf('m', message_id)} ${data.sequence}`,
      )
    }
    of.set(data.sequence ?? 0, id)
    sequences.set(message_id, of)
  }
  const made = new Map(deliveries.map((one) => [`${one.webhook_id} ${one.event_id}`, one]))
  for (const hook of model.hooks) {
    if (!hook.isWhole) continue
    const workspace_id = model.places[hook.place]?.id
    for (const row of messages) {
      if (row.workspace_id !== workspace_id) continue
      if (hook.mode !== 'all' && (hook.mode === 'live') !== (row.livemode === 1)) continue
      for (let sequence = 1; sequence <= row.sequence; sequence++) {
        const at = () =>
          `event ${sequence} of ${world.nameOf('m', row.id)} for ${world.nameOf('w', hook.id)}`
        const event = sequences.get(row.id)?.get(sequence)
        const delivery = event && made.get(`${hook.id} ${event}`)
        if (!delivery) world.violate('every event reaches its receivers', `${at()} was lost`)
        else if (delivery.status === 'delivered' && !got.has(`${hook.receiver} ${event}`)) {
          world.violate('every event reaches its receivers', `${at()} counts as delivered`)
        } else if (delivery.status === 'failed' && delivery.attempt_count < 12) {
          world.violate('every event reaches its receivers', `${at()} failed early`)
        }
      }
    }
  }
}

/** A receiver can verify each delivery, and gets only what is its own. */
function checkPosts({ world, model, database }: Stage): void {
  const bodies = new Map<string, string>()
  const owners = new Map(
    (
      database.prepare('select id, workspace_id, webhook_id from deliveries').all() as {
        id: string
        workspace_id: string
        webhook_id: string
      }[]
    ).map((one) => [one.id, one]),
  )
  for (const { receiver, headers, body } of model.posts) {
    const delivery = headers['x-svc-delivery'] ?? ''
    const at = `${world.nameOf('d', delivery)} to receiver ${receiver}`
    const known = bodies.get(delivery)
    // An erasure between two tries removes the address from the body.
    const isErased =
      body.includes('"erased"') || [...model.erasing].some((one) => body.includes(one))
    if (known !== undefined && known !== body && !isErased) {
      world.violate('a receiver can verify each delivery', `${at} changed its body`)
    }
    bodies.set(delivery, body)
    const hooks = model.hooks.filter((hook) => hook.receiver === receiver)
    const owner = owners.get(delivery)
    const own = hooks.find((hook) => hook.id === owner?.webhook_id)
    // The deliveries of a deleted webhook are deleted.
    const signers = own ? [own] : owner ? [] : hooks
    const isSigned = signers.some((hook) =>
      [...hook.secrets].some((secret) => isSignedBy(secret, headers, body)),
    )
    const isUnknown = signers.length === 0 && model.hasUnknownHooks
    if (!isSigned && !isUnknown && !signers.some(({ hasUnknownSecret }) => hasUnknownSecret)) {
      world.violate('a receiver can verify each delivery', `${at} has no signature of its webhook`)
    }
    const { livemode } = (JSON.parse(body) as { data: { livemode?: boolean } }).data
    if (own && own.mode !== 'all' && livemode !== undefined && livemode !== (own.mode === 'live')) {
      world.violate('a webhook gets only its mode', `${at}: ${own.mode}`)
    }
  }
}

/** Standard Webhooks: `v1,` and the base64 of HMAC-SHA256 over id, time and body, keyed with the decoded secret. */
function isSignedBy(secret: string, headers: Record<string, string>, body: string): boolean {
  const key = Buffer.from(secret.slice('whsec_'.length), 'base64')
  const text = `${headers['webhook-id']}.${headers['webhook-timestamp']}.${body}`
  const expected = `v1,${createHmac('sha256', key).update(text).digest('base64')}`
  return (headers['webhook-signature'] ?? '').split(' ').includes(expected)
}

/** What people wrote is stored once, and nothing of an erased person is left. */
function checkPeople({ world, model, database }: Stage): void {
  const stored = database
    .prepare('select count(*) from received_messages where provider_message_id = ?')
    .pluck()
  for (const { provider_message_id, isAnswered } of model.written) {
    const count = stored.get(provider_message_id) as number
    const isLost = isAnswered && count === 0 && model.erasing.size === 0
    if (count > 1 || isLost)
      world.violate('a reply is stored once', `${provider_message_id}: ${count}`)
  }
  const left = database
    .prepare(
      `select count(*) from (select recipient as text, id from messages
       union all select body, message_id from events union all select content, id from messages)
       where id = ? and instr(text, ?) > 0`,
    )
    .pluck()
  for (const [id, address] of model.erased) {
    const count = left.get(id, address) as number
    if (count > 0)
      world.violate('an erased person is gone', `${world.nameOf('m', id)}: ${count} texts`)
  }
}

/** The rules of the rows alone, which all proofs share. */
function checkRows({ world, database }: Stage, statement: string): void {
  const [broken] = database.prepare(statement).all() as Fault[]
  if (broken) world.violate(broken.rule, broken.fault)
}
