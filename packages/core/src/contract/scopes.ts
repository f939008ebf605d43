/** What an API key can be allowed to do. Source: interface, API key. */
export const SCOPES = [
  'send_messages',
  'read_messages',
  'manage_contacts',
  'manage_webhooks',
] as const

/** One permission of an API key. */
export type Scope = (typeof SCOPES)[number]

/** What a key may do that is created without `scopes`: a test key reads and writes messages. Source: contract section 9. */
export const DEFAULT_SCOPES = {
  live: SCOPES,
  test: ['send_messages', 'read_messages'],
} as const satisfies Record<'live' | 'test', readonly Scope[]>
