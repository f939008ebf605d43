import type { Units } from '../contract/fields/units.ts'
import { grantOperation } from '../credits/bookings.ts'
import type { Runtime } from '../runtime/runtime.ts'
import type { Writes } from '../storage/ports/storage.ts'

/** The values of `signup_credits_on`. */
export const SIGNUP_CREDITS_ON = ['signup', 'verification'] as const
/** The event that grants a new workspace its first credits. */
export type SignupCreditsOn = (typeof SIGNUP_CREDITS_ON)[number]

/** The numbers of what a verification or a reset ended. */
export interface Revoked {
  api_keys: number
  webhooks: number
  /** Ended links to OIDC subjects. */
  links: number
  /** Withdrawn invitations. */
  invitations: number
  /** Removed members. */
  members: number
}

export const NOTHING_REVOKED: Revoked = {
  api_keys: 0,
  webhooks: 0,
  links: 0,
  invitations: 0,
  members: 0,
}

/** The `disabled_reason` of a disabled webhook. */
type RevocationReason = 'email_verified' | 'password_reset'

/** Revokes every API key and disables every webhook of a workspace. */
export async function revokeAll(
  { apiKeys, webhooks }: Pick<Writes, 'apiKeys' | 'webhooks'>,
  workspaceId: string,
  disabled: { reason: RevocationReason; at: Date },
): Promise<Pick<Revoked, 'api_keys' | 'webhooks'>> {
  return {
    api_keys: await apiKeys.deactivateAll(workspaceId),
    webhooks: await webhooks.disableAll(workspaceId, disabled),
  }
}

/** Grants a workspace its first credits; repeated calls grant nothing more. */
export async function grantSignupCredits(
  runtime: Pick<Runtime, 'id' | 'now'>,
  { credits }: Pick<Writes, 'credits'>,
  { workspace_id, amount }: { workspace_id: string; amount: Units },
): Promise<void> {
  if (amount === 0) return
  const gift = grantOperation(runtime, {
    amount,
    reference: { type: 'signup', id: workspace_id, n: 0 },
    campaign: 'signup',
    actor: null,
    description: 'Credits on signup',
  })
  await credits.post(workspace_id, gift)
}
