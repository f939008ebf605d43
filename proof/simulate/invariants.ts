import { createHmac } from 'node:crypto'
import { noteStatus } from './actors.ts'
import type { Model } from './model.ts'
import { creditsOf } from './payments.ts'
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
  bulk_id: string | null
  livemode: number
  status: string
  accepted: number
  credits_used: number
  credits_refunded: number
  error_code: string | null
  sequence: number
}

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
export function checkStatuses({ world, model, database }: Stage): void {
  const rows = database.prepare('select id, status, credits_refunded from messages').all() as Pick<
    MessageRow,
    'id' | 'status' | 'credits_refunded'
  >[]
  for (const { id, status, credits_refunded } of rows) {
    const seen = { status, isRefunded: credits_refunded > 0 }
    if (model.statuses.has(id)) noteStatus({ world, model }, id, seen)
    else model.statuses.set(id, seen)
  }
}

/** What must hold when faults have ended and everything had time to end. */
export function checkAll(stage: Stage): void {
  checkStatuses(stage)
  const { database } = stage
  const messages = database.prepare('select * from messages').all() as MessageRow[]
  checkAnswers(stage, messages)
  checkLedger(stage)
  checkMoney(stage, messages)
  checkEnds(stage, messages)
  checkOutcomes(stage)
  checkEvents(stage, messages)
  checkPosts(stage)
  checkForeign(stage)
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
    const more = messages.filter((row) => row.workspace_id === id && !claimed.has(row.id)).length
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
    let [seq, balance] = [0, 0]
    for (const entry of entries.filter((one) => one.workspace_id === place.id)) {
      seq += 1
      balance += entry.amount
      if (entry.seq !== seq || entry.balance_after !== balance) {
        world.violate(
          'the ledger is exact',
          `entry ${entry.seq} of ${place.id}: ${JSON.stringify(entry)}`,
        )
      }
      if (entry.kind === 'send' && balance < 0) {
        world.violate('no workspace spends more than it has', JSON.stringify(entry))
      }
    }
    const account = database
      .prepare('select balance, seq, held from credit_accounts where workspace_id = ?')
      .get(place.id) as { balance: number; seq: number; held: number }
    if (account.balance !== balance || account.seq !== seq || account.held !== 0) {
      world.violate(
        'the ledger is exact',
        `${place.id}: ${JSON.stringify(account)}, entries ${balance}`,
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

/** One debit and at most one refund a message. */
function checkMoney({ world, database }: Stage, messages: readonly MessageRow[]): void {
  const sums = database
    .prepare(
      `select ref_type, ref_id, kind, count(*) as count, sum(amount) as amount from ledger_entries
       where kind in ('send', 'refund') group by ref_type, ref_id, kind`,
    )
    .all() as { ref_type: string; ref_id: string; kind: string; count: number; amount: number }[]
  const of = new Map(sums.map((one) => [`${one.ref_type} ${one.ref_id} ${one.kind}`, one]))
  const bulks = new Map<string, number>()
  for (const row of messages) {
    const at = () => `${world.nameOf('m', row.id)} ${brief(row)}`
    const sent = of.get(`message ${row.id} send`)
    const refund = of.get(`message ${row.id} refund`)
    if (row.bulk_id) bulks.set(row.bulk_id, (bulks.get(row.bulk_id) ?? 0) + row.credits_used)
    const price = row.bulk_id || row.credits_used === 0 ? 0 : row.credits_used
    if ((sent?.count ?? 0) > 1 || -(sent?.amount ?? 0) !== price) {
      world.violate('one debit a message', `${at()} debit ${JSON.stringify(sent)}`)
    }
    if ((refund?.count ?? 0) > 1 || (refund?.amount ?? 0) !== row.credits_refunded) {
      world.violate('at most one refund a message', `${at()} refund ${JSON.stringify(refund)}`)
    }
    if (row.credits_refunded > row.credits_used) {
      world.violate('at most one refund a message', at())
    }
    const isOwed =
      row.status === 'failed' && row.accepted === 0 && row.error_code !== 'outcome_unknown'
    if (isOwed !== row.credits_refunded > 0 && row.credits_used > 0) {
      world.violate('a message that was not sent is refunded', at())
    }
  }
  for (const [id, credits] of bulks) {
    const sent = of.get(`bulk ${id} send`)
    if ((sent?.count ?? 0) > 1 || -(sent?.amount ?? 0) !== credits) {
      world.violate('one debit a message', `bulk ${id}: ${JSON.stringify(sent)} for ${credits}`)
    }
  }
}

/** Nothing is stuck, and an acknowledged receipt counts. */
function checkEnds({ world, model, database }: Stage, messages: readonly MessageRow[]): void {
  for (const row of messages) {
    const at = () => `${world.nameOf('m', row.id)} ${brief(row)}`
    if (row.status === 'queued') world.violate('nothing is stuck', at())
    const receipts = model.receipts.get(row.id) ?? []
    const isDelivered = receipts.includes('delivered') || receipts.includes('read')
    const wasRefunded = row.credits_refunded > 0
    if (isDelivered && !wasRefunded && !['delivered', 'read'].includes(row.status)) {
      world.violate('an acknowledged receipt counts', `${at()} ${receipts}`)
    }
  }
  const open = database
    .prepare("select count(*) as count from message_attempts where outcome = 'started'")
    .get() as { count: number }
  if (open.count > 0) world.violate('nothing is stuck', `${open.count} attempts without an end`)
}

/** A fault in this time before or after an answer may have lost the answer. */
const LOST_MS = 20_000

/** The answer of a provider is stored, unless a fault lost it: a definite answer never becomes an unknown outcome. */
function checkOutcomes({ world, model, database }: Stage): void {
  const find = database
    .prepare('select outcome from message_attempts where message_id = ? and number = ?')
    .pluck()
  for (const { message_id, call, type, began_ms, ended_ms } of model.answers) {
    const isLost = world.faulted.some((at) => at > began_ms - LOST_MS && at < ended_ms + LOST_MS)
    // After a fault, a call may be journalled and not made.
    if (isLost || world.faulted.some((at) => at < began_ms)) continue
    const outcome = find.get(message_id, call)
    if (outcome !== type) {
      const at = `call ${call} of ${world.nameOf('m', message_id)}`
      world.violate('an answer of a provider counts', `${at} was ${type}, and is ${outcome}`)
    }
  }
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
  for (const one of deliveries) {
    if (one.status === 'pending') world.violate('nothing is stuck', `delivery ${one.id}`)
  }
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

/** The time within which work that was claimed before a webhook was disabled may still begin. */
const CLAIMED_MS = 75_000

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
  for (const { receiver, headers, body, at_ms } of model.posts) {
    const delivery = headers['x-svc-delivery'] ?? ''
    const at = `${world.nameOf('d', delivery)} to receiver ${receiver}`
    const known = bodies.get(delivery)
    if (known !== undefined && known !== body) {
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
    if (own?.off_since_ms != null && at_ms > own.off_since_ms + CLAIMED_MS) {
      world.violate('a disabled webhook gets nothing', `${at} since ${own.off_since_ms}`)
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

const FOREIGN = [
  'select count(*) as count from deliveries d join events e on e.id = d.event_id where e.workspace_id <> d.workspace_id',
  'select count(*) as count from deliveries d join webhooks w on w.id = d.webhook_id where w.workspace_id <> d.workspace_id',
  'select count(*) as count from deliveries d join messages m on m.id = d.message_id where m.workspace_id <> d.workspace_id',
  'select count(*) as count from message_attempts a join messages m on m.id = a.message_id where m.workspace_id <> a.workspace_id',
]

function checkForeign({ world, database }: Stage): void {
  for (const query of FOREIGN) {
    const { count } = database.prepare(query).get() as { count: number }
    if (count > 0) world.violate('no row of another workspace', query)
  }
}
