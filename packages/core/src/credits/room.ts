import { invalid } from '../contract/errors.ts'
import { formatCredits, UNITS_PER_CREDIT, type Units } from '../contract/fields/units.ts'
import type { Operation } from '../rules/decide.ts'
import type { Writes } from '../storage/ports/storage.ts'

/**
 * How far from 0 gifts and corrections may bring a balance: 500,000,000 credits, half of what an account can count. The
 * other half is room for facts that nobody may refuse: purchases that were paid, refunds of what was sent, clawbacks.
 */
export const GIVEN_BALANCE_MAX = (500_000_000 * UNITS_PER_CREDIT) as Units

/**
 * Locks the account, and makes sure that a gift or correction leaves room on it. One that was booked before has its
 * answer already, and one that brings a balance nearer to 0 is always welcome.
 * @throws SvcError `validation_error`
 */
export async function assertRoom(
  { credits }: Pick<Writes, 'credits'>,
  workspaceId: string,
  { kind, amount, reference }: Operation,
): Promise<void> {
  const account = await credits.lock(workspaceId)
  const after = (account?.balance ?? 0) + amount
  const isOutwards = Math.sign(after) === Math.sign(amount)
  if (Math.abs(after) <= GIVEN_BALANCE_MAX || !isOutwards) return
  const about = await credits.entriesAbout(workspaceId, [reference.id])
  const { type, n } = reference
  if (about.some((each) => each.kind === kind && each.ref_type === type && each.ref_n === n)) return
  const max = formatCredits(GIVEN_BALANCE_MAX)
  const where = amount > 0 ? `above ${max}` : `below -${max}`
  throw invalid('amount', `This would bring the balance ${where} credits`)
}
