import type { Core } from '@svc/core'
import { UNITS_PER_CREDIT } from '@svc/core/contract'
import type { Overview, ProviderStatus } from '@svc/core/operate'
import type { Registry } from 'prom-client'
import { register, type Sample } from './series.ts'

/** What stands in the database. */
interface Standing {
  overview: Overview
  providers: ProviderStatus[]
}

/** So long what was read is shown again: several may scrape. */
const KEPT_MS = 2_000

/** A scrape waits no longer for the database. */
const WAIT_MAX_MS = 2_000

/**
 * Gauges of what stands in the database, for all its servers alike. `look` is to be called before they are read; it
 * never throws, and while the database does not answer they have no value and `svc_database_up` is 0.
 */
export function overviewMetrics(
  registry: Registry,
  core: Pick<Core, 'overviews' | 'providers'>,
): { look(): Promise<void> } {
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
    register(registry, { name, help, type: 'gauge' }, () => (standing ? samples(standing) : []))
  }
  registerStanding(gauge)
  register(
    registry,
    { name: 'svc_database_up', help: 'Whether the database answers, 1 or 0.', type: 'gauge' },
    () => [{ labels: {}, value: standing ? 1 : 0 }],
  )

  return {
    async look() {
      if (performance.now() - read_at < KEPT_MS && standing) return
      // One at a time: a database that hangs is not asked again for each scrape.
      reading ??= read()
      if (!(await isDone(reading, WAIT_MAX_MS))) standing = null
    },
  }
}

function registerStanding(
  gauge: (name: string, help: string, samples: (standing: Standing) => Sample[]) => void,
): void {
  gauge('svc_workspaces', 'Workspaces there are.', ({ overview }) => [
    one(overview.credits.workspaces),
  ])
  gauge('svc_workspaces_frozen', 'Workspaces that may not spend.', ({ overview }) => [
    one(overview.credits.frozen),
  ])
  gauge(
    'svc_credits_balance',
    'Credits on all accounts, what is held included.',
    ({ overview }) => [one(overview.credits.balance / UNITS_PER_CREDIT)],
  )
  gauge('svc_credits_held', 'Credits that are set aside on all accounts.', ({ overview }) => [
    one(overview.credits.held / UNITS_PER_CREDIT),
  ])
  gauge('svc_queue_waiting', 'What is in a queue, due or not.', ({ overview }) =>
    byQueue(overview, ({ waiting }) => waiting),
  )
  gauge('svc_queue_due', 'What should be under way already.', ({ overview }) =>
    byQueue(overview, ({ due }) => due),
  )
  gauge('svc_queue_oldest_due_seconds', 'How long the longest-waiting is due.', ({ overview }) =>
    byQueue(overview, ({ oldest_due_at }) =>
      oldest_due_at ? Math.max(0, (overview.at.getTime() - oldest_due_at.getTime()) / 1000) : 0,
    ),
  )
  gauge(
    'svc_outcome_unknown',
    'Messages of which it is unknown whether a provider has them.',
    (of) => [one(of.overview.message_queue.unknown)],
  )
  gauge('svc_messages', 'Messages in the history, by their status now.', ({ overview }) =>
    overview.messages.map(({ channel, status, count }) => ({
      labels: { channel, status },
      value: count,
    })),
  )
  gauge('svc_webhooks', 'Webhooks, by how they do.', ({ overview }) =>
    Object.entries(overview.webhooks).map(([status, value]) => ({ labels: { status }, value })),
  )
  gauge('svc_provider_paused', 'Whether all of a provider or a sender is paused, 1 or 0.', (of) =>
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

async function isDone(work: Promise<void>, max_ms: number): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<false>((resolve) => {
    timer = setTimeout(resolve, max_ms, false)
  })
  try {
    return await Promise.race([work.then(() => true), late])
  } finally {
    clearTimeout(timer)
  }
}
