import type { Scope } from './endpoint.ts'
import { mayDo, type Role } from './roles.ts'

/** The scopes with which a member uses the endpoints for API keys. */
export function scopesOf(role: Role): Scope[] {
  if (mayDo(role, 'develop')) {
    return ['send_messages', 'read_messages', 'manage_contacts', 'manage_webhooks']
  }
  return mayDo(role, 'read') ? ['read_messages'] : []
}
