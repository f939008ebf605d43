import { LIMITS } from '../contract/limits.ts'
import type { AuditAction } from '../contract/resources/audit.ts'
import type { DomainRecordPurpose } from '../contract/resources/domains.ts'
import type { RecordFinding } from '../rows/domains.ts'
import type { SendingDomainRow } from '../rows/rows.ts'

/** What a check saw of each record; null if no server answered. A record without an entry was not looked up. */
export type Seen = Partial<Record<DomainRecordPurpose, RecordFinding | null>>

/** The result of a check of a domain. */
export interface CheckPlan {
  change: Partial<SendingDomainRow>
  /** Whether the domain needs the claim of its name, gives it up, or neither. */
  claim: 'take' | 'release' | null
  /** The audit entries of the change, in order. */
  actions: AuditAction[]
}

const GRACE_MS = LIMITS.domain_grace_s * 1000

/** Whether e-mails may have addresses of the domain now. */
export function isUsable(
  row: Pick<SendingDomainRow, 'status' | 'failing_since'>,
  now: Date,
): boolean {
  if (row.status === 'verified') return true
  return row.status === 'failing' && !isOver(row.failing_since, now)
}

/** The end of the grace period; null if the domain is not failing. */
export function acceptedUntil({
  status,
  failing_since,
}: Pick<SendingDomainRow, 'status' | 'failing_since'>): Date | null {
  if (status !== 'failing' || failing_since === null) return null
  return new Date(failing_since.getTime() + GRACE_MS)
}

/**
 * Decides what a check changes. A verified second key replaces the first. A domain whose key is not found fails after a
 * grace period. A check without an answer changes no state, unless the last answer is older than the grace period.
 */
export function planCheck(before: SendingDomainRow, seen: Seen, now: Date): CheckPlan {
  const { row, actions } = rotated({ ...before, findings: withSeen(before, seen) }, seen)
  const isAnswered = actions.length > 0 || (seen.dkim ?? null) !== null
  const isLost = !isAnswered && isOver(before.checked_at, now)
  const isFound = isAnswered && row.findings.dkim?.state === 'verified'
  const status = nextStatus(row, { isFound, isMissing: isLost || (isAnswered && !isFound), now })
  if (status !== before.status && status !== 'pending') actions.push(`domain.${status}`)
  const isHeld = status === 'verified' || status === 'failing'
  const change: Partial<SendingDomainRow> = {
    ...(actions.includes('domain.rotated') && keysOf(row)),
    findings: row.findings,
    status,
    check_error: isAnswered ? null : NO_ANSWER,
    checked_at: isAnswered ? now : before.checked_at,
    check_due_at: isHeld ? dueAfter(row, status, now) : null,
    verified_at: status === 'verified' && before.status !== 'verified' ? now : before.verified_at,
    failing_since: failingSince(before, status, now),
    ...(actions.length > 0 && { updated_at: now }),
  }
  return { change, claim: claimOf(status), actions }
}

const NO_ANSWER = 'No name server of the domain answered. The states are those of the check before.'

function isOver(since: Date | null, now: Date): boolean {
  return since !== null && now.getTime() - since.getTime() >= GRACE_MS
}

function withSeen({ findings }: SendingDomainRow, seen: Seen): SendingDomainRow['findings'] {
  const answered = Object.entries(seen).filter(([, finding]) => finding !== null)
  return { ...findings, ...Object.fromEntries(answered) }
}

/** The row with the second key in place of the first, if the second key was seen. */
function rotated(
  row: SendingDomainRow,
  seen: Seen,
): { row: SendingDomainRow; actions: AuditAction[] } {
  const { next_selector, next_private_key, next_public_key } = row
  const finding = seen.dkim_next
  if (finding?.state !== 'verified') return { row, actions: [] }
  if (next_selector === null || next_private_key === null || next_public_key === null) {
    return { row, actions: [] }
  }
  const { dkim_next: _, ...findings } = row.findings
  return {
    row: {
      ...row,
      selector: next_selector,
      private_key: next_private_key,
      public_key: next_public_key,
      next_selector: null,
      next_private_key: null,
      next_public_key: null,
      previous_selector: row.selector,
      findings: { ...findings, dkim: finding },
    },
    actions: ['domain.rotated'],
  }
}

function keysOf(row: SendingDomainRow): Partial<SendingDomainRow> {
  const { selector, private_key, public_key, previous_selector } = row
  const { next_selector, next_private_key, next_public_key } = row
  return {
    selector,
    private_key,
    public_key,
    previous_selector,
    next_selector,
    next_private_key,
    next_public_key,
  }
}

function nextStatus(
  { status, failing_since }: SendingDomainRow,
  { isFound, isMissing, now }: { isFound: boolean; isMissing: boolean; now: Date },
): SendingDomainRow['status'] {
  if (isFound) return 'verified'
  if (status === 'failing') return isOver(failing_since, now) ? 'failed' : 'failing'
  return status === 'verified' && isMissing ? 'failing' : status
}

function failingSince(
  { status: before, failing_since }: SendingDomainRow,
  status: SendingDomainRow['status'],
  now: Date,
): Date | null {
  if (status === 'failing') return before === 'failing' ? failing_since : now
  return status === 'failed' ? failing_since : null
}

function dueAfter(
  { next_selector }: SendingDomainRow,
  status: SendingDomainRow['status'],
  now: Date,
): Date {
  const isSoon = status === 'failing' || next_selector !== null
  const delay_s = isSoon ? LIMITS.domain_recheck_soon_s : LIMITS.domain_recheck_s
  return new Date(now.getTime() + delay_s * 1000)
}

function claimOf(status: SendingDomainRow['status']): CheckPlan['claim'] {
  if (status === 'verified') return 'take'
  return status === 'failed' ? 'release' : null
}
