import { addressesOf, creditsOf, hasLookup, PROVIDERS, unitPriceOf } from '../model.ts'
import type { Connection } from '../world.ts'
import { brief, type MessageRow, type Stage } from './rows.ts'

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
export function checkLedger({ world, model, database }: Stage): void {
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
export function checkMoney({ world, model }: Stage, messages: readonly MessageRow[]): void {
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
export function checkPrices(
  { world, model, database }: Stage,
  messages: readonly MessageRow[],
): void {
  const byId = new Map(messages.map((row) => [row.id, row]))
  const findHold = database
    .prepare("select held_delta from ledger_entries where ref_id = ? and kind = 'hold'")
    .pluck()
  for (const { ids, body, prices, kind, isTest } of model.asked) {
    if (kind === 'code') continue
    const { channel, content = {} } = body as { channel: MessageRow['channel']; content?: object }
    const { text, audio_url } = content as { text?: string; audio_url?: string }
    for (const [i, id] of ids.entries()) {
      const row = byId.get(id)
      if (!row || row.erased_at !== null) continue
      const to =
        kind === 'send'
          ? addressesOf(body)
          : [recipientOf(body as { recipients: unknown[] }, i, row)]
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

/** A bulk with placeholders leaves out recipients, and names contacts. */
const recipientOf = (body: { recipients: unknown[] }, i: number, { recipient }: MessageRow) =>
  typeof body.recipients[i] === 'string' ? body.recipients[i] : recipient

/** Whether a call ended without a provider that took it. */
export const hasReturnedHold = ({ channel, status, accepted }: MessageRow): boolean =>
  channel === 'voice' && status === 'failed' && accepted === 0

/** A call costs its started minutes, at most those for which credits were held, by the first report of its duration. */
export function checkCalls(
  { world, model, database }: Stage,
  messages: readonly MessageRow[],
): void {
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
