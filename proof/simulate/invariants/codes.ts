import { IMPATIENT } from '../codes.ts'
import { CONTENT, hasAllEvents, type MessageRow, type Stage } from './rows.ts'

interface VerificationRow {
  workspace_id: string
  id: string
  recipient: string
  livemode: number
  status: string
  attempts: number
  sent_at: string
  credits_used: number
  messages: string
}

/** The wrong codes that end a verification, and the messages to an address in an hour. */
const WRONG_MAX = 5
const SENDS_AN_HOUR = 5
const HOUR_MS = 3_600_000

/** A verification, its messages and their debits are there together, and one approval ends it. */
export function checkCodes(
  { world, model, database }: Stage,
  messages: readonly MessageRow[],
): void {
  const rows = database.prepare('select * from verifications').all() as VerificationRow[]
  const byId = new Map(messages.map((row) => [row.id, row]))
  const priceOf = database
    .prepare(
      "select coalesce(sum(held_delta - amount), 0) from ledger_entries where ref_type = 'message' and ref_id = ? and kind in ('send', 'hold')",
    )
    .pluck()
  const approvals = new Map<string, number>()
  for (const body of database
    .prepare("select body from events where event = 'verification.approved'")
    .pluck()
    .all() as string[]) {
    const { data } = JSON.parse(body) as { data: { verification_id: string } }
    approvals.set(data.verification_id, (approvals.get(data.verification_id) ?? 0) + 1)
  }
  const stored = new Map(rows.map((row) => [row.id, row]))
  const owned = new Set<string>()
  const sends = new Map<string, number[]>()
  for (const row of rows) {
    const at = `${world.nameOf('v', row.id)} ${row.status}`
    const together = (text: string) =>
      world.violate('a code and its message are stored together', `${at} ${text}`)
    const own = JSON.parse(row.messages) as { id: string }[]
    let credits = 0
    for (const { id } of own) {
      owned.add(id)
      const message = byId.get(id)
      if (message?.workspace_id !== row.workspace_id) together(`lost ${world.nameOf('m', id)}`)
      credits += Number(message?.channel === 'voice' ? 0 : priceOf.get(id))
    }
    if (own.every(({ id }) => byId.get(id)?.channel !== 'voice') && credits !== row.credits_used) {
      together(`costs ${row.credits_used}, and ${credits} was booked`)
    }
    if (row.attempts > WRONG_MAX) world.violate('guesses are limited', `${at}: ${row.attempts}`)
    const address = `${row.workspace_id} ${row.livemode} ${row.recipient}`
    const times = JSON.parse(row.sent_at) as number[]
    // All erased persons have the same name.
    if (row.recipient !== 'erased') sends.set(address, [...(sends.get(address) ?? []), ...times])
    const events = approvals.get(row.id) ?? 0
    if (events !== (row.status === 'approved' ? 1 : 0) && hasAllEvents(model, row.workspace_id)) {
      world.violate('a code is right once', `${at}: ${events} events of approval`)
    }
  }
  for (const { id, content } of database
    .prepare(
      `select id, ${CONTENT} as content from messages where json_extract(${CONTENT}, '$.code') is not null`,
    )
    .all() as Record<'id' | 'content', string>[]) {
    // An erasure keeps the verification of a message in flight, so that the code is removed later.
    if (owned.has(id)) continue
    const at = `${world.nameOf('m', id)} has no verification: ${content}`
    world.violate('a code and its message are stored together', at)
  }
  for (const one of model.verifications.values()) {
    const row = stored.get(one.id)
    // An erasure removes it.
    if (one.addresses.some((address) => model.erasing.has(address))) continue
    const at = `${world.nameOf('v', one.id)} ${row?.status}`
    if (!row) world.violate('a 201 is on disk with its debit', `${at} is gone`)
    const isApproved = row?.status === 'approved'
    if (one.approvals > 0 && !isApproved)
      world.violate('a code is right once', `${at} was approved`)
    if (isApproved && one.approvals + one.lost === 0 && one.guesses > 0) {
      world.violate('a wrong code is refused', `${at} without an answer`)
    }
  }
  for (const [address, times] of sends) {
    // The impatient person asks when the clock is not set any more.
    if (model.isClockSet && !address.endsWith(IMPATIENT)) continue
    times.sort((a, b) => a - b)
    const late = times.findIndex(
      (ms, i) => i >= SENDS_AN_HOUR && ms - (times[i - SENDS_AN_HOUR] ?? 0) < HOUR_MS,
    )
    if (late >= 0) world.violate('codes to an address are limited', `${address}: ${times}`)
  }
}

/** The messages of verifications, of which a client knows the first only. */
export function messagesWithCodes({ database }: Pick<Stage, 'database'>): Set<string> {
  const lists = database.prepare('select messages from verifications').pluck().all() as string[]
  return new Set(
    lists.flatMap((list) => (JSON.parse(list) as { id: string }[]).map(({ id }) => id)),
  )
}
