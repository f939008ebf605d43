import { join } from 'node:path'
import { migrateDatabase, verifyLedger } from '@svc/core/operate'
import { openReadonly } from '../stage/database.ts'
import { onStage } from '../stage/stage.ts'
import { type BenchOptions, count, type Figure, median } from './figure.ts'
import { fillLedger } from './fill-ledger.ts'
import { inTurns } from './rounds.ts'

const ENTRIES = 1_000_000
const ROUNDS = 7

/** Verification costs at most ten times a bare sum over the same entries. */
const FLOOR = 0.1

/** The maximum growth of memory by a verification, for any number of entries. */
const RSS_MAX_MB = 64

/** The bare sum as a share of `svc ledger verify`, row by row and `--fast`, in turns; and its memory. */
export async function run({ quick }: BenchOptions): Promise<Figure[]> {
  const entries = quick ? ENTRIES / 20 : ENTRIES
  const less = await measured(entries / 5, 0)
  const all = await measured(entries, ROUNDS)
  const sum = median(all.sum)
  const figure = (name: string, verify: number): Figure => ({
    name: `${name}, bare sum(amount) of ${count(entries)} entries as a share of it`,
    value: sum / verify,
    unit: 'x',
    floor: FLOOR,
    raw: `CPU time: sum ${count(sum)} ms, verify ${count(verify)} ms, ${count(verify / sum)} times`,
  })
  return [
    figure('ledger verify', median(all.exact)),
    figure('ledger verify --fast', median(all.fast)),
    {
      name: `ledger verify, growth of RSS with ${count(entries)} entries`,
      value: all.grown_mb,
      unit: 'MB',
      floor: RSS_MAX_MB,
      raw: `with ${count(entries / 5)} entries ${count(less.grown_mb)} MB`,
    },
  ]
}

/** Times of each round in ms, without the first one, which warms up. */
function measured(entries: number, rounds: number) {
  return onStage(async ({ folder }) => {
    const file = join(folder, 'svc.db')
    await migrateDatabase(`file:${file}`)
    fillLedger(file, entries)
    bareSum(file)
    const rss = process.memoryUsage().rss
    let grown = 0
    async function verified(fast: boolean): Promise<void> {
      const report = await verifyLedger(`file:${file}`, {
        fast,
        onProgress() {
          grown = Math.max(grown, process.memoryUsage().rss - rss)
        },
      })
      if (!report.ok || report.entries !== entries) throw new Error('the ledger does not add up')
    }
    const sides = {
      sum: () => timed(async () => bareSum(file)),
      exact: () => timed(() => verified(false)),
      fast: () => timed(() => verified(true)),
    }
    const times = await inTurns(sides, rounds)
    return { ...times, grown_mb: grown / 1e6 }
  })
}

function bareSum(file: string): void {
  const database = openReadonly(file)
  database.prepare('select sum(amount) from ledger_entries').get()
  database.close()
}

/** CPU time, without other work on the machine. */
async function timed(work: () => Promise<void>): Promise<number> {
  const from = process.cpuUsage()
  await work()
  const { user, system } = process.cpuUsage(from)
  return (user + system) / 1_000
}
