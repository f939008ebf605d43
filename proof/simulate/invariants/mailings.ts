import { elapsedMs } from '../clock.ts'
import { CATEGORIES, offsetMin, weekdayOf } from '../mailings.ts'
import { messagesWithCodes } from './codes.ts'
import type { MessageRow, Stage } from './rows.ts'

interface BroadcastRow {
  id: string
  workspace_id: string
  status: string
  accepted: number
  contacts: number
  audience_size: number | null
  finished_at: number | null
  next_at: number | null
}

const rowsIn = ({ database }: Stage) =>
  database.prepare('select * from broadcasts').all() as BroadcastRow[]

/** A paused broadcast accepts no message, at any moment. */
export function checkPaused(stage: Stage): void {
  const { world, model } = stage
  if (model.broadcasts.made.every(({ accepted }) => accepted === null)) return
  const rows = new Map(rowsIn(stage).map((row) => [row.id, row]))
  for (const { id, paused, accepted } of model.broadcasts.made) {
    const row = rows.get(id)
    if (accepted === null || paused.state !== 'yes' || row?.accepted === accepted) continue
    const at = `${world.nameOf('b', id)}: ${row?.accepted} after ${accepted}`
    world.violate('a paused broadcast sends nothing', at)
  }
}

/** Each broadcast is there once and has ended; a finished one left no contact out. */
export function checkBroadcasts(stage: Stage): void {
  const { world, model, database } = stage
  const { made, lost } = model.broadcasts
  const rows = rowsIn(stage)
  const known = new Set(made.map(({ id }) => id))
  for (const [place, { id }] of model.places.entries()) {
    const more = rows.filter((row) => row.workspace_id === id && !known.has(row.id)).length
    if (more > (lost[place] ?? 0)) {
      world.violate('a request is accepted once', `${more} broadcasts without an answer`)
    }
  }
  const newest = database
    .prepare(
      `select max(m.created_at) from messages m join bulks b on b.workspace_id = m.workspace_id and b.id = m.bulk_id
       where b.workspace_id = ? and b.broadcast_id = ?`,
    )
    .pluck()
  for (const row of rows) {
    const { workspace_id, id, status, contacts, audience_size, finished_at } = row
    const at = `${world.nameOf('b', id)} ${JSON.stringify(row)}`
    if (status === 'scheduled' || status === 'running') world.violate('nothing is stuck', at)
    if (status === 'finished' && audience_size !== null && contacts !== audience_size) {
      world.violate('a broadcast leaves no contact out', at)
    }
    const last = newest.get(workspace_id, id) as number | null
    if (status === 'canceled' && !model.isClockSet && (last ?? 0) > (finished_at ?? 0)) {
      world.violate('a canceled broadcast stays canceled', `${at}: a message at ${last}`)
    }
  }
  for (const { id, isCanceled } of made) {
    const row = rows.find((one) => one.id === id)
    const at = world.nameOf('b', id)
    if (!row) world.violate('a 201 is on disk with its debit', `${at} is gone`)
    if (isCanceled && row?.status !== 'canceled') {
      world.violate('a canceled broadcast stays canceled', `${at} is ${row?.status}`)
    }
  }
}

/** Nothing is accepted for a person who had opted out, and only a person who opted out is suppressed. */
export function checkOptOuts(
  { world, model, database }: Stage,
  messages: readonly MessageRow[],
): void {
  const suppressed = database
    .prepare(
      "select workspace_id, channel, address from suppressions where reason in ('opt_out', 'complaint')",
    )
    .all() as Record<'workspace_id' | 'channel' | 'address', string>[]
  const known = database
    .prepare(
      "select address from conversations where workspace_id = ? and channel = 'whatsapp' and other_number = ?",
    )
    .pluck()
  for (const { workspace_id, channel, address } of suppressed) {
    const place = model.places.findIndex(({ id }) => id === workspace_id)
    // WhatsApp knows some people by another number too (`providers.ts`).
    const isOther = channel === 'whatsapp' && address.startsWith('+1416')
    const numbers = isOther
      ? [`+1415${Number(address.slice(5)) - 2_000_000}`, ...known.all(workspace_id, address)]
      : [address]
    if (numbers.some((number) => model.optOuts.has(`${place} ${channel} ${number}`))) continue
    world.violate('only a person who opted out is suppressed', `${channel} of ${place}: ${address}`)
  }
  // The times of rows are those of the wall.
  if (model.isClockSet) return
  const begin_ms = Date.now() - elapsedMs()
  for (const row of messages) {
    const isReply = row.api_key_id === null && row.credits_used === 0
    if (row.livemode === 0 || row.recipients !== null || isReply) continue
    const place = model.places.findIndex(({ id }) => id === row.workspace_id)
    const one = model.optOuts.get(`${place} ${row.channel} ${row.recipient}`)
    if (one?.toggle.state !== 'yes' || row.created_at - begin_ms <= one.since_ms) continue
    const at = `${world.nameOf('m', row.id)} at ${row.created_at - begin_ms}, out at ${one.since_ms}`
    world.violate('an opt-out holds', `${at} was accepted`)
  }
}

/** A request reads the quiet hours within this time before its message has its time. */
const READ_MS = 3_000
const DAY_MIN = 1_440

interface Hours {
  category: string
  start: string
  end: string
  /** The days on which they begin; absent: every day. */
  days?: readonly string[]
}

const minuteOf = (text: string): number => Number(text.slice(0, 2)) * 60 + Number(text.slice(3))

/** Whether the clocks of a zone show a quiet minute. */
function isQuiet({ start, end, days }: Hours, zone: string, at_ms: number): boolean {
  const wall = Math.floor(at_ms / 60_000) + offsetMin(zone, at_ms)
  const day = Math.floor(wall / DAY_MIN)
  const minute = wall - day * DAY_MIN
  const [from, until] = [minuteOf(start), minuteOf(end)]
  const beginsOn = (one: number) => days?.includes(weekdayOf(one)) ?? true
  if (from < until) return beginsOn(day) && minute >= from && minute < until
  return (beginsOn(day) && minute >= from) || (beginsOn(day - 1) && minute < until)
}

/** A message that would go in quiet hours waits for their end, and no longer. */
export function checkQuiet(
  { world, model, database }: Stage,
  messages: readonly MessageRow[],
): void {
  if (model.isClockSet) return
  const codes = messagesWithCodes({ database })
  // A pause of its broadcast may have held the message: the quiet hours at the end of the pause count.
  const freed = new Set(
    database
      .prepare(`select message_id from message_events where error_code = 'rescheduled'`)
      .pluck()
      .all(),
  )
  for (const row of messages) {
    const { created_at, scheduled_at, deferred_until } = row
    const place = model.places.findIndex(({ id }) => id === row.workspace_id)
    const changes = model.quiet[place] ?? []
    if (changes.length === 0 || codes.has(row.id) || row.api_key_id === null) continue
    if (row.recipients !== null || row.erased_at !== null || model.moved.has(row.id)) continue
    if (freed.has(row.id)) continue
    const before = changes.filter(({ asked_ms }) => asked_ms <= created_at)
    const last = before.at(-1)
    const isKnown = before.every((one) => {
      return one.answered_ms !== null && one.answered_ms < created_at - READ_MS
    })
    if (!isKnown) continue
    const category = CATEGORIES[row.template ?? ''] ?? 'transactional'
    const hours = last?.hours?.find((one) => one.category === category)
    const contact = model.contacts.find(
      (one) =>
        one.place === place &&
        (row.channel === 'email' ? one.email : one.phone) === row.recipient &&
        row.livemode === 1,
    )
    const zone = contact?.zone ?? 'Etc/UTC'
    const at = `${world.nameOf('m', row.id)} ${JSON.stringify({ created_at, scheduled_at, deferred_until, hours, zone })}`
    if (!hours) {
      if (deferred_until !== null) world.violate('quiet hours are kept', `${at} without any`)
      continue
    }
    if (isQuiet(hours, zone, scheduled_at ?? created_at)) {
      world.violate('quiet hours are kept', at)
    }
    const isEnd = deferred_until !== null && isQuiet(hours, zone, deferred_until - 1)
    if (deferred_until !== null && (!isEnd || deferred_until !== scheduled_at)) {
      world.violate('quiet hours are kept', `${at}: not at their end`)
    }
  }
}
