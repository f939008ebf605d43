import type { Purchase } from '@svc/core'
import {
  type OperatorAuditEntry as AuditEntry,
  isSilent,
  type ProviderStatus,
  type Reading,
} from '@svc/core/operate'
import type * as z from 'zod'
import { priceText } from '../../pages/payment-html.ts'
import type { auditEntry, provider, purchase } from './answers.ts'

type Provider = z.output<typeof provider>

const NO_CALLS: Provider['recent'] = {
  ...{ period_s: 0, accepted: 0, rejected: 0, retried: 0, unknown: 0 },
  last_error: null,
}

/** The providers of the settings, and others that have messages, such as the sandbox. */
export function providersOf({ overview, troubles }: Reading): Provider[] {
  const { at, provider_queues } = overview
  const statuses = new Map(troubles.providers.map((status) => [status.name, status]))
  return provider_queues.map(({ provider: name, ...queue }) => {
    const status = statuses.get(name)
    return {
      name,
      type: status?.type ?? name,
      channels: status?.channels ?? [],
      state: stateOf(status, isSilent(queue, at)),
      messages_per_second: status?.messages_per_second ?? null,
      pauses: (status?.pauses ?? []).map((pause) => ({
        ...pause,
        sender: pause.sender || null,
      })),
      connections: status?.connections ?? [],
      queue,
      recent: status?.recent ?? NO_CALLS,
    }
  })
}

export function purchaseOf(found: Purchase): z.output<typeof purchase> {
  return { ...found, price: priceText(found), review_reason: found.review_reason ?? '' }
}

function stateOf(status: ProviderStatus | undefined, isSilent: boolean): Provider['state'] {
  const whole = status?.pauses.find(({ sender }) => sender === '')
  if (whole) return whole.cause === 'operator' ? 'paused' : 'refused'
  return isSilent ? 'silent' : 'active'
}

export function auditOf(entry: AuditEntry): z.output<typeof auditEntry> {
  const { target, details } = entry
  const shown = Object.entries(details).map(([name, value]) => `${name}: ${plain(value)}`)
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
