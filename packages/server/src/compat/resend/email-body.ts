import { api, decode, emailKey, invalid, LargeFile, LIMITS } from '@svc/core/contract'
import type { DecodedCore } from '@svc/core/operate'
import * as z from 'zod'
import { addresses, from, optional, withoutAbsent } from './fields.ts'
import { readScheduleTime } from './schedule-time.ts'

/** A Buffer as `JSON.stringify` writes it: versions of the package before 6.13 send it so. */
const bufferJson = z.object({
  type: z.literal('Buffer'),
  data: z.array(z.int().min(0).max(255)).max(LIMITS.email_attachments_bytes),
})

/** An attachment in a request of Resend. */
const attachment = z
  .strictObject({
    filename: optional(z.string()),
    content: optional(
      z.union([z.string(), bufferJson, z.custom<LargeFile>((given) => given instanceof LargeFile)]),
    ),
    path: optional(z.string().max(LIMITS.url_length)),
    content_type: optional(z.string()),
    content_id: optional(z.string()),
    /** The name of `content_id` in version 6.0 of the package. */
    inline_content_id: optional(z.string()),
  })
  .refine(({ content, path }) => (content ?? path) !== undefined, {
    error: 'Attachment must have either a `content` or `path`.',
  })
  .refine(({ content, path }) => content === undefined || path === undefined, {
    error: 'Attachment must have either a `content` or `path`, not both.',
  })

type Attachment = z.output<typeof attachment>

/** An attachment in a request of the service. */
interface SentAttachment {
  filename: string
  content: string | LargeFile
  content_type?: string
  content_id?: string
}

/**
 * The attachments with their contents. Files that a request names by their address are fetched one after another.
 * @throws SvcError `validation_error` for a file that cannot be fetched, or if all have more bytes than one e-mail may have.
 */
async function readAttachments(
  attachments: readonly Attachment[],
  {
    files,
    attachments_max_bytes,
  }: { files: Pick<DecodedCore['files'], 'fetch'>; attachments_max_bytes: number },
): Promise<SentAttachment[]> {
  if (attachments.length > LIMITS.email_attachments) {
    throw invalid(
      'attachments',
      `An email can have at most ${LIMITS.email_attachments} attachments.`,
    )
  }
  const read: SentAttachment[] = []
  let size_bytes = 0
  for (const [index, one] of attachments.entries()) {
    const content = await contentOf(one, `attachments.${index}`, files)
    size_bytes += content instanceof LargeFile ? content.size_bytes : (content.length / 4) * 3
    // The size of a base64 with escapes is known later.
    if (one.path !== undefined && size_bytes > attachments_max_bytes) {
      throw invalid(
        'attachments',
        `Attachments must be at most ${attachments_max_bytes} bytes together`,
      )
    }
    const content_id = one.content_id ?? one.inline_content_id
    read.push({
      filename: one.filename ?? nameOf(one.path),
      content,
      ...(one.content_type !== undefined && { content_type: one.content_type }),
      ...(content_id !== undefined && { content_id: content_id.replace(/^<(.*)>$/, '$1') }),
    })
  }
  return read
}

async function contentOf(
  { content, path }: Attachment,
  place: string,
  files: Pick<DecodedCore['files'], 'fetch'>,
): Promise<string | LargeFile> {
  if (typeof content === 'string') return padded(content.replace(/\s+/g, ''))
  if (content instanceof LargeFile) return content.lenient()
  if (content) return Buffer.from(content.data).toString('base64')
  return LargeFile.ofBytes(await fetched(path ?? '', place, files))
}

async function fetched(
  url: string,
  place: string,
  files: Pick<DecodedCore['files'], 'fetch'>,
): Promise<Uint8Array> {
  if (!URL.canParse(url) || url.includes('#'))
    throw invalid(place, 'The `path` of an attachment must be a URL.')
  try {
    return await files.fetch(url)
  } catch (error) {
    const { code, message } = error as { code?: unknown; message: string }
    if (code === 'validation_error') throw invalid(place, `Attachment \`path\`: ${message}`)
    throw error
  }
}

/** Base64 with its padding, which some programs leave out. */
function padded(base64: string): string {
  return base64 + '='.repeat(base64.includes('=') ? 0 : (4 - (base64.length % 4)) % 4)
}

function nameOf(path: string | undefined): string {
  const name = path && URL.canParse(path) ? new URL(path).pathname.split('/').at(-1) : ''
  try {
    return decodeURIComponent(name ?? '') || 'attachment'
  } catch {
    return 'attachment'
  }
}

const text = z.string()

/** The package renders `react` and sends the result as `html`. */
const NOT_RENDERED =
  'The `react` field is not supported in a request: render it and send `html`, as the `resend` package does.'

const template = z.strictObject({
  id: z.string(),
  variables: optional(z.record(text, z.union([z.string(), z.number()]))),
})

/** The body of `POST /emails`. Unknown fields are refused, because an e-mail with a misspelt `scheduled_at` must not be sent now. */
export const emailBody = z
  .strictObject({
    template: optional(template),
    from: optional(from),
    to: addresses('to'),
    subject: optional(text),
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
  .superRefine(({ template, from, subject, html, text }, ctx) => {
    const fault = (field: string, message: string) =>
      ctx.addIssue({ code: 'custom', path: [field], message })
    const missing = (field: string) => fault(field, `Missing required field: ${field}`)
    if (template === undefined) {
      if (from === undefined) missing('from')
      else if (subject === undefined) missing('subject')
    } else if ((html ?? text) !== undefined) {
      fault('template', 'An email with a `template` cannot have `html` or `text`.')
    }
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
  files: Pick<DecodedCore['files'], 'fetch'>
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
    to: named,
    cc,
    bcc,
    reply_to,
    scheduled_at,
    attachments,
    template,
    topic_id: _,
    react: __,
    ...rest
  } = email
  const to = notIn([], named)
  const [first] = to
  const copies = notIn(to, cc ?? [])
  const hidden = notIn([...to, ...copies], bcc ?? [])
  const content = {
    ...rest,
    from_address: from?.address,
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
    ...(from && from.name !== null && { from: from.name }),
    ...(template && {
      template: withoutAbsent({ name: template.id, variables: template.variables }),
    }),
    content: withoutAbsent(content),
    ...(scheduled_at !== undefined && { scheduled_at: readTime(scheduled_at, now).toISOString() }),
  }
}

/**
 * The addresses of a list, each once, that no earlier list names. Resend takes an address several times; here each recipient
 * gets the e-mail, and pays for it, once, in its first role.
 */
function notIn(earlier: readonly string[], addresses: readonly string[]): string[] {
  const named = new Set(earlier.map(emailKey))
  return addresses.filter((address) => {
    const key = emailKey(address)
    return !named.has(key) && named.add(key)
  })
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
