import type { Core } from '@svc/core'
import { UNITS_PER_CREDIT } from '@svc/core/contract'
import { type Overview, type ProviderStatus, within } from '@svc/core/operate'
import type { Registry } from 'prom-client'
import { register, type Sample } from './series.ts'

/** State that comes from the database. */
interface Standing {
  overview: Overview
  providers: ProviderStatus[]
}

/** How long the result of one reading serves further scrapes. */
const KEPT_MS = 2_000

/** The maximum time that a scrape waits for the database. */
const WAIT_MAX_MS = 2_000

/**
 * Gauges of state in the database, which are the same on all its servers. Call `refresh` before each scrape; it never
 * throws. While the database does not answer, the gauges have no value and `svc_database_up` is 0.
 */
export function overviewMetrics(
  registry: Registry,
  core: Pick<Core, 'overviews' | 'providers'>,
): { refresh(): Promise<void> } {
  let standing: Standing | null = null
  let read_at = Number.NEGATIVE_INFINITY
  let reading: Promise<void> | null = null

  async function read(): Promise<void> {
    try {
      const [overview, providers] = await Promise.all([
        core.overviews.overview(),
        core.providers.status(),
      ])
      standing = { overview, providers }
      read_at = performance.now()
    } catch {
      standing = null
    } finally {
      reading = null
    }
  }

  function gauge(name: string, help: string, samples: (standing: Standing) => Sample[]): void {
    // All processes read the same state.
    register(registry, { name, help, type: 'gauge', aggregator: 'first' }, () =>
      standing ? samples(standing) : [],
    )
  }
  registerStanding(gauge)
  register(
    registry,
    {
      name: 'svc_database_up',
      help: 'Whether the database answers, 1 or 0.',
      type: 'gauge',
      aggregator: 'min',
    },
    () => [{ labels: {}, value: standing ? 1 : 0 }],
  )

  return {
    async refresh() {
      if (performance.now() - read_at < KEPT_MS && standing) return
      // Only one reading runs at a time, so that scrapes do not add queries to a database that hangs.
      reading ??= read()
      const forget = () => {
        standing = null
      }
      await within(WAIT_MAX_MS, reading, forget).catch(forget)
    },
  }
}

function registerStanding(
  gauge: (name: string, help: string, samples: (standing: Standing) => Sample[]) => void,
): void {
  gauge('svc_workspaces', 'Number of workspaces.', ({ overview }) => [
    one(overview.credits.workspaces),
  ])
  gauge('svc_workspaces_frozen', 'Workspaces that may not spend.', ({ overview }) => [
    one(overview.credits.frozen),
  ])
  gauge(
    'svc_credits_balance',
    'Credits on all accounts, held credits included.',
    ({ overview }) => [one(overview.credits.balance / UNITS_PER_CREDIT)],
  )
  gauge('svc_credits_held', 'Credits that are held on all accounts.', ({ overview }) => [
    one(overview.credits.held / UNITS_PER_CREDIT),
  ])
  gauge('svc_queue_waiting', 'Items in a queue, due or not.', ({ overview }) =>
    byQueue(overview, ({ waiting }) => waiting),
  )
  gauge('svc_queue_due', 'Items in a queue that are due.', ({ overview }) =>
    byQueue(overview, ({ due }) => due),
  )
  gauge(
    'svc_queue_oldest_due_seconds',
    'How long the oldest due item has been due.',
    ({ overview }) =>
      byQueue(overview, ({ oldest_due_at }) =>
        oldest_due_at ? Math.max(0, (overview.at.getTime() - oldest_due_at.getTime()) / 1000) : 0,
      ),
  )
  gauge(
    'svc_outcome_unknown',
    'Messages with an unknown outcome: a provider may or may not have them.',
    (of) => [one(of.overview.message_queue.unknown)],
  )
  gauge('svc_messages', 'Messages in the history, by their current status.', ({ overview }) =>
    overview.messages.map(({ channel, status, count }) => ({
      labels: { channel, status },
      value: count,
    })),
  )
  gauge(
    'svc_verification_paused_countries',
    'Paused countries of workspaces for one-time codes, because too few were approved; at most 1,000.',
    ({ overview }) => [one(overview.paused_countries)],
  )
  gauge('svc_webhooks', 'Webhooks, by their state.', ({ overview }) =>
    Object.entries(overview.webhooks).map(([status, value]) => ({ labels: { status }, value })),
  )
  gauge(
    'svc_provider_paused',
    'Whether a provider, or one of its senders, is paused, 1 or 0.',
    (of) =>
      of.providers.map(({ name, pauses }) => ({
        labels: { provider: name },
        value: pauses.length > 0 ? 1 : 0,
      })),
  )
}

function one(value: number): Sample {
  return { labels: {}, value }
}

function byQueue(
  { message_queue, delivery_queue }: Overview,
  read: (queue: Overview['delivery_queue']) => number,
): Sample[] {
  return [
    { labels: { queue: 'messages' }, value: read(message_queue) },
    { labels: { queue: 'deliveries' }, value: read(delivery_queue) },
  ]
}
