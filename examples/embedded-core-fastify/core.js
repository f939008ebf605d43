import { createCore } from '@svc/core'

/** Opens the core. Without `providers`, messages stay in the sandbox. */
export function openCore() {
  return createCore({
    database_url: process.env.DATABASE_URL ?? 'file:./svc.db',
    signup_credits: '100',
    providers: JSON.parse(process.env.PROVIDERS ?? '[]'),
  })
}
