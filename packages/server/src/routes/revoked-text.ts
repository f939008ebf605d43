import type { Revoked } from '@svc/core'

/** The sentence about API keys and webhooks that a verification or a reset ended; empty if it ended nothing. */
export function revokedText({ api_keys, webhooks }: Revoked): string {
  const ended = [
    ...(api_keys > 0
      ? [`${api_keys} API ${api_keys === 1 ? 'key was' : 'keys were'} revoked`]
      : []),
    ...(webhooks > 0
      ? [`${webhooks} ${webhooks === 1 ? 'webhook was' : 'webhooks were'} disabled`]
      : []),
  ]
  if (ended.length === 0) return ''
  const next = [
    ...(api_keys > 0 ? ['Create new keys'] : []),
    ...(webhooks > 0 ? ['Enable the webhooks that are yours'] : []),
  ]
  return ` ${ended.join(' and ')}. ${next.join('. ')}.`
}
