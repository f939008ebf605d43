import {
  createHistory,
  type DecodedCore,
  findingsOf,
  type Reading,
  readOnce,
} from '@svc/core/operate'
import type * as z from 'zod'
import type { overview, Rates } from './answers.ts'
import { providersOf } from './views.ts'

/** The state of the service for the pages of operators, with the rates of the last minutes. */
export interface Readings {
  /** A reading of the database of at most a second ago: several pages share it. */
  read(): Promise<Reading>
  overview(): Promise<z.output<typeof overview>>
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
      const { credits } = found.overview
      const total = (series: keyof Rates) => history.total(series, null)
      return {
        ...found.overview,
        findings: findingsOf(found, history),
        rates: history.rates(null),
        totals: {
          accepted: total('accepted'),
          sent: total('sent'),
          delivered: total('delivered'),
          failed: total('failed'),
        },
        providers: providersOf(found),
        credits: { ...credits, balance: creditsOf(credits.balance), held: creditsOf(credits.held) },
        failures: found.troubles.failures.map((failure) => ({
          ...failure,
          at: failure.failed_at ?? failure.created_at,
        })),
      }
    },
  }
}

/** Sums over all workspaces may be larger than an amount. */
function creditsOf(units: number): number {
  return Math.round(units) / 1_000_000
}
