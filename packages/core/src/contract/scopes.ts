/** What an API key can be allowed to do. Source: interface, API key. */
export const SCOPES = [
  'send_messages',
  'read_messages',
  'manage_contacts',
  'manage_webhooks',
] as const

/** One permission of an API key. */
export type Scope = (typeof SCOPES)[number]
