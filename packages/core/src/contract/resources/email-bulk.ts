import * as z from 'zod'
import { notLongerThan, unread } from '../fields/chosen.ts'
import { LIMITS } from '../limits.ts'
import { bulkValidation } from './bulk-request.ts'
import { anyEmailRequest } from './send-request.ts'

const emails = notLongerThan(
  z
    .array(unread(z.lazy(() => anyEmailRequest)))
    .min(1)
    .meta({ maxItems: LIMITS.bulk_emails }),
  LIMITS.bulk_emails,
  `emails must have at most ${LIMITS.bulk_emails} items`,
)

/**
 * The request of `messages.bulks.sendEmails`. Its e-mails are not checked, so that one fault does not refuse a `permissive`
 * bulk: decode each e-mail with `anyEmailRequest`.
 */
export const emailBulk = {
  body: z.strictObject({ emails, validation: bulkValidation }),
  body_limit: LIMITS.bulk_body_bytes,
} as const

/** A bulk of e-mails that differ in content or stored template, recipients and schedule. */
export type EmailBulk = z.output<typeof emailBulk.body>
