import { sidOf } from '@svc/core/contract'
import { startChild } from '../stage/child.ts'
import { inFolder, startService } from '../stage/service.ts'
import { type BenchOptions, count, type Figure, median } from './figure.ts'
import type { LoadHandlers } from './processes/load.ts'
import { compare, inTurns, planOf, type Side } from './rounds.ts'

/**
 * The processor time of a send in the form of Twilio, over that of a send of the API: the same texts and recipients, the same
 * 64 connections, in turns, to one service without its dispatcher.
 */
export async function run({ quick }: BenchOptions): Promise<Figure[]> {
  return inFolder(async (folder) => {
    const load = startChild<LoadHandlers>('bench/processes/load.ts', { folder })
    const service = await startService(folder, 'service', { dispatch: false })
    const { url, key, child, workspace_id } = service
    const usages = async () => [await child.usage()]
    const api: Side = { urls: [url], key, usages, settle: async () => {} }
    const twilio: Side = { ...api, account_sid: sidOf('account', workspace_id) }
    try {
      const rounds = await inTurns(load, { twilio, api }, planOf(quick))
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
    } finally {
      await Promise.all([load.end(), child.end()])
    }
  })
}
