import type { Units } from '../contract/fields/units.ts'
import { grantOperation } from '../credits/bookings.ts'
import type { Runtime } from '../runtime/runtime.ts'
import type { Writes } from '../storage/ports/storage.ts'

/** The values of `signup_credits_on`. */
export const SIGNUP_CREDITS_ON = ['signup', 'verification'] as const
/** When a new workspace gets its first credits. */
export type SignupCreditsOn = (typeof SIGNUP_CREDITS_ON)[number]

/** How many API keys were revoked and how many webhooks disabled. */
export interface Revoked {
  api_keys: number
  webhooks: number
}

/** Why a webhook was disabled, as its `disabled_reason` says. */
export type RevocationReason = 'email_verified' | 'password_reset'

/** Revokes every API key and disables every webhook that a workspace has by now. */
export async function revokeAll(
  { apiKeys, webhooks }: Pick<Writes, 'apiKeys' | 'webhooks'>,
  workspaceId: string,
  disabled: { reason: RevocationReason; at: Date },
): Promise<Revoked> {
  return {
    api_keys: await apiKeys.deactivateAll(workspaceId),
    webhooks: await webhooks.disableAll(workspaceId, disabled),
  }
}

/** Gives a workspace its first credits, once however often it is asked to. */
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
