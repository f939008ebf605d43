import {
  webhookHandler as receive,
  type WebhookAdapters,
  type WebhookHandlerOptions,
} from '@svc/client'

let isNoticed = false

/**
 * The handler of `@svc/client`. The first call prints a notice.
 *
 * @deprecated Import it from `@svc/client`: a handler for production does not belong to a test kit.
 * @throws Error when the secret is missing or unusable, or when there is no function.
 */
export function webhookHandler(options: WebhookHandlerOptions): WebhookAdapters {
  if (!isNoticed) {
    isNoticed = true
    const notice = 'webhookHandler of @svc/testkit is deprecated: import it from @svc/client'
    process.emitWarning(notice, 'DeprecationWarning', 'SVC_TESTKIT_HANDLER')
  }
  return receive(options)
}
