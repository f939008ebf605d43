import { join } from 'node:path'
import { migrateDatabase, verifyLedger } from '@svc/core'
import { openReadonly } from './database.ts'
import { type BenchOptions, count, type Figure, median } from './figure.ts'
import { fillLedger } from './fill-ledger.ts'
import { inFolder } from './service.ts'

const ENTRIES = 1_000_000
const ROUNDS = 3

/** Verifying costs at most ten times a bare sum over the same entries. */
const FLOOR = 0.1

/** The bare sum is this much of the time that `svc ledger verify` takes, in turns; and what memory it took. */
export async function run({ quick }: BenchOptions): Promise<Figure[]> {
  const entries = quick ? ENTRIES / 20 : ENTRIES
  return inFolder(async (folder) => {
    const file = join(folder, 'svc.db')
    await migrateDatabase(`file:${file}`)
    fillLedger(file, entries)
    const times = { sum: [] as number[], verify: [] as number[] }
    const rss = process.memoryUsage().rss
    let grown = 0
    // The first round only warms up.
    for (let round = 0; round <= ROUNDS; round++) {
      const sum = await timed(async () => bareSum(file))
      const verify = await timed(async () => {
        const report = await verifyLedger(`file:${file}`, {
          onProgress() {
            grown = Math.max(grown, process.memoryUsage().rss - rss)
          },
        })
        if (!report.ok || report.entries !== entries) throw new Error('the books do not add up')
      })
      if (round === 0) continue
      times.sum.push(sum)
      times.verify.push(verify)
    }
    const [sum, verify] = [median(times.sum), median(times.verify)]
    return [
      {
        name: `ledger verify, bare sum(amount) of ${count(entries)} entries as a share of it`,
        value: sum / verify,
        unit: 'x',
        floor: FLOOR,
        raw: `sum ${count(sum)} ms, verify ${count(verify)} ms, ${count(verify / sum)} times; RSS grew by ${count(grown / 1e6)} MB`,
      },
    ]
  })
}

function bareSum(file: string): void {
  const database = openReadonly(file)
  database.prepare('select sum(amount) from ledger_entries').get()
  database.close()
}

async function timed(work: () => Promise<void>): Promise<number> {
  const from = performance.now()
  await work()
  return performance.now() - from
}
