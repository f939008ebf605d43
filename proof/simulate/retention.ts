import { FAULTS, type Fault } from '../stage/rules.ts'
import { perform } from './actors.ts'
import { newAsked, post, type Stage } from './client.ts'
import { elapsedMs } from './clock.ts'
import { CONTENT } from './invariants/rows.ts'
import { lookAtSpending } from './questions.ts'
import { mixed } from './random.ts'
import type { Step } from './script.ts'
import type { CommitFault } from './world.ts'

// Weeks after the script: a service that erases what is older than seven days, with new messages and faults of the process.

/** `retention_days` of the seeds that go on for weeks. */
export const RETENTION_DAYS = 7

/** One of this number of seeds goes on for weeks. */
const SHARE = 12

export const isAged = (seed: number): boolean => mixed(seed, 11) % SHARE === 0

const DAY_MS = 86_400_000

/** The service searches once an hour, and after each start. */
const LATENESS_MS = 2 * 3_600_000

/** A message that was in flight when its time came, or that was sent later than a day after its acceptance, is erased so much later. */
const LATE_MS = 75 * DAY_MS

/** The age of a sent message up to which its conversation is certainly kept. */
const CONVERSATION_MS = (RETENTION_DAYS - 2) * DAY_MS

/** The time in which a search ends. */
const SEARCH_MS = 5_000

/** The days on which clients send, and those until the last message must be erased. */
const BUSY_DAYS = 9
const LATE_DAYS = 100
const LATE_STEP_DAYS = 25

/** A message loses what its code is derived from after a day. The data that is erased by age: `key` and `text` of each row, and an id that has the time of its creation. */
const ERASED: Record<string, string> = {
  messages: `select id, id as key, json_array(recipient, json_remove(${CONTENT}, '$.code'), metadata) as text,
    (select 1 from message_queue q where q.message_id = messages.id) as is_queued, erased_at,
    coalesce(failed_at, sent_at, delivered_at, created_at) as ended_at from messages`,
  events: `select id, id as key, body as text from events where event like 'message.%'`,
  answers: `select delivery_id as id, delivery_id || ' ' || number as key, response_body as text, started_at as ended_at
    from delivery_attempts where response_body is not null`,
  'last answers': `select id, id as key, response_body as text, updated_at as ended_at from deliveries
    where response_body is not null and status <> 'pending'`,
  'received messages': `select id, id as key, json_array(sender, content) as text from received_messages`,
  rejections: `select bulk_id as id, bulk_id || ' ' || position as key, recipient as text from bulk_rejections
    where recipient is not null`,
}

/** A conversation: a person who may answer. A message that was sent to the person keeps it for five days at least. */
const CONVERSATIONS = `select json_array(workspace_id, channel, address) as key from conversations`
// Test messages and those of the sandbox without a sender cannot be answered.
const NEEDED = `select count(*) as count from messages where json_array(workspace_id, channel, recipient) = ? and accepted = 1
  and livemode = 1 and provider <> 'sandbox'
  and created_at > ?`

/** What retention never changes. */
const KEPT: Record<string, string> = {
  'ledger entries': `select workspace_id || ' ' || seq as key, json_array(kind, amount, held_delta, balance_after, held_after,
    ref_type, ref_id, created_at) as text from ledger_entries`,
  suppressions: `select workspace_id || ' ' || channel || ' ' || address as key, '' as text from suppressions`,
  credits: `select id as key, json_array(credits_used, credits_refunded) as text from messages where status != 'queued'`,
}

interface Row {
  id: string
  key: string
  text: string
  is_queued?: number | null
  erased_at?: number | null
  ended_at?: number
}

/** The time of an id (UUID version 7). */
const timeOf = (id: string): number => Number.parseInt(id.replace('-', '').slice(0, 12), 16)

/** Lets weeks pass, and checks each day what was erased. `rest` lets time pass until nothing is left to do. */
export async function passWeeks(stage: Stage, rest: () => Promise<void>): Promise<void> {
  const { world } = stage
  const draw = (...values: number[]) => mixed(world.seed, 12, ...values)
  const check = createCheck(stage)
  check({ isOverdue: false })
  for (const workspace of [0, 1]) {
    for (const change of ['unfreeze', 'free'] as const)
      perform(stage, { do: 'terms', workspace, change })
    perform(stage, { do: 'grant', workspace, credits: 100, copies: 1, expires_s: 0 })
  }
  // A receiver fails for all these days, until the service disables its webhooks.
  const { hooks } = stage.model
  const receiver = hooks.at(-1)?.receiver ?? 0
  for (const hook of hooks) if (hook.receiver === receiver) hook.isWhole = false
  stage.model.failing = { receiver, until_ms: Number.POSITIVE_INFINITY }
  await world.pass(2_000)
  for (let day = 0; day < BUSY_DAYS; day++) {
    send(stage, (n) => draw(day, n))
    if (day === BUSY_DAYS - 2) {
      perform(stage, { do: 'grant', workspace: 0, credits: RICH, copies: 1, expires_s: 0 })
    }
    lookAtSpending(stage)
    if (day === 1) perform(stage, { do: 'pauseProvider', which: 0 })
    const fault = DAILY_FAULTS[draw(day) % DAILY_FAULTS.length]
    if (fault) world.failCommit(draw(day, 0) % 20, fault)
    await passDay(stage, check)
  }
  world.forgiveCommits()
  stage.model.failing = null
  do await world.pass(2_000)
  while (stage.model.open > 0)
  perform(stage, { do: 'resumeProvider', which: 0 })
  await rest()
  for (let day = 0; day < LATE_DAYS; day += LATE_STEP_DAYS) {
    for (let n = 1; n < LATE_STEP_DAYS; n++) world.sleep(DAY_MS)
    await passDay(stage, check)
  }
  // They spent nothing for longer than the forecast looks back.
  lookAtSpending(stage)
  await world.pass(2_000)
  const [broken] = stage.database().prepare(FAULTS).all() as Fault[]
  if (broken) world.violate(broken.rule, broken.fault)
  const [left] = stage
    .database()
    .prepare('select count(*) as count from messages where erased_at is null')
    .all() as { count: number }[]
  if (left?.count) world.violate('what is old is erased', `${left.count} messages are left`)
}

/** More credits than a workspace spends in a year. */
const RICH = 1_000_000

const DAILY_FAULTS: readonly (CommitFault | null)[] = [
  null,
  null,
  'killed_before',
  'killed_after',
  'disk_full',
  'power_cut',
]

/** What clients and people do on a day: some messages are sent days later, some recipients of bulks are rejected. */
function send(stage: Stage, draw: (n: number) => number): void {
  const { world } = stage
  for (let n = 1; n <= 3; n++) {
    const step: Extract<Step, { do: 'send' }> = {
      do: 'send',
      workspace: draw(n) % 2,
      channel: (['sms', 'whatsapp', 'email'] as const)[draw(n + 10) % 3] ?? 'sms',
      isTest: draw(n + 20) % 8 === 0,
      isKeyed: true,
      copies: 1,
      delay_s: ([0, 0, 3_600, 2 * 86_400, 9 * 86_400] as const)[draw(n + 30) % 5] as 0,
      expires_s: 0,
      // One person gets messages again and again.
      fate: n === 1 ? mixed(world.seed, 13) % 2_000_000 : draw(n + 40) % 2_000_000,
    }
    perform(stage, step)
  }
  const workspace = draw(50) % 2
  const asked = newAsked(stage, { workspace, isTest: false, isKeyed: true }, 'bulk', {
    channel: 'sms',
    validation: 'permissive',
    content: { text: 'Your order A1 is ready' },
    recipients: [`+1415${2_000_000 + (draw(51) % 7_999_999)}`, `order ${draw(52) % 1_000}`],
  })
  stage.model.asked.push(asked)
  void post(stage, asked)
  perform(stage, { do: 'write', which: draw(60), text: 'thanks', copies: 1 })
}

async function passDay(stage: Stage, check: ReturnType<typeof createCheck>): Promise<void> {
  const { world, model } = stage
  await world.pass(3_000)
  // A process searches a minute after its start.
  const isRunning = world.core !== null
  model.sleeps.push(elapsedMs())
  world.sleep(DAY_MS)
  const faults = world.faulted.length
  await world.pass(SEARCH_MS)
  if (world.core) check({ isOverdue: isRunning && world.faulted.length === faults })
}

/** Compares the rows with those of the last look. */
function createCheck({ world, database }: Stage) {
  const known = new Map<string, Row>()
  const kept = new Map<string, string>()
  const conversations = new Set<string>()

  function rowsOf(statement: string): Map<string, Row> {
    const rows = database().prepare(statement).all() as Row[]
    return new Map(rows.map((row) => [row.key, row]))
  }

  /** Whether the time of a row has come, at which a message must have ended. */
  function isDue({ id, is_queued, ended_at }: Row): boolean {
    const over_ms = Date.now() - RETENTION_DAYS * DAY_MS - LATENESS_MS
    if (timeOf(id) >= over_ms) return false
    const isLate = is_queued || (ended_at !== undefined && ended_at > timeOf(id) + DAY_MS / 2)
    return !isLate || timeOf(id) < over_ms - LATE_MS
  }

  return ({ isOverdue }: { isOverdue: boolean }): void => {
    let erased = 0
    for (const [table, statement] of Object.entries(ERASED)) {
      const rows = rowsOf(statement)
      for (const [key, row] of rows) {
        const at = `${table} ${world.nameOf('', row.id)}`
        if (row.is_queued && row.erased_at) world.violate('nothing in flight is erased', at)
        const before = known.get(`${table} ${key}`)
        if (!before && !row.erased_at && !row.text.includes('"erased"')) {
          known.set(`${table} ${key}`, row)
        }
      }
      for (const [name, before] of known) {
        if (!name.startsWith(`${table} `)) continue
        const row = rows.get(before.key)
        const at = `${table} ${world.nameOf('', before.id)}`
        if (row?.text !== before.text) {
          erased += 1
          known.delete(name)
          if (timeOf(before.id) > Date.now() - RETENTION_DAYS * DAY_MS) {
            world.violate('nothing younger is erased', at)
          }
        } else if (isOverdue && isDue(row)) world.violate('what is old is erased', at)
      }
    }
    for (const [table, statement] of Object.entries(KEPT)) {
      const rows = rowsOf(statement)
      for (const [key, { text }] of rows) {
        const name = `${table} ${key}`
        if (!kept.has(name)) kept.set(name, text)
      }
      for (const [name, text] of kept) {
        if (!name.startsWith(`${table} `)) continue
        const now = rows.get(name.slice(table.length + 1))?.text
        if (now !== text) world.violate('retention keeps the rest', `${name}: ${text}, then ${now}`)
      }
    }
    const talking = rowsOf(CONVERSATIONS)
    for (const key of conversations) {
      if (talking.has(key)) continue
      conversations.delete(key)
      const { count } = database()
        .prepare(NEEDED)
        .get(key, Date.now() - CONVERSATION_MS) as { count: number }
      if (count > 0)
        world.violate('nothing younger is erased', `conversation ${key}: ${count} messages`)
    }
    for (const key of talking.keys()) conversations.add(key)
    world.trace(`erased ${erased}, not erased ${known.size}`)
  }
}
