import type { WebhookFormatName } from '../../contract/resources/webhooks.ts'
import type { WebhookFormat } from './format.ts'
import { resendFormat } from './resend.ts'
import { svcFormat } from './svc.ts'
import { twilioFormat } from './twilio.ts'

/** The forms of requests to webhooks, by name. */
export const FORMATS: Readonly<Record<WebhookFormatName, WebhookFormat>> = {
  svc: svcFormat,
  twilio: twilioFormat,
  resend: resendFormat,
}
