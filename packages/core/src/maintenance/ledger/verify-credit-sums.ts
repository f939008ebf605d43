import type { LedgerOpeningRow } from '../../rows/rows.ts'
import { dayOf } from '../../rules/credit-sums.ts'
import type { Run } from './run.ts'
import { slicesOf } from './slices.ts'
import { openingOf, openingRows } from './verify-openings.ts'

interface Summed {
  workspace_id: string
  /** The start of the day: milliseconds on SQLite, a `Date` on PostgreSQL. */
  since: Date | number
  kind: string
  channel: string
  count: string
  amount: string
  held_delta: string
}

/** The entries of one workspace by day, kind and channel. */
interface Booked {
  workspaceId: string
  totals: Map<string, Totals>
}

type Totals = [count: bigint, amount: bigint, held_delta: bigint]

/**
 * Compares `credit_days` with the entries that it includes, by day, kind and channel. Only one workspace is in memory at a
 * time. The share of each API key is not compared: the messages that name the keys may have been removed. Days of entries that
 * an opening stands for are compared together, by kind alone.
 */
export async function verifyCreditSums(run: Run, total: number): Promise<void> {
  const { snapshot, workspaceId } = run
  let current = null as Booked | null
  let done = 0
  for await (const slice of slicesOf(
    snapshot,
    { table: 'ledger_entries', key: 'seq' },
    workspaceId,
  )) {
    const rows = await snapshot.rows<Summed & { entries: number }>(
      `select t.workspace_id as workspace_id, ${snapshot.startOf('day', 't.created_at')} as since,
         t.kind as kind, coalesce(t.channel, '') as channel, count(*) as entries,
         ${sumOf('count', '1')}, ${sumOf('amount', 't.amount')}, ${sumOf('held_delta', 't.held_delta')}
       from ledger_entries t left join credit_marks g on g.workspace_id = t.workspace_id
       where ${slice.where} group by 1, 2, 3, 4 order by 1`,
      slice.values,
    )
    for (const row of rows) {
      if (current?.workspaceId !== row.workspace_id) {
        if (current) await compare(run, current)
        current = { workspaceId: row.workspace_id, totals: new Map() }
      }
      const key = `${dayOf(new Date(row.since))} ${row.kind} ${row.channel}`
      const [count, amount, held] = current.totals.get(key) ?? [0n, 0n, 0n]
      const added = totalsOf(row)
      current.totals.set(key, [count + added[0], amount + added[1], held + added[2]])
      done += Number(row.entries)
    }
    run.report('sums of days', done, total)
  }
  if (current) await compare(run, current)
  run.report('sums of days', total, total)
}

/** SQL: a sum over the entries that `credit_days` includes. */
function sumOf(name: string, value: string): string {
  return `cast(sum(case when t.seq <= coalesce(g.seq, 0) then ${value} else 0 end) as text) as ${name}`
}

async function compare({ snapshot, found }: Run, { workspaceId, totals }: Booked): Promise<void> {
  const days = await snapshot.rows<Omit<Summed, 'since'> & { day: number }>(
    `select day, kind, channel, cast(sum(count) as text) as count, cast(sum(amount) as text) as amount,
       cast(sum(held_delta) as text) as held_delta
     from credit_days where workspace_id = :workspace group by day, kind, channel`,
    { workspace: workspaceId },
  )
  const opening = await openingIn(snapshot, workspaceId)
  const last_day = opening ? dayOf(opening.last_at) + SKEW_DAYS : null
  const stored = new Map<string, Totals>()
  const booked = new Map<string, Totals>()
  const add = (sums: Map<string, Totals>, [day, kind, channel]: string[], more: Totals) => {
    const isFolded = last_day !== null && Number(day) <= last_day
    const key = isFolded ? `${last_day} ${kind} ` : `${day} ${kind} ${channel}`
    const [count, amount, held] = sums.get(key) ?? [0n, 0n, 0n]
    sums.set(key, [count + more[0], amount + more[1], held + more[2]])
  }
  for (const row of days) add(stored, [`${row.day}`, row.kind, row.channel], totalsOf(row))
  for (const [key, own] of totals) add(booked, key.split(' '), own)
  for (const { kind, entries, amount, held_delta } of opening?.sums ?? []) {
    add(booked, [`${last_day}`, kind, ''], [BigInt(entries), BigInt(amount), BigInt(held_delta)])
  }
  for (const key of new Set([...booked.keys(), ...stored.keys()])) {
    const stands = textOf(stored.get(key))
    const should = textOf(booked.get(key))
    if (stands === should) continue
    const [day, kind, channel] = key.split(' ')
    const date = new Date(Number(day) * 86_400_000).toISOString().slice(0, 10)
    const until = Number(day) === last_day ? 'days until' : 'day'
    const about = [`${until}:${date}`, kind, channel].filter(Boolean).join(' ')
    found([{ check: 'credit_sums', workspace_id: workspaceId, seq: null, about, stands, should }])
  }
}

/** Servers whose clocks differ book an entry of the next day before one of this day. */
const SKEW_DAYS = 1

/** The opening of a workspace that the stored sums include; null without one, or without sums. */
async function openingIn(
  snapshot: Run['snapshot'],
  workspaceId: string,
): Promise<LedgerOpeningRow | null> {
  const marks = await snapshot.rows(
    'select seq from credit_marks where workspace_id = :workspace',
    {
      workspace: workspaceId,
    },
  )
  if (marks.length === 0) return null
  for await (const row of openingRows(snapshot, workspaceId)) return openingOf(row)
  return null
}

function totalsOf({ count, amount, held_delta }: Omit<Summed, 'since' | 'workspace_id'>): Totals {
  return [BigInt(count), BigInt(amount), BigInt(held_delta)]
}

function textOf([count, amount, held]: Totals = [0n, 0n, 0n]): string {
  return `${count} entries: ${amount}${held === 0n ? '' : `, held ${held}`}`
}
