import { createHash } from 'node:crypto'
import type { KeyIdentity } from '../api-keys/api-keys.ts'
import { invalid, SvcError } from '../contract/errors.ts'
import { formatCredits, type Units } from '../contract/fields/units.ts'
import type { AcceptRequest, AcceptResult, IdempotencyRecord } from '../rules/accept.ts'
import type { Storage } from '../storage/ports/storage.ts'
import { testQuotaExceeded } from './test-usage.ts'

/** What an endpoint did, or what it did when the same was asked before. */
export interface Answered<Data> {
  data: Data
  replayed: boolean
}

/**
 * Hands one request to the storage and turns a refusal into the contract's error; who is suppressed is for the caller
 * to name.
 */
export async function acceptOne(
  storage: Storage,
  request: AcceptRequest,
  at: Date,
): Promise<Extract<AcceptResult, { outcome: 'accepted' | 'replayed' | 'suppressed' }>> {
  const [result] = await storage.hot.accept([request])
  switch (result?.outcome) {
    case 'accepted':
    case 'replayed':
    case 'suppressed':
      return result
    case 'key_reused':
      throw keyReused()
    case 'account_frozen':
      throw new SvcError('forbidden', 'This workspace is frozen. Please contact support.')
    case 'insufficient_credits':
      throw notEnough(result.required, `have ${formatCredits(result.available)}.`)
    case 'daily_limit': {
      const left = Math.max(0, result.limit - result.spent) as Units
      const whose = result.of === 'api_key' ? ' with this API key' : ''
      throw notEnough(result.required, `have ${formatCredits(left)} left today${whose}.`)
    }
    case 'test_quota':
      throw testQuotaExceeded(result, at)
    default:
      throw new Error('the storage answered nothing')
  }
}

function notEnough(required: Units, but: string): SvcError {
  return new SvcError(
    'insufficient_credits',
    `Not enough credits. You need ${formatCredits(required)} credits but ${but}`,
  )
}

/**
 * What was answered to the same request before; null where nothing was. Asked before the work of a large request: what
 * it depends on may have changed since, and the answer stands all the same.
 * @throws SvcError `validation_error` where the key came with another request.
 */
export async function answerBefore(
  { read: { idempotencyRecords } }: Pick<Storage, 'read'>,
  { workspace_id, mode }: KeyIdentity,
  key: string | undefined,
  { route, request }: { route: string; request: unknown },
): Promise<string | null> {
  if (key === undefined) return null
  const found = await idempotencyRecords.byKey(workspace_id, { route: routeFor(mode, route), key })
  if (found && found.request_hash !== requestHash(request)) throw keyReused()
  return found?.response ?? null
}

/** What is kept of an answer for whoever repeats its `Idempotency-Key`; null without one. */
export function answerFor(
  identity: KeyIdentity,
  key: string | undefined,
  { route, request, response }: { route: string; request: unknown; response: () => unknown },
): IdempotencyRecord | null {
  if (key === undefined) return null
  return {
    route: routeFor(identity.mode, route),
    key,
    request_hash: requestHash(request),
    response: JSON.stringify(response()),
  }
}

// A rehearsal with a test key must not swallow the real thing.
function routeFor(mode: KeyIdentity['mode'], route: string): string {
  return mode === 'test' ? `${route} test` : route
}

function keyReused(): SvcError {
  return invalid('Idempotency-Key', 'This Idempotency-Key was used with another request body')
}

/** Recognises a repeated request whatever the order of its fields. */
function requestHash(request: unknown): string {
  return createHash('sha256')
    .update(JSON.stringify(sorted(request)))
    .digest('hex')
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted)
  if (typeof value !== 'object' || value === null || value instanceof Date) return value
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))
  return { object: entries.map(([key, inner]) => [key, sorted(inner)]) }
}
