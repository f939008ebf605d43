import {
  createHistory,
  type DecodedCore,
  findingsOf,
  type Reading,
  readOnce,
} from '@svc/core/operate'
import { pauseOf, providersOf, textOf, timeOf } from './views.ts'
import type { OperatorOverview, Rates } from './wire.ts'

/** The state of the service for the pages of operators, with the rates of the last minutes. */
export interface Readings {
  /** A reading of the database of at most a second ago: several pages share it. */
  read(): Promise<Reading>
  overview(): Promise<OperatorOverview>
}

const FAILURES_MAX = 20
const FRESH_MS = 1_000

export function createReadings(core: DecodedCore, elapsed: () => number): Readings {
  const history = createHistory()
  let reading: { at_ms: number; found: Promise<Reading> } | null = null

  function read(): Promise<Reading> {
    if (reading && elapsed() - reading.at_ms < FRESH_MS) return reading.found
    const found = readOnce(core, { limit: FAILURES_MAX, channel: null })
    const started = { at_ms: elapsed(), found }
    reading = started
    found.then(
      ({ overview }) => history.add(overview),
      () => {
        if (reading === started) reading = null
      },
    )
    return found
  }

  return {
    read,
    async overview() {
      const found = await read()
      const { at, message_queue, delivery_queue, credits, webhooks, pause } = found.overview
      const queue = ({ oldest_due_at, ...rest }: typeof delivery_queue) => ({
        ...rest,
        oldest_due_at: timeOf(oldest_due_at),
      })
      const total = (series: keyof Rates) => history.total(series, null)
      return {
        at: textOf(at),
        findings: findingsOf(found, history),
        rates: history.rates(null),
        totals: {
          accepted: total('accepted'),
          sent: total('sent'),
          delivered: total('delivered'),
          failed: total('failed'),
        },
        message_queue: { ...queue(message_queue), unknown: message_queue.unknown },
        delivery_queue: queue(delivery_queue),
        providers: providersOf(found),
        credits: { ...credits, balance: creditsOf(credits.balance), held: creditsOf(credits.held) },
        webhooks,
        pause: pauseOf(pause),
        failures: found.troubles.failures.map(({ created_at, failed_at, ...failure }) => ({
          ...failure,
          at: textOf(failed_at ?? created_at),
        })),
      }
    },
  }
}

/** Sums over all workspaces may be larger than an amount. */
function creditsOf(units: number): number {
  return Math.round(units) / 1_000_000
}
