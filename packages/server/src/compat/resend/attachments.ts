import { invalid, LargeFile, LIMITS } from '@svc/core/contract'
import type { DecodedCore } from '@svc/core/operate'
import * as z from 'zod'
import { optional } from './fields.ts'

/** A Buffer as `JSON.stringify` writes it: versions of the package before 6.13 send it so. */
const bufferJson = z.object({
  type: z.literal('Buffer'),
  data: z.array(z.int().min(0).max(255)).max(LIMITS.email_attachments_bytes),
})

/** An attachment in a request of Resend. */
export const attachment = z
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
export async function readAttachments(
  attachments: readonly Attachment[],
  { files, attachments_max_bytes }: { files: DecodedCore['files']; attachments_max_bytes: number },
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
  files: DecodedCore['files'],
): Promise<string | LargeFile> {
  if (typeof content === 'string') return padded(content.replace(/\s+/g, ''))
  if (content instanceof LargeFile) return content.lenient()
  if (content) return Buffer.from(content.data).toString('base64')
  return LargeFile.ofBytes(await fetched(path ?? '', place, files))
}

async function fetched(
  url: string,
  place: string,
  files: DecodedCore['files'],
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
