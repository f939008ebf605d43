import { sidOf } from '@svc/core/contract'
import { startChild } from '../stage/child.ts'
import { startService } from '../stage/service.ts'
import { onStage } from '../stage/stage.ts'
import { type BenchOptions, count, type Figure, median } from './figure.ts'
import type { LoadHandlers } from './processes/load.ts'
import { compare, loadInTurns, planOf, type Side, sideOf } from './rounds.ts'

/**
 * The processor time of a send in the form of Twilio, over that of a send of the API: the same texts and recipients, the same
 * 64 connections, in turns, to one service without its dispatcher.
 */
export async function run({ quick }: BenchOptions): Promise<Figure[]> {
  return onStage(async (stage) => {
    const load = startChild<LoadHandlers>(stage, 'bench/processes/load.ts')
    const service = await startService(stage, 'service', { dispatch: false })
    const api = sideOf([service])
    const twilio: Side = { ...api, account_sid: sidOf('account', service.workspace_id) }
    const rounds = await loadInTurns(load, { twilio, api }, planOf(quick))
    const ratios = rounds.twilio.map(({ cpu_us }, i) => cpu_us / (rounds.api[i]?.cpu_us ?? 0))
    const { value, raw } = compare(['form of Twilio', rounds.twilio], ['API', rounds.api])
    return [
      {
        name: 'compat-twilio, CPU of a send against the API',
        value: median(ratios),
        unit: 'times',
        note: `by speed ${count(value)}x`,
        raw: `${raw}; ratios of CPU ${ratios.map(count).join(', ')}`,
      },
    ]
  })
}
