import { beforeAll, expect } from 'vitest'
import { type Account, bulk, sms } from './accounts.ts'
import type { CallOptions } from './call.ts'
import type { Answer } from './every-answer.ts'
import type { World } from './world.ts'

export const SEND = '/api/v1/messages/send'
const BULK = '/api/v1/messages/bulk'
const ESTIMATE = '/api/v1/messages/estimate'

/** A valid body for every endpoint that takes one. */
export const BODIES = [
  ['/api/v1/auth/signup', { email: 'a@b.example', password: 'long enough', company_name: 'A' }],
  ['/api/v1/auth/login', { email: 'a@b.example', password: 'long enough' }],
  ['/api/v1/auth/verify-email', { token: 'a' }],
  ['/api/v1/auth/resend-verification', { email: 'a@b.example' }],
  ['/api/v1/auth/forgot-password', { email: 'a@b.example' }],
  ['/api/v1/auth/reset-password', { token: 'a', password: 'long enough' }],
  ['/api/v1/auth/change-password', { current_password: 'a', new_password: 'long enough' }],
  ['/api/v1/api-keys', { name: 'A' }],
  ['/api/v1/webhooks', { url: 'https://a.example/' }],
  ['/api/v1/domains', { domain: 'a.example' }],
  ['/api/v1/billing/checkout', { package_id: 'starter' }],
  [SEND, sms],
  [BULK, bulk],
  [ESTIMATE, sms],
] as const

/** A caller with credits and all credentials. */
export function usePoster(world: () => World) {
  let owner: Account
  let key: string
  beforeAll(async () => {
    owner = await world().signup({ credits: 1_000 })
    key = (await world().key(owner)).key
  })
  const post = (path: string, options: CallOptions): Promise<Answer> => {
    const credential = path.startsWith('/api/v1/messages/') ? { key } : { token: owner.token }
    return world().call('POST', path, { ...credential, ...options })
  }
  return {
    post,
    get: (path: string) => world().call('GET', path, { key }),
    /** Posts; expects a 400 with this text and path, and no write. */
    async expectRefused(
      path: string,
      options: CallOptions,
      message: string,
      where: unknown = expect.any(String),
    ): Promise<void> {
      const before = await world().written(owner)
      const answer = await post(path, options)
      expect(answer.status).toBe(400)
      expect(answer.body).toMatchObject({ error: 'validation_error', message })
      expect(answer.body.details[0]).toStrictEqual({ path: where, message })
      expect(await world().written(owner)).toStrictEqual(before)
    },
  }
}
