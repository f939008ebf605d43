/**
 * Adds the matchers to jest's global `expect`: name `@svc/testkit/jest` in `setupFilesAfterEnv`.
 * If `expect` is not global, add them yourself: `expect.extend(matchers)`.
 */
import type {} from 'expect'
import { matchers, type WebhookMatchers } from './matchers.ts'

export { type ForgeryOptions, matchers, type WebhookMatchers } from './matchers.ts'

const { expect } = globalThis as { expect?: { extend?(more: typeof matchers): void } }
expect?.extend?.(matchers)

declare module 'expect' {
  interface Matchers<R extends void | Promise<void>, T = unknown> extends WebhookMatchers {}
}

declare global {
  namespace jest {
    interface Matchers<R, T> extends WebhookMatchers {}
  }
}
