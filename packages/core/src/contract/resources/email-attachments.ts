import * as z from 'zod'
import { text } from '../fields/fields.ts'
import { LargeFile } from '../fields/large-file.ts'
import { LIMITS } from '../limits.ts'

const NAME = "[a-z0-9][a-z0-9!#$&^_.+'-]*"
/** A token without `*`, `'` and `%`, which RFC 2231 gives a meaning in the names of parameters. */
const ATTRIBUTE = '[a-z0-9!#$&+.^_`{|}~-]+'
const TOKEN = "[a-z0-9!#$%&'*+.^_`{|}~-]+"
const QUOTED = '"(?:[\\x20\\x21\\x23-\\x5b\\x5d-\\x7e]|\\\\[\\x20-\\x7e])*"'
const TYPE = new RegExp(`${NAME}/${NAME}`, 'iy')
const PARAMETER = new RegExp(`[ \\t]*;[ \\t]*(${ATTRIBUTE})=(?:${TOKEN}|${QUOTED})`, 'iy')
/** Composite types must not be encoded as base64 (RFC 2046, section 5). */
const COMPOSITE = /^(?:multipart|message)\//i
const PARAMETERS_MAX = LIMITS.email_content_type_parameters

/** The type of a file with its parameters, as a header has them. Source: RFC 2045, section 5.1. */
const contentType = text(LIMITS.email_content_type_length)
  .refine((type) => parameterNames(type) !== null && !COMPOSITE.test(type), {
    error:
      'content_type must be a type and a subtype such as application/pdf, not multipart or message; parameters follow as in "text/calendar; method=REQUEST"',
  })
  .refine((type) => isEachOnce(parameterNames(type) ?? []), {
    error: `content_type must have at most ${PARAMETERS_MAX} parameters, each once`,
  })
  .meta({ example: 'application/pdf' })

/** Each parameter once: RFC 6838, section 4.3. */
function isEachOnce(names: readonly string[]): boolean {
  return names.length <= PARAMETERS_MAX && new Set(names).size === names.length
}

/** The names in lower case; null for a text that is no type. */
function parameterNames(type: string): string[] | null {
  TYPE.lastIndex = 0
  if (!TYPE.test(type)) return null
  const names: string[] = []
  let end = TYPE.lastIndex
  while (end < type.length) {
    PARAMETER.lastIndex = end
    const name = PARAMETER.exec(type)?.[1]
    if (name === undefined) return null
    names.push(name.toLowerCase())
    end = PARAMETER.lastIndex
  }
  return names
}

/**
 * The type of a file with those of its parameters that a request may have. Values are given without quotes. Null for a type
 * that a file cannot have.
 */
export function contentTypeOf(
  type: string,
  parameters: Readonly<Record<string, string>>,
): string | null {
  const isValid = (one: string) => contentType.safeParse(one).success
  if (!isValid(type)) return null
  return Object.entries(parameters).reduce((whole, [name, value]) => {
    const longer = `${whole}; ${name}=${isToken(value) ? value : quoted(value)}`
    return isValid(longer) ? longer : whole
  }, type)
}

const ONLY_TOKEN = new RegExp(`^${TOKEN}$`, 'i')

function isToken(value: string): boolean {
  return ONLY_TOKEN.test(value)
}

function quoted(value: string): string {
  return `"${value.replace(/["\\]/g, '\\$&')}"`
}

const BYTES_MAX = LIMITS.email_attachments_bytes_max

/** The message for a file that is no base64. */
export const BASE64_TEXT = 'Attachments must be base64 with its padding, without line breaks'

const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/
const PATH_OR_CONTROL = /[/\\\p{Cc}\p{Zl}\p{Zp}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/u

const filename = text(LIMITS.email_filename_length).refine(
  (name) => !PATH_OR_CONTROL.test(name) && name !== '.' && name !== '..',
  'File names must have no path, line breaks, control characters or direction marks',
)

// The characters that need no encoding in a header and in a `cid:` URL (RFC 2392).
const contentId = text(LIMITS.email_content_id_length)
  .regex(/^[A-Za-z0-9._@+-]+$/, 'content_id must be letters, digits and ". _ @ + -"')
  .meta({
    description: 'Shows the file in the HTML body, in place of `cid:<content_id>`.',
    example: 'logo',
  })

// The characters of a content that is too long are not checked, because the sum below refuses it.
const base64 = z
  .string()
  .min(1)
  .refine((content) => bytesOf(content) > BYTES_MAX || isBase64(content), { error: BASE64_TEXT })

/** The description of a file in the OpenAPI document. */
export const FILE_META = { contentEncoding: 'base64', example: 'SGVsbG8=' } as const

/** A file. The server passes a long text as a LargeFile, which the storing of the message replaces. */
export const fileContent = z.union([
  base64,
  z.custom<string>((given) => given instanceof LargeFile),
])

const attachment = z.strictObject({
  filename: filename.meta({ example: 'invoice-A1.pdf' }),
  content_type: contentType.optional(),
  content_id: contentId.optional(),
  content: fileContent,
})

/** The files of an e-mail, sent unchanged. The service may allow fewer bytes. Source: contract section 6. */
export const emailAttachments = z
  .array(attachment)
  .max(LIMITS.email_attachments)
  .refine((all) => all.reduce((sum, { content }) => sum + bytesOf(content), 0) <= BYTES_MAX, {
    error: attachmentsText(BYTES_MAX),
  })
  .refine((all) => hasEachOnce(all.flatMap(({ content_id }) => content_id ?? [])), {
    error: 'Attachments must have different content_id values',
  })

/** The message for files that are too large together. */
export function attachmentsText(bytes_max: number): string {
  return `Attachments must be at most ${bytes_max} bytes together, decoded`
}

function hasEachOnce(ids: readonly string[]): boolean {
  return new Set(ids).size === ids.length
}

function isBase64(text: string): boolean {
  return text.length % 4 === 0 && BASE64.test(text)
}

/** The number of decoded bytes. */
export function bytesOf(base64: string | LargeFile): number {
  if (base64 instanceof LargeFile) return base64.size_bytes
  const padding = base64.endsWith('==') ? 2 : base64.endsWith('=') ? 1 : 0
  return Math.floor((base64.length * 3) / 4) - padding
}
