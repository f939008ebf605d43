import type { Purchase } from '@svc/core'
import {
  type OperatorAuditEntry as AuditEntry,
  createHistory,
  type DecodedCore,
  findingsOf,
  isSilent,
  type ProviderStatus,
  type Reading,
  readOnce,
} from '@svc/core/operate'
import type * as z from 'zod'
import { priceText } from '../../pages/payment-html.ts'
import type { auditEntry, overview, provider, purchase, Rates } from './answers.ts'

/** The state of the service for the pages of operators, with the rates of the last minutes. */
interface Readings {
  /** A reading of the database of at most a second ago: several pages share it. */
  read(): Promise<Reading>
  /** The next reading is of now: something was changed. */
  forget(): void
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
    forget() {
      reading = null
    },
    async overview() {
      const found = await read()
      const { credits } = found.overview
      const total = (series: keyof Rates) => history.total(series, null)
      const findings = findingsOf(found, history)
      const { failures, webhooks } = found.troubles
      const nameOf = await namesOf(core, [...findings, ...failures, ...webhooks])
      return {
        ...found.overview,
        findings: findings.map(nameOf),
        rates: history.rates(null),
        totals: {
          accepted: total('accepted'),
          sent: total('sent'),
          delivered: total('delivered'),
          failed: total('failed'),
        },
        providers: providersOf(found),
        credits: { ...credits, balance: creditsOf(credits.balance), held: creditsOf(credits.held) },
        troubled_webhooks: webhooks
          .map(nameOf)
          .map(({ url, ...webhook }) => ({ ...webhook, host: new URL(url).host })),
        failures: failures.map(nameOf).map((failure) => ({
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

type Provider = z.output<typeof provider>

const NO_CALLS: Provider['recent'] = {
  ...{ period_s: 0, accepted: 0, rejected: 0, retried: 0, unknown: 0 },
  ...{ last_error: null, unanswered: null },
}

/** The providers of the settings, and others that have messages, such as the sandbox. */
export function providersOf({ overview, troubles }: Reading): Provider[] {
  const { at, provider_queues } = overview
  const statuses = new Map(troubles.providers.map((status) => [status.name, status]))
  return provider_queues.map(({ provider: name, ...queue }) => {
    const status = statuses.get(name)
    const recent = status?.recent ?? NO_CALLS
    return {
      name,
      type: status?.type ?? name,
      channels: status?.channels ?? [],
      state: stateOf(status, isSilent(queue, recent.unanswered, at)),
      messages_per_second: status?.messages_per_second ?? null,
      pauses: (status?.pauses ?? []).map((pause) => ({
        ...pause,
        sender: pause.sender || null,
      })),
      connections: status?.connections ?? [],
      queue,
      recent,
    }
  })
}

/** Adds the names of workspaces to what has their ids. */
export async function namesOf(
  { workspaces }: DecodedCore,
  all: readonly { workspace_id: string | null }[],
) {
  const ids = all.flatMap(({ workspace_id }) => workspace_id ?? [])
  const names = await workspaces.names([...new Set(ids)])
  return <One extends { workspace_id: string | null }>(one: One) => ({
    ...one,
    workspace_name: names.get(one.workspace_id ?? '') ?? null,
  })
}

/** Purchases with the names of their workspaces. */
export async function purchasesOf(
  core: DecodedCore,
  found: readonly Purchase[],
): Promise<z.output<typeof purchase>[]> {
  const nameOf = await namesOf(core, found)
  return found.map((one) => ({
    ...nameOf(one),
    price: priceText(one),
    review_reason: one.review_reason ?? '',
  }))
}

function stateOf(status: ProviderStatus | undefined, isSilent: boolean): Provider['state'] {
  const whole = status?.pauses.find(({ sender }) => sender === '')
  if (whole) return whole.cause === 'operator' ? 'paused' : 'refused'
  return isSilent ? 'silent' : 'active'
}

export function auditOf(entry: AuditEntry): z.output<typeof auditEntry> {
  const { target, details } = entry
  const shown = Object.entries(details)
    .filter(([, value]) => value !== null)
    .map(([name, value]) => `${name}: ${plain(value)}`)
  return {
    ...entry,
    target: target && `${target.type} ${target.id}`,
    details: shown.join(', '),
  }
}

function plain(value: unknown): string {
  if (Array.isArray(value)) return value.join(', ')
  return typeof value === 'object' && value !== null ? JSON.stringify(value) : String(value)
}
