import { invalid, SvcError } from '../contract/errors.ts'
import { formatCredits, units } from '../contract/fields/units.ts'
import { countryName } from '../prices/price.ts'
import type { VerificationRow } from '../rows/rows.ts'
import { type CodeRefusal, NO_COUNTRY } from '../rules/verify.ts'

export const NOT_FOUND = 'Verification not found'

/** Throws the error of a refusal; returns every other result. */
export function refusedCode<Result extends { outcome: string }>(
  result: Result | undefined,
): Exclude<Result, CodeRefusal> {
  if (result === undefined) throw new Error('the storage returned no result')
  const refusal = result as unknown as CodeRefusal
  switch (refusal.outcome) {
    case 'code_over':
      throw overError(refusal.verification)
    case 'code_limit':
      throw new SvcError(
        'rate_limit_exceeded',
        `Rate limit exceeded. Try again in ${refusal.retry_after_s} seconds. Too many codes were ${refusal.of === 'recipient' ? 'sent to this address' : 'requested from this network'}.`,
        {
          retry_after_s: refusal.retry_after_s,
          reason: refusal.of === 'recipient' ? 'codes_of_address' : 'codes_of_network',
        },
      )
    case 'code_country':
      throw invalid(
        'to',
        refusal.country === NO_COUNTRY
          ? 'One-time codes to numbers of no known country are not allowed'
          : `One-time codes to ${countryName(refusal.country)} are not allowed`,
        'codes_country',
      )
    case 'code_credits': {
      const left = formatCredits(units(Math.max(0, refusal.limit - refusal.spent)))
      throw new SvcError(
        'insufficient_credits',
        `Not enough credits. You need ${formatCredits(refusal.required)} credits but have ${left} left today for one-time codes.`,
        { reason: 'codes_daily_credits' },
      )
    }
    case 'country_paused':
      throw new SvcError(
        'forbidden',
        `One-time codes to ${refusal.country === NO_COUNTRY ? 'numbers of no known country' : countryName(refusal.country)} are paused, because too few of them were approved. The pause ends at ${refusal.ends_at.toISOString()}, or when some are approved. Please contact support.`,
        { reason: 'codes_paused' },
      )
    default:
      return result as Exclude<Result, CodeRefusal>
  }
}

/** The error about a verification that is not pending; null: there is none. */
export function overError(row: VerificationRow | null): SvcError {
  if (!row) return new SvcError('not_found', NOT_FOUND)
  const status = row.status === 'pending' ? 'expired' : row.status
  return invalid('id', `The verification is not pending: it is ${status}`)
}
