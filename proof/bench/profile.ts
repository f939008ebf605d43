import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { sidOf } from '@svc/core/contract'
import { startChild } from '../stage/child.ts'
import { startPostgres } from '../stage/postgres.ts'
import { type ServiceOptions, startService } from '../stage/service.ts'
import { onStage, type Stage } from '../stage/stage.ts'
import { selfTimes } from './cpu-profile.ts'
import { measureEndToEnd } from './end-to-end.ts'
import { type BenchOptions, count } from './figure.ts'
import { openPath, type PathName } from './paths.ts'
import type { LoadHandlers } from './processes/load.ts'
import { loadSmpp } from './smpp.ts'
import { loadInlet } from './smtp-inlet.ts'
import { measureSteady } from './steady.ts'

const SHOWN = 30

const PROFILED = [
  'accept',
  'accept-dispatching',
  'end-to-end',
  'postgres-accept',
  'postgres-end-to-end',
  'steady',
  'steady-postgres',
  'smpp',
  'smpp-bulk',
  'compat-twilio',
  'smtp-inlet',
] as const

/** A load under which the service can be profiled. */
export type Profiled = (typeof PROFILED)[number]

/** Whether this is the name of such a load. */
export function isProfiled(name: string): name is Profiled {
  return PROFILED.some((each) => each === name)
}

/** Prints the functions in which the service spends its time under load, by their own time. */
export async function profile(name: Profiled, { quick }: BenchOptions): Promise<void> {
  await onStage(async (stage) => {
    const profiles = join(stage.folder, 'profiles')
    mkdirSync(profiles)
    const node_args = ['--cpu-prof', '--cpu-prof-dir', profiles]
    const ms = quick ? 5_000 : 15_000
    if (name === 'end-to-end') await profileWhole(stage, 'SQLite', node_args, ms)
    else if (name === 'postgres-end-to-end') {
      await profileWhole(stage, 'PostgreSQL', node_args, ms)
    } else if (name === 'steady') await profileSteady(stage, 'SQLite', node_args, ms)
    else if (name === 'steady-postgres') await profileSteady(stage, 'PostgreSQL', node_args, ms)
    else if (name === 'smpp' || name === 'smpp-bulk') {
      console.log(await loadSmpp(stage, { node_args, is_bulk: name === 'smpp-bulk', quick }))
    } else if (name === 'smtp-inlet') {
      console.log(await loadInlet(stage, { node_args, ms }))
    } else if (name === 'postgres-accept') {
      const { url } = await startPostgres({ stage })
      await profileAccept(stage, ms, { dispatch: false, node_args, database_url: url })
    } else {
      const options = { dispatch: name === 'accept-dispatching', node_args }
      await profileAccept(stage, ms, options, { is_twilio: name === 'compat-twilio' })
    }
    for (const line of selfTimes(profiles, SHOWN)) console.log(line)
  })
}

async function profileAccept(
  stage: Stage,
  ms: number,
  options: ServiceOptions,
  { is_twilio = false }: { is_twilio?: boolean } = {},
) {
  const load = startChild<LoadHandlers>(stage, 'bench/processes/load.ts')
  const service = await startService(stage, 'service', options)
  const { url, key, workspace_id } = service
  const { sent, seconds } = await load.request('run', {
    urls: [url],
    key,
    ...(is_twilio && { account_sid: sidOf('account', workspace_id) }),
    connections: 64,
    ms,
  })
  await service.stop()
  console.log(`${count(sent / seconds)} accepted a second while profiled`)
}

async function profileWhole(stage: Stage, name: PathName, node_args: string[], ms: number) {
  const load = startChild<LoadHandlers>(stage, 'bench/processes/load.ts')
  const path = await openPath(name, { node_args })
  const { per_s, cpu_us } = await measureEndToEnd(load, path, ms)
  await path.service?.request('stop', null)
  await path.end()
  console.log(`${count(per_s)} a second while profiled, ${count(cpu_us)} µs of CPU each`)
}

async function profileSteady(stage: Stage, engine: PathName, node_args: string[], ms: number) {
  const load = startChild<LoadHandlers>(stage, 'bench/processes/load.ts')
  const path = await openPath(engine, { node_args })
  const { cpu_s, p50_ms } = await measureSteady(load, path, ms)
  await path.service?.request('stop', null)
  await path.end()
  console.log(
    `${count(cpu_s)} s of CPU for 1,000 messages while profiled, p50 to the webhook ${count(p50_ms)} ms`,
  )
}
