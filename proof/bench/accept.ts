import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { injectionMissing, openInjection } from '../faults/inject.ts'
import { startChild } from '../stage/child.ts'
import { type Service, startService } from '../stage/service.ts'
import { onStage, type Stage } from '../stage/stage.ts'
import type { BenchOptions, Figure } from './figure.ts'
import type { LoadHandlers } from './processes/load.ts'
import {
  compare,
  loadInTurns,
  planOf,
  type Round,
  type Side,
  sideOf,
  startBareRoute,
} from './rounds.ts'

/**
 * Durably accepted sends a second: as a share of a bare framework route, as a share of the least that an honest accept must
 * do, and with the flushes of a slow disk as a share of the same without. The same bodies, the same answers, the same 64
 * connections, in turns.
 */
export async function run({ quick, flush_ms }: BenchOptions): Promise<Figure[]> {
  return onStage(async (stage) => {
    const load = startChild<LoadHandlers>(stage, 'bench/processes/load.ts')
    const measure = <Name extends string>(sides: Record<Name, Side>) =>
      loadInTurns(load, sides, planOf(quick))
    const bare = await startBareRoute(stage)
    const limit = await startLimit(stage)
    const service = sideOf([await startService(stage, 'accepting', { dispatch: false })])
    const accepting = await measure({ service, 'bare route': bare, limit })
    const missing = injectionMissing()
    const slow = missing === null ? flush_ms : []
    const dispatching = await measure({
      'bare route': bare,
      service: dispatchingSide(await startService(stage, 'dispatching', { dispatch: true })),
      ...Object.fromEntries(
        await Promise.all(slow.map(async (ms) => [slowName(ms), await startSlow(stage, ms)])),
      ),
    })
    return [
      figureOf('accept', accepting, ['service', 'bare route']),
      figureOf('accept, against the limit', accepting, ['service', 'limit']),
      figureOf('accept, dispatching', dispatching, ['service', 'bare route']),
      ...flush_ms.map((ms): Figure => {
        const name = `accept, dispatching, ${slowName(ms)}`
        if (missing !== null) return { name, value: Number.NaN, unit: 'x', missing }
        return figureOf(name, dispatching, [slowName(ms), 'service'])
      }),
    ]
  })
}

function figureOf(
  name: string,
  rounds: Record<string, Round[]>,
  [ours, theirs]: [string, string],
): Figure {
  return { name, ...compare([ours, rounds[ours] ?? []], [theirs, rounds[theirs] ?? []]) }
}

function slowName(ms: number): string {
  return `flush + ${ms} ms`
}

function dispatchingSide(service: Service): Side {
  return sideOf([service], () => service.child.request('idle', null))
}

/** A service whose flushes last longer. */
async function startSlow(stage: Stage, ms: number): Promise<Side> {
  const name = slowName(ms)
  const folder = join(stage.folder, `injection-${ms}`)
  mkdirSync(folder)
  const injection = openInjection({ folder, data: join(stage.folder, name) })
  stage.atEnd(injection.close)
  injection.delayFlushes(ms)
  return dispatchingSide(await startService(stage, name, { dispatch: true, env: injection.env }))
}

async function startLimit(stage: Stage): Promise<Side> {
  const child = startChild<{ start(input: { file: string }): { url: string } }>(
    stage,
    'bench/processes/limit.mjs',
  )
  const { url } = await child.request('start', { file: join(stage.folder, 'limit.db') })
  return sideOf([{ url, key: '-', child }])
}
