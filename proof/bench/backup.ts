import { mkdirSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { migrateDatabase, verifyLedger } from '@svc/core/operate'
import { startChild } from '../stage/child.ts'
import { finish } from '../stage/command.ts'
import { BUILT_COMMAND } from '../stage/serve.ts'
import { startService } from '../stage/service.ts'
import { onStage } from '../stage/stage.ts'
import { type BenchOptions, count, type Figure, median, medianOf } from './figure.ts'
import { fillLedger } from './fill-ledger.ts'
import type { LoadHandlers } from './processes/load.ts'

const MESSAGES = 1_000_000
const PER_S = 500
/** The maximum ratio of the slowest sends during a backup to those without one. */
const RATIO_MAX = 3
/** The maximum time of a backup that is measured. */
const ROUND_MS = 10_000

/**
 * The effect of a backup of a database with a million messages on 500 sends a second, which do not wait for answers:
 * in turns with and without a backup. The ledger of each copy is verified.
 */
export async function run({ quick }: BenchOptions): Promise<Figure[]> {
  return onStage(async (stage) => {
    const messages = quick ? MESSAGES / 10 : MESSAGES
    const file = join(stage.folder, 'filled.db')
    await migrateDatabase(`file:${file}`)
    fillLedger(file, messages)
    const size_mb = statSync(file).size / 1e6
    const load = startChild<LoadHandlers>(stage, 'bench/processes/load.ts')
    const service = await startService(stage, 'service', {
      dispatch: true,
      database_url: `file:${file}`,
    })
    const to = join(stage.folder, 'backups')
    mkdirSync(to)
    const round = { url: service.url, key: service.key, per_s: PER_S, ms: quick ? 4_000 : ROUND_MS }
    const without: Paced[] = []
    const during: Paced[] = []
    const took_ms: number[] = []
    await load.request('pace', round)
    for (let i = 0; i < (quick ? 3 : 5); i++) {
      without.push(await load.request('pace', round))
      const backup = startBackup(stage.folder, file, to)
      const [paced, { file: copy, duration_ms }] = await Promise.all([
        load.request('pace', { ...round, ms: Math.max(round.ms, took_ms.at(-1) ?? 0) }),
        backup,
      ])
      during.push(paced)
      took_ms.push(duration_ms)
      const { ok } = await verifyLedger(`file:${copy}`, { fast: true })
      if (!ok) throw new Error('the ledger of the copy does not add up')
      rmSync(copy)
      await service.child.request('idle', null)
    }
    const p99 = (rounds: Paced[]) => medianOf(rounds, 'p99_ms')
    const max = (rounds: Paced[]) => count(Math.max(...rounds.map(({ max_ms }) => max_ms)))
    const ratio = p99(during) / p99(without)
    const name = `p99 of ${PER_S} sends/s during a backup of ${count(messages)} messages`
    const all = (rounds: Paced[]) => rounds.map(({ p99_ms }) => count(p99_ms)).join(' ')
    return [
      {
        name,
        value: p99(during),
        unit: 'ms',
        floor: RATIO_MAX * p99(without),
        raw: `${count(ratio)} times ${count(p99(without))} ms without one; rounds ${all(during)}, without ${all(without)}; longest ${max(during)}, without ${max(without)}`,
      },
      {
        name: 'backup, verified fast',
        value: median(took_ms) / 1000,
        unit: 's',
        raw: `${count(size_mb)} MB, with a low priority beside those sends`,
      },
    ]
  })
}

type Paced = Awaited<ReturnType<LoadHandlers['pace']>>

/** Runs the command as an operator does. */
async function startBackup(cwd: string, file: string, to: string) {
  const argv = ['backup', '--database', `file:${file}`, '--to', to, '--json']
  const output = await finish([...BUILT_COMMAND, ...argv], { cwd, env: process.env })
  return JSON.parse(output) as { file: string; duration_ms: number }
}
