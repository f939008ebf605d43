import { startChild } from '../stage/child.ts'
import { type Service, startService } from '../stage/service.ts'
import { onStage } from '../stage/stage.ts'
import type { BenchOptions, Figure } from './figure.ts'
import type { LoadHandlers } from './processes/load.ts'
import { compare, loadInTurns, type Plan, sideOf } from './rounds.ts'

const FLOOR = 0.98

/** Prometheus scrapes every fifteen seconds by default; this is a worse case. */
const SCRAPE_EVERY_MS = 1_000

/** A fiftieth is less than the noise of one round: many short rounds, so that both meet the same machine. */
function planOf(quick: boolean): Plan {
  return quick ? { rounds: 5, ms: 1_500 } : { rounds: 21, ms: 2_500 }
}

/**
 * Accepted sends a second of a service that counts and is scraped every second, as a share of a service without
 * telemetry: the same database and load, in turns.
 */
export async function run({ quick }: BenchOptions): Promise<Figure[]> {
  return onStage(async (stage) => {
    const load = startChild<LoadHandlers>(stage, 'bench/processes/load.ts')
    const plain = await startService(stage, 'plain', { dispatch: true })
    const counted = await startService(stage, 'counted', {
      dispatch: true,
      env: { SVC_METRICS_LISTEN: '127.0.0.1:0' },
    })
    const scraping = scrapeOf(counted)
    stage.atEnd(scraping.stop)
    const idle = (service: Service) => () => service.child.request('idle', null)
    const sides = {
      counted: sideOf([counted], idle(counted)),
      plain: sideOf([plain], idle(plain)),
    }
    const rounds = await loadInTurns(load, sides, planOf(quick))
    const compared = compare(['with metrics', rounds.counted], ['without', rounds.plain])
    const raw = `${compared.raw}; ${scraping.done} scrapes`
    return [{ name: 'accept with metrics', ...compared, floor: FLOOR, raw }]
  })
}

function scrapeOf({ metrics_url }: Service): { readonly done: number; stop(): void } {
  if (metrics_url === null) throw new Error('the service serves no metrics')
  let done = 0
  async function scrape(): Promise<void> {
    const response = await fetch(metrics_url as string)
    const text = await response.text()
    if (!text.includes('svc_messages_accepted_total')) throw new Error(`a scrape returned: ${text}`)
    done += 1
  }
  const timer = setInterval(() => void scrape(), SCRAPE_EVERY_MS)
  return {
    get done() {
      return done
    },
    stop: () => clearInterval(timer),
  }
}
