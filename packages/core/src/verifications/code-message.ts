import { invalid } from '../contract/errors.ts'
import { LIMITS } from '../contract/limits.ts'
import type { Channel, Content, SmsContent } from '../contract/resources/content.ts'
import type { TemplateRequest } from '../contract/resources/send-request.ts'
import type { UsedTemplate } from '../contract/resources/templates.ts'
import type { CodeTemplate } from '../contract/resources/verifications.ts'
import type { VerificationRow } from '../rows/rows.ts'
import { maskOf } from '../secrets/codes.ts'
import type { Reads } from '../storage/ports/storage.ts'
import { filledRequest, sourceOf } from '../templates/use-template.ts'

/** The content of a message with a code: a mask stands in the places of the code. */
export interface CodeMessage {
  content: Content
  locale: string
  template: UsedTemplate | null
}

/** What the text of a code names. */
interface CodeText {
  channel: Channel
  /** Who asks for the code. */
  brand: string
  /** Whether it says how long the code is valid. */
  has_validity: boolean
}

/**
 * The content of a message of a verification, which is made at `created_at` of the row: its template, or else the built-in text of its language.
 * @throws SvcError `validation_error` for a stored template that cannot be used, or that does not have the code.
 */
export async function codeMessage(
  reads: Pick<Reads, 'templates' | 'workspaces'>,
  row: VerificationRow,
  { channel, brand, has_validity }: CodeText,
): Promise<CodeMessage> {
  const { template, domain, app_hash } = row.options
  const mask = maskOf(row.code_length)
  const minutes = minutesOf(row)
  if (typeof template === 'object') return fromTemplate(reads, row, { channel, brand, template })
  const { codeContent } = await texts()
  const { content, locale } = codeContent({
    channel,
    locale: row.locale,
    brand,
    mask,
    ...(has_validity && { minutes }),
    ...(channel === 'sms' && domain !== undefined && { domain }),
    ...(channel === 'sms' && app_hash !== undefined && { app_hash }),
  })
  if (channel !== 'whatsapp' || template === undefined) return { content, locale, template: null }
  // The template is approved for the locale of the request, whether the built-in texts have that locale or not.
  const language = row.locale.replaceAll('-', '_')
  // The button that copies the code needs it too.
  const variables = { 1: mask, 'button.0': mask }
  return {
    content: { template: { name: template, language, variables } },
    locale,
    template: null,
  }
}

/** The whole minutes from now for which the code is valid. A further message has the rest of the time. */
function minutesOf({ created_at, expires_at }: VerificationRow): number {
  return Math.max(1, Math.floor((expires_at.getTime() - created_at.getTime()) / 60_000))
}

/**
 * The template of a new verification, a stored one with the version that all its messages use.
 * @throws SvcError as `codeMessage` does, for each of its channels.
 */
export async function pinnedTemplate(
  reads: Pick<Reads, 'templates' | 'workspaces'>,
  row: VerificationRow,
): Promise<string | CodeTemplate | undefined> {
  const { template } = row.options
  if (typeof template !== 'object') return template
  let version = template.version
  for (const channel of [row.channel, ...(row.fallback ?? [])]) {
    const pinned = { ...template, ...(version !== undefined && { version }) }
    const { template: used } = await fromTemplate(reads, row, {
      channel,
      brand: '',
      template: pinned,
    })
    version = used.version
  }
  return { ...template, ...(version !== undefined && { version }) }
}

async function fromTemplate(
  reads: Pick<Reads, 'templates' | 'workspaces'>,
  row: VerificationRow,
  { channel, brand, template }: Omit<CodeText, 'has_validity'> & { template: CodeTemplate },
): Promise<CodeMessage & { template: UsedTemplate }> {
  const mask = maskOf(row.code_length)
  const minutes = minutesOf(row)
  // Nothing but {{code}} makes this text: bullets of the template or of a value must not become the code.
  const marker = `\uE000${(row.seed ?? row.id).slice(-MARKER_LENGTH)}`
  const variables = { ...template.variables, code: marker, brand, minutes }
  // Without a requested language, the template has its own.
  const use = { ...template, locale: row.options.locale, variables }
  const source = await sourceOf(reads, row.workspace_id, { channel, template: use })
  const request = { to: row.recipient, channel, template: use } as TemplateRequest
  const { content: marked } = filledRequest(request, source)
  const { used } = source
  const content = withTexts(marked, (text) =>
    text.replaceAll(mask, '·'.repeat(mask.length)).replaceAll(marker, mask),
  ) as Content
  if (!hasText(content, mask)) {
    throw invalid(
      'template.name',
      `Template ${used.name} has no {{code}} for ${channel} in ${used.locale}`,
    )
  }
  if (channel !== 'sms') return { content, locale: used.locale, template: used }
  const { domain, app_hash } = row.options
  const ending = domain ? `\n@${domain} #${mask}` : app_hash ? `\n${app_hash}` : ''
  const text = `${(content as SmsContent).text}${ending}`
  if (text.length > LIMITS.sms_text_length) {
    throw invalid(
      'template.name',
      `The text of template ${used.name} must be at most ${LIMITS.sms_text_length} characters`,
    )
  }
  return { content: { text }, locale: used.locale, template: used }
}

const MARKER_LENGTH = 8

function withTexts(value: unknown, change: (text: string) => string): unknown {
  if (typeof value === 'string') return change(value)
  if (Array.isArray(value)) return value.map((one) => withTexts(one, change))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([name, one]) => [name, withTexts(one, change)]),
  )
}

function hasText(value: unknown, part: string): boolean {
  if (typeof value === 'string') return value.includes(part)
  if (typeof value !== 'object' || value === null) return false
  return Object.values(value).some((one) => hasText(one, part))
}

// The texts are large, so they are loaded for the first code. Each `import` takes 30 µs.
let loadedTexts: Promise<typeof import('./code-texts.ts')> | null = null

function texts() {
  loadedTexts ??= import('./code-texts.ts')
  return loadedTexts
}
