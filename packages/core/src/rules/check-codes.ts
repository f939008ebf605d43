import type { EventKind } from '../contract/resources/events.ts'
import type { VerificationCountRow, VerificationRow } from '../rows/rows.ts'
import { type FanOut, fanOut, type Happening, type SubscribedWebhook } from './deliveries.ts'
import { addedCount, type Checked, codeKeys, decideCheck } from './verify.ts'

/** A given code. */
export interface CodeCheck extends Pick<VerificationRow, 'workspace_id' | 'livemode'> {
  /** The id of the verification; or its address, whose newest verification after `since` is checked. */
  of: { id: string } | { recipient: string; since: Date }
  /** Whether the code is right. Called for an unknown verification too, so that it takes the time of a known one. */
  isRight(row: VerificationRow | null): boolean
  at: Date
}

/** What decides about checks. */
export interface CheckState {
  /** The verifications that a batch of checks is about. */
  verifications: readonly VerificationRow[]
  subscribers: ReadonlyMap<string, readonly SubscribedWebhook[]>
  keeps_events: boolean
}

/** The result of a check, with the verification after it; null: unknown. */
export type CheckResult = { status: Checked['status']; verification: VerificationRow } | null

export interface CheckPlan extends FanOut {
  results: CheckResult[]
  /** Each verification that changes, once. */
  changed: VerificationRow[]
  counts: VerificationCountRow[]
}

/** Decides about checks one after another, so that a batch of guesses gets no more attempts than single guesses. */
export function planChecks(
  checks: readonly CodeCheck[],
  { verifications, subscribers, keeps_events }: CheckState,
  newId: () => string,
): CheckPlan {
  const rows = new Map(verifications.map((row) => [keyOf(row), row]))
  const newest = newestOf(verifications)
  const findIn = ({ workspace_id, livemode, of }: CodeCheck): VerificationRow | null => {
    if ('id' in of) {
      const row = rows.get(keyOf({ workspace_id, id: of.id }))
      return row?.livemode === livemode ? row : null
    }
    const { address } = codeKeys({ ...NOWHERE, workspace_id, livemode, recipient: of.recipient })
    const key = newest.get(address)
    const row = key === undefined ? undefined : rows.get(key)
    return row && row.created_at > of.since ? row : null
  }
  const changed = new Map<string, VerificationRow>()
  const counts = new Map<string, VerificationCountRow>()
  const announced: FanOut = { events: [], deliveries: [], delivery_queue: [] }
  const results = checks.map((check): CheckResult => {
    const { workspace_id, at } = check
    const row = findIn(check)
    const isRight = check.isRight(row)
    if (!row) return null
    const decided = decideCheck(row, isRight, at)
    if (decided.changed) {
      rows.set(keyOf(row), decided.changed)
      changed.set(keyOf(row), decided.changed)
      const end = endOf(decided.changed)
      const theirs = subscribers.get(workspace_id) ?? []
      if (end) fanOut(announced, end, theirs, { at, newId, keeps: keeps_events })
    }
    if (decided.count) {
      const key = `${workspace_id}\n${decided.count.country}\n${decided.count.hour.getTime()}`
      counts.set(key, addedCount(counts.get(key), decided.count))
    }
    return { status: decided.status, verification: decided.changed ?? row }
  })
  return { ...announced, results, changed: [...changed.values()], counts: [...counts.values()] }
}

const NOWHERE = { country: null, client_network: null }

function keyOf({ workspace_id, id }: Pick<VerificationRow, 'workspace_id' | 'id'>): string {
  return `${workspace_id}\n${id}`
}

/** The key of the newest verification of each address. The code of another service is not checked here. */
function newestOf(verifications: readonly VerificationRow[]): Map<string, string> {
  const newest = new Map<string, VerificationRow>()
  for (const row of verifications.filter(({ status }) => status !== 'external')) {
    const { address } = codeKeys(row)
    const known = newest.get(address)
    if (!known || isNewer(row, known)) newest.set(address, row)
  }
  return new Map([...newest].map(([address, row]) => [address, keyOf(row)]))
}

function isNewer(a: VerificationRow, b: VerificationRow): boolean {
  const later_ms = a.created_at.getTime() - b.created_at.getTime()
  return later_ms > 0 || (later_ms === 0 && a.id > b.id)
}

/** The events about ends; null: none. */
const END_EVENTS = {
  pending: null,
  canceled: null,
  external: null,
  approved: 'verification.approved',
  expired: 'verification.expired',
  max_attempts: 'verification.failed',
} as const satisfies Record<VerificationRow['status'], EventKind | null>

type EndEvent = Exclude<(typeof END_EVENTS)[VerificationRow['status']], null>

/** What happened at the end of a verification; null if there is no event for it. */
export function endOf(row: VerificationRow): Happening<EndEvent> | null {
  const event = END_EVENTS[row.status]
  if (event === null) return null
  const { workspace_id, id, recipient, channel, status, attempts, credits_used } = row
  const { metadata, livemode, updated_at: occurred_at } = row
  return {
    event,
    workspace_id,
    message_id: null,
    data: {
      ...{ verification_id: id, to: recipient, channel, status, attempts, credits_used },
      ...{ metadata, livemode, occurred_at },
    },
  }
}
