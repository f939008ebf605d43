import type { Delivery } from '@svc/client'
import { t } from '../../shell/text.ts'
import { wordOf } from '../../shell/words.ts'

type Answer = Pick<Delivery, 'response_status' | 'error'>

const FAILURES: Record<string, string> = {
  connect: t('no connection'),
  dns: t('unknown host'),
  tls: t('TLS failed'),
  timeout: t('no answer in time'),
  reset: t('connection ended'),
  blocked_target: t('address not allowed'),
  test_limit: t('the limit of test deliveries is reached'),
}

/** The answer of the receiver, or the reason why there is none. */
export function answerText({ response_status: status, error }: Answer): string {
  return status === null ? (FAILURES[error ?? ''] ?? wordOf(error ?? '')) : `${status}`
}
