import { join } from 'node:path'
import { startChild } from '../stage/child.ts'
import { openConnection, requestBytes } from '../stage/connection.ts'
import { startService } from '../stage/service.ts'
import { onStage } from '../stage/stage.ts'
import { type BenchOptions, count, type Figure, medianOf, rangeOf } from './figure.ts'
import { against, inTurns, planOf } from './rounds.ts'

const RECIPIENTS = 1_000

/** The number of different bulks, sent in turn. */
const REQUESTS = 8

/** The requests of the process that only inserts. */
interface InsertHandlers {
  [name: string]: (input: never) => unknown
  start(input: { file: string; pattern_file: string; rows: number }): void
  run(input: { ms: number }): { inserted: number; seconds: number }
}

/** The result of one side of a round: rows a second, and the CPU of one. */
interface Pass {
  per_s: number
  cpu_us: number
}

/**
 * Recipients a second of `POST /messages/bulk`, with a rendered text for each, as a share of only inserting the same
 * rows: the same engine, settings and durability, one transaction for each 1,000.
 */
export async function run({ quick }: BenchOptions): Promise<Figure[]> {
  return onStage(async (stage) => {
    const service = await startService(stage, 'service', { dispatch: false })
    const bare = startChild<InsertHandlers>(stage, 'bench/processes/bare-insert.mjs')
    const connection = await openConnection(service.url)
    stage.atEnd(connection.close)
    const requests = Array.from({ length: REQUESTS }, (_, i) => bulkRequest(service, i))
    const { rounds, ms } = planOf(quick)

    async function send(): Promise<Pass> {
      const cpu_ms = (await service.child.usage()).cpu_ms
      const from = performance.now()
      let sent = 0
      while (performance.now() - from < ms) {
        const bytes = requests[sent++ % REQUESTS] as Buffer
        const { status, body } = await connection.request(bytes)
        if (status !== 201) throw new Error(`answered ${status}: ${body}`)
      }
      const seconds = (performance.now() - from) / 1000
      const rows = sent * RECIPIENTS
      const used_ms = (await service.child.usage()).cpu_ms - cpu_ms
      return { per_s: rows / seconds, cpu_us: (used_ms * 1000) / rows }
    }

    async function insert(): Promise<Pass> {
      const cpu_ms = (await bare.usage()).cpu_ms
      const { inserted, seconds } = await bare.request('run', { ms })
      const used_ms = (await bare.usage()).cpu_ms - cpu_ms
      return { per_s: inserted / seconds, cpu_us: (used_ms * 1000) / inserted }
    }

    await send()
    const file = join(stage.folder, 'bare.db')
    await bare.request('start', { file, pattern_file: service.database, rows: RECIPIENTS })
    await insert()
    const measured = await inTurns({ ours: send, theirs: insert }, rounds, { areWarm: true })
    const { ratios, ...figure } = against(measured.ours, measured.theirs)
    const sideOf = (passes: readonly Pass[]) =>
      `${count(medianOf(passes, 'per_s'))}/s with ${count(medianOf(passes, 'cpu_us'))} µs of CPU each`
    const raw = `service ${sideOf(measured.ours)}, bare insert ${sideOf(measured.theirs)}; ${rounds} rounds, ratios ${rangeOf(ratios)}`
    return [{ name: 'bulk', ...figure, raw }]
  })
}

/** A bulk with different texts, addresses and variables. */
function bulkRequest({ url, key }: { url: string; key: string }, n: number): Buffer {
  return requestBytes(url, {
    method: 'POST',
    path: '/api/v1/messages/bulk',
    headers: { 'X-API-Key': key },
    body: {
      channel: 'sms',
      content: { text: 'Hi {{name|there}}, your order {{order_id}} is ready. Code: {{code}}.' },
      recipients: Array.from({ length: RECIPIENTS }, (_, i) => ({
        to: `+25570${n}${String(100_000 + i)}`,
        name: `Customer ${i}`,
        variables: { order_id: `A${n}-${i}`, code: 100_000 + i },
      })),
    },
  })
}
