import type { Revoked } from '@svc/core'

/** The sentences about what a verification or a reset ended; empty if it ended nothing. */
export function revokedText(revoked: Revoked): string {
  const { api_keys, webhooks, links, invitations, members } = revoked
  const ended = [
    endedOf(api_keys, 'API key', 'revoked'),
    endedOf(webhooks, 'webhook', 'disabled'),
    endedOf(links, 'link to a sign-in provider', 'ended', 'links to sign-in providers'),
    endedOf(invitations, 'invitation', 'withdrawn'),
    endedOf(members, 'member', 'removed'),
  ].filter((text) => text !== '')
  if (ended.length === 0) return ''
  const next = [
    ...(api_keys > 0 ? ['Create new keys'] : []),
    ...(webhooks > 0 ? ['Enable the webhooks that are yours'] : []),
    ...(invitations + members > 0 ? ['Invite the people of your team again'] : []),
  ]
  const last = ended.pop()
  const list = ended.length > 0 ? `${ended.join(', ')} and ${last}` : last
  return ` ${[list, ...next].join('. ')}.`
}

function endedOf(n: number, thing: string, verb: string, things = `${thing}s`): string {
  if (n === 0) return ''
  return n === 1 ? `1 ${thing} was ${verb}` : `${n} ${things} were ${verb}`
}
