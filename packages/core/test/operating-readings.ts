import type { Reading } from '../src/overview/findings.ts'
import type { Overview, Troubles } from '../src/overview/overview.ts'

export const START = new Date('2026-05-04T09:00:00Z')

type Failure = Troubles['failures'][number]

export const idOf = (n: number) => `01934f5e-8c00-7a3b-9d2e-${String(n).padStart(12, '0')}`

/** A message that failed `n` seconds before `START`. */
export function failure(n: number, fields: Partial<Failure> = {}): Failure {
  const at = new Date(START.getTime() - n * 1000)
  return {
    id: idOf(n),
    workspace_id: idOf(900_000),
    channel: 'sms',
    recipient: `+1500555${String(n).padStart(4, '0')}`,
    provider: 'sandbox',
    error_code: 'undelivered',
    error_message: `The handset ${n} could not be reached`,
    ...{ bulk_id: null, bulk_name: null },
    created_at: at,
    failed_at: at,
    ...fields,
  }
}

/** A reading of a service without problems, with the given changes. */
export function reading(
  fields: { overview?: Partial<Overview>; troubles?: Partial<Troubles>; after_s?: number } = {},
): Reading {
  const at = new Date(START.getTime() + (fields.after_s ?? 0) * 1000)
  const empty = { waiting: 0, due: 0, oldest_due_at: null }
  return {
    overview: {
      at,
      messages: [],
      message_queue: { ...empty, unknown: 0 },
      delivery_queue: empty,
      provider_queues: [],
      credits: { workspaces: 1, frozen: 0, balance: 12_500_000, held: 0 },
      webhooks: { active: 1, failing: 0, disabled: 0 },
      pause: null,
      paused_countries: 0,
      ...fields.overview,
    },
    troubles: {
      providers: [],
      webhooks: [],
      failures: [],
      paused_countries: [],
      ...fields.troubles,
    },
  }
}

/** A paused provider. */
export function provider(
  name: string,
  pause: Partial<Troubles['providers'][number]['pauses'][number]> | null,
): Troubles['providers'][number] {
  const base = {
    sender: '',
    cause: 'operator' as const,
    code: null,
    reason: 'Maintenance',
    retry_at: null,
    created_at: new Date(START.getTime() - 240_000),
  }
  return {
    name,
    type: 'twilio',
    channels: ['sms'],
    senders: {},
    messages_per_second: null,
    pauses: pause ? [{ ...base, ...pause }] : [],
    recent: {
      ...{ period_s: 900, accepted: 0, rejected: 0, retried: 0, unknown: 0 },
      ...{ last_error: null, unanswered: null },
    },
    connections: [],
  }
}
