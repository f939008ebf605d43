import { createCore } from '@svc/core'

/** The path of the HTTP API in this app. */
export const PREFIX = '/messaging'

/** The address at which clients and providers reach the API. */
export const public_url = () => process.env.PUBLIC_URL ?? `http://127.0.0.1:8080${PREFIX}`

/** Opens the core. Without `providers`, messages stay in the sandbox. */
export function openCore() {
  return createCore({
    database_url: process.env.DATABASE_URL ?? 'file:./svc.db',
    signup_credits: '100',
    public_url,
    providers: JSON.parse(process.env.PROVIDERS ?? '[]'),
  })
}
