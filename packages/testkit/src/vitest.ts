/** Adds the matchers to vitest's `expect`: `import '@svc/testkit/vitest'`, or name it in `setupFiles`. */
import { expect } from 'vitest'
import { matchers, type WebhookMatchers } from './matchers.ts'

export { type ForgeryOptions, matchers, type WebhookMatchers } from './matchers.ts'

expect.extend(matchers)

declare module 'vitest' {
  interface Matchers<T> extends WebhookMatchers {}
}
