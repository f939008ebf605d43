import type { CreditAccount, Purchase } from '@svc/core'
import { creditsOf, type Workspace } from '@svc/core/contract'
import {
  type OperatorAuditEntry as AuditEntry,
  type DispatchPause,
  isSilent,
  type ProviderStatus,
  type Reading,
} from '@svc/core/operate'
import { priceText } from '../../pages/payment-html.ts'
import type {
  OperatorAuditEntry,
  OperatorPause,
  OperatorProvider,
  OperatorPurchase,
  OperatorWorkspace,
} from './wire.ts'

/** A time in JSON. */
export function textOf(at: Date): string {
  return at.toISOString()
}

export function timeOf(at: Date | null): string | null {
  return at && textOf(at)
}

/** The providers of the settings, and others that have messages, such as the sandbox. */
export function providersOf({ overview, troubles }: Reading): OperatorProvider[] {
  const { at, provider_queues } = overview
  const statuses = new Map(troubles.providers.map((status) => [status.name, status]))
  return provider_queues.map(({ provider: name, oldest_unknown_at: _, ...queue }) => {
    const status = statuses.get(name)
    return {
      name,
      type: status?.type ?? name,
      channels: [...(status?.channels ?? [])],
      state: stateOf(status, isSilent(queue, at)),
      messages_per_second: status?.messages_per_second ?? null,
      pauses: (status?.pauses ?? []).map((pause) => ({
        ...pause,
        sender: pause.sender || null,
        retry_at: timeOf(pause.retry_at),
        created_at: textOf(pause.created_at),
      })),
      connections: (status?.connections ?? []).map(({ name, state }) => ({ name, state })),
      queue: {
        ...queue,
        oldest_waiting_at: timeOf(queue.oldest_waiting_at),
        oldest_call_at: timeOf(queue.oldest_call_at),
      },
      recent: recentOf(status),
    }
  })
}

export function purchaseOf(purchase: Purchase): OperatorPurchase {
  const { id, workspace_id, status, payment_id } = purchase
  return {
    ...{ id, workspace_id, status, payment_id },
    credits: creditsOf(purchase.credits),
    price: priceText(purchase),
    review_reason: purchase.review_reason ?? '',
    created_at: textOf(purchase.created_at),
  }
}

function stateOf(status: ProviderStatus | undefined, isSilent: boolean): OperatorProvider['state'] {
  const whole = status?.pauses.find(({ sender }) => sender === '')
  if (whole) return whole.cause === 'operator' ? 'paused' : 'refused'
  return isSilent ? 'silent' : 'active'
}

function recentOf(status: ProviderStatus | undefined): OperatorProvider['recent'] {
  const none = { period_s: 0, accepted: 0, rejected: 0, retried: 0, unknown: 0, last_error: null }
  const { last_error, ...recent } = status?.recent ?? none
  return { ...recent, last_error: last_error && { ...last_error, at: textOf(last_error.at) } }
}

export function pauseOf(pause: DispatchPause | null): OperatorPause | null {
  return (
    pause && { ...pause, backup_at: timeOf(pause.backup_at), created_at: textOf(pause.created_at) }
  )
}

export function workspaceOf(workspace: Workspace, account: CreditAccount): OperatorWorkspace {
  const { id, name, email, email_verified, created_at } = workspace
  const { status, frozen_reason, daily_limit } = account
  return {
    id,
    name,
    email,
    email_verified,
    created_at: textOf(created_at),
    available: creditsOf(account.available),
    held: creditsOf(account.held),
    status,
    frozen_reason,
    credit_limit: creditsOf(account.credit_limit),
    daily_limit: daily_limit === null ? null : creditsOf(daily_limit),
    spent_today: creditsOf(account.spent_today),
  }
}

export function auditOf(entry: AuditEntry): OperatorAuditEntry {
  const { id, workspace_id, action, actor, address, target, details, created_at } = entry
  const shown = Object.entries(details).map(([name, value]) => `${name}: ${plain(value)}`)
  return {
    id,
    workspace_id,
    action,
    actor,
    address,
    target: target && `${target.type} ${target.id}`,
    details: shown.join(', '),
    created_at: textOf(created_at),
  }
}

function plain(value: unknown): string {
  if (Array.isArray(value)) return value.join(', ')
  return typeof value === 'object' && value !== null ? JSON.stringify(value) : String(value)
}
