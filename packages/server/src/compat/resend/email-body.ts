import { api, decode, emailKey, invalid } from '@svc/core/contract'
import type { DecodedCore } from '@svc/core/operate'
import * as z from 'zod'
import { attachment, readAttachments } from './attachments.ts'
import { addresses, from, optional } from './fields.ts'
import { readScheduleTime } from './schedule-time.ts'

const text = z.string()

/** The package renders `react` and sends the result as `html`. */
const NOT_RENDERED =
  'The `react` field is not supported in a request: render it and send `html`, as the `resend` package does.'

const NO_TEMPLATES =
  'The `template` field is not supported: the service stores no templates. Render the e-mail in your program and send `subject` with `html` or `text`.'

/** The body of `POST /emails`. Unknown fields are refused, because an e-mail with a misspelt `scheduled_at` must not be sent now. */
export const emailBody = z.strictObject({
  // First, because an e-mail with a template has neither a subject nor a body, and the first fault is shown.
  template: optional(z.unknown().refine((given) => given == null, NO_TEMPLATES)),
  from,
  to: addresses('to'),
  subject: text,
  html: optional(text),
  text: optional(text),
  cc: optional(addressesOrNone('cc')),
  bcc: optional(addressesOrNone('bcc')),
  reply_to: optional(addressesOrNone('reply_to')),
  headers: optional(z.record(text, text)),
  tags: optional(z.array(z.strictObject({ name: text, value: text }))),
  scheduled_at: optional(text),
  attachments: optional(z.array(attachment)),
  topic_id: optional(z.unknown().refine((given) => given == null, unsupported('topic_id'))),
  react: optional(z.unknown().refine((given) => given == null, NOT_RENDERED)),
})

/** The body of `POST /emails`, read. */
export type EmailBody = z.output<typeof emailBody>

function unsupported(field: string): string {
  return `The \`${field}\` field is not supported: send \`html\` or \`text\`.`
}

/** An empty list counts as absent. */
function addressesOrNone(field: string) {
  return z.preprocess(
    (given) => (Array.isArray(given) && given.length === 0 ? undefined : given),
    optional(addresses(field)),
  )
}

interface Parts {
  files: DecodedCore['files']
  attachments_max_bytes: number
  now: Date
}

/** A request of the service, decoded. @throws SvcError `validation_error`. */
export async function sendRequestOf(email: EmailBody, parts: Parts) {
  return decode(api.messages.send.body, await wireRequestOf(email, parts))
}

/** A request of the service as its API takes it. @throws SvcError `validation_error`. */
export async function wireRequestOf(
  email: EmailBody,
  { files, attachments_max_bytes, now }: Parts,
): Promise<Record<string, unknown>> {
  const {
    from,
    to,
    cc,
    bcc,
    reply_to,
    scheduled_at,
    attachments,
    template: _,
    topic_id: __,
    react: ___,
    ...rest
  } = email
  const [first] = to
  const copies = notIn(to, cc ?? [])
  const hidden = notIn([...to, ...copies], bcc ?? [])
  const content = {
    ...rest,
    from_address: from.address,
    ...(copies.length > 0 && { cc: copies }),
    ...(hidden.length > 0 && { bcc: hidden }),
    ...(reply_to && { reply_to: reply_to.length === 1 ? reply_to[0] : reply_to }),
    ...(attachments &&
      attachments.length > 0 && {
        attachments: await readAttachments(attachments, { files, attachments_max_bytes }),
      }),
  }
  return {
    to: to.length === 1 ? first : to,
    channel: 'email',
    ...(from.name !== null && { from: from.name }),
    content: withoutAbsent(content),
    ...(scheduled_at !== undefined && { scheduled_at: readTime(scheduled_at, now).toISOString() }),
  }
}

/**
 * The addresses of a list that no earlier list names. Resend takes an address in `to` and `cc`; here each recipient gets the
 * e-mail, and pays for it, once, in its first role.
 */
function notIn(earlier: readonly string[], addresses: readonly string[]): string[] {
  const named = new Set(earlier.map(emailKey))
  return addresses.filter((address) => !named.has(emailKey(address)))
}

/** The time in a request. @throws SvcError `validation_error` for a text that is not a time. */
export function readTime(text: string, now: Date): Date {
  const time = readScheduleTime(text, now)
  if (time) return time
  throw invalid(
    'scheduled_at',
    'Invalid `scheduled_at` field. It must be ISO 8601, or words such as `in 1 hour`, `tomorrow at 9am` or `Friday at 3pm ET`.',
  )
}

function withoutAbsent(values: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined))
}
