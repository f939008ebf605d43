import * as z from 'zod'
import { decode } from '../contract/endpoints/decode.ts'
import { invalid } from '../contract/errors.ts'
import { LIMITS } from '../contract/limits.ts'
import type { BulkRequest, TemplateBulkRequest } from '../contract/resources/bulk-request.ts'
import {
  type Channel,
  type Content,
  contents,
  type EmailAdditions,
  type StoredEmail,
} from '../contract/resources/content.ts'
import type { SendRequest, TemplateRequest } from '../contract/resources/send-request.ts'
import {
  exampleFault,
  isOfType,
  type TemplateCategory,
  type TemplatePreview,
  type TemplateUse,
  type TemplateValue,
  type TemplateVariable,
  type UsedTemplate,
} from '../contract/resources/templates.ts'
import { unsubscribeValue } from '../contract/signing/unsubscribe-url.ts'
import type { PriceOf } from '../prices/price.ts'
import type { MessageRow, TemplateVersionRow } from '../rows/rows.ts'
import type { StoredVariant } from '../rows/templates.ts'
import { type MarketingTexts, withMarketingTexts } from '../rules/marketing-texts.ts'
import { contentTemplate, type LookUp, namesOf } from '../rules/template.ts'
import type { Reads } from '../storage/ports/storage.ts'

/** What a message reads of a version. */
type VersionContent = Pick<
  TemplateVersionRow,
  | 'name'
  | 'version'
  | 'category'
  | 'variables'
  | 'variants'
  | 'default_locale'
  | 'plain_texts'
  | 'htmls'
>

/** The category of a message without a template, as of a template that names none. */
export const CATEGORY_DEFAULT: TemplateCategory = 'transactional'

/** A stored template for one channel and one locale, with the values of a request. */
export interface TemplateSource {
  used: UsedTemplate
  category: TemplateCategory
  /** The content with its placeholders. */
  content: Content
  /** The values of the request, or else the declared fallbacks. */
  lookUp: LookUp
}

/**
 * The template that a request names.
 * @throws SvcError `validation_error` without such a template, version, channel or locale, or for a value of the wrong type.
 */
export function sourceOf(
  reads: Pick<Reads, 'templates' | 'workspaces'>,
  workspaceId: string,
  of: { channel: Channel; template: TemplateUse },
): Promise<TemplateSource> {
  return createSources(reads, workspaceId)(of)
}

/** The versions that are kept: each has at most 3 MB. */
const VERSIONS_KEPT = 10

/** `sourceOf` for several requests of one workspace, which reads each version once. */
export function createSources(
  { templates, workspaces }: Pick<Reads, 'templates' | 'workspaces'>,
  workspaceId: string,
): (of: { channel: Channel; template: TemplateUse }) => Promise<TemplateSource> {
  async function versionOf(use: TemplateUse) {
    const row = await templates.usable(workspaceId, use.name, use.version)
    if (!row) throw await missing(templates, workspaceId, use)
    const { category } = row
    if (category === 'layout') {
      throw invalid('template.name', `Template ${use.name} is a layout, which is sent with others`)
    }
    return { row, category, texts: await marketingTextsOf(workspaces, workspaceId, row) }
  }

  const kept = new Map<string, Awaited<ReturnType<typeof versionOf>>>()

  return async ({ channel, template }) => {
    const key = JSON.stringify([template.name, template.version])
    const found = kept.get(key) ?? (await versionOf(template))
    if (!kept.has(key) && kept.size >= VERSIONS_KEPT) kept.clear()
    kept.set(key, found)
    const { row, category, texts } = found
    return { ...sourceIn(row, { channel, template }, texts), category }
  }
}

/** What ends the messages of a template; null if it is not for marketing. */
export async function marketingTextsOf(
  workspaces: Reads['workspaces'],
  workspaceId: string,
  { category }: Pick<TemplateVersionRow, 'category'>,
): Promise<MarketingTexts | null> {
  return category === 'marketing' ? workspaces.marketingTexts(workspaceId) : null
}

/** The source in a version, or in what would be a version. @throws SvcError in the same cases as `sourceOf` */
function sourceIn(
  row: VersionContent,
  { channel, template: use }: { channel: Channel; template: Omit<TemplateUse, 'name'> },
  texts: MarketingTexts | null,
): Omit<TemplateSource, 'category'> {
  const variant = variantFor(row, channel, use.locale)
  const { variables = {} } = use
  for (const declared of row.variables) checkType(declared, own(variables, declared.name))
  const content = contentOf(row, variant)
  const fallbacks = new Map(row.variables.map(({ name, fallback }) => [name, fallback ?? null]))
  return {
    used: { name: row.name, version: row.version, locale: variant.locale },
    content: texts ? withMarketingTexts(channel, content, texts) : content,
    lookUp: (name, field) =>
      own(variables, name) ?? fallbacks.get(name) ?? unsubscribeValue(channel, name, field),
  }
}

/** The request with the filled-in content. @throws SvcError `validation_error` that names the variables without a value. */
export function filledRequest(
  { template: _, ...request }: TemplateRequest,
  source: TemplateSource,
): SendRequest {
  const additions = ('content' in request && request.content) || {}
  if (source.category === 'marketing' && lacksOneClick(additions)) {
    throw invalid('content.headers', `content.headers: ${NEEDS_ONE_CLICK}`)
  }
  const { content, missing } = fillContent(request.channel, source, additions)
  if (missing.size > 0) throw invalid('template.variables', `No value for ${namesOf(missing)}`)
  return { ...request, content } as SendRequest
}

/**
 * A content without missing values is checked as that of a request. `additions`: checked fields in place of those of the template,
 * which then need no values.
 */
function fillContent(
  channel: Channel,
  { content: unfilled, lookUp }: Pick<TemplateSource, 'content' | 'lookUp'>,
  additions: EmailAdditions = {},
) {
  const missing = new Set<string>()
  const given = Object.entries(additions).filter(([, value]) => value !== undefined)
  const names = new Set(given.map(([name]) => name))
  const others = Object.fromEntries(
    Object.entries(unfilled).filter(([name]) => !names.has(name)),
  ) as Content
  const filled = contentTemplate(others, { has_blocks: true }).fill(lookUp, missing)
  if (missing.size === 0) {
    const { subject } = additions
    const checked = { ...filled, ...(subject !== undefined && { subject }) }
    decode(z.object({ content: contents[channel] }), { content: checked })
  }
  // In the order of the template's fields.
  return { content: { ...unfilled, ...Object.fromEntries(given), ...filled } as Content, missing }
}

/** What a marketing e-mail with a `List-Unsubscribe` of its own lacks. */
export const NEEDS_ONE_CLICK =
  'a marketing e-mail with a List-Unsubscribe of its own needs List-Unsubscribe-Post too (RFC 8058)'

/** Whether a recipient cannot unsubscribe from an e-mail with one click. Without a header of its own it gets that of the service. */
export function lacksOneClick(content: EmailAdditions): boolean {
  return hasOwnUnsubscribe(content) && !hasHeader(content, 'list-unsubscribe-post')
}

/** Whether an e-mail has a `List-Unsubscribe` of its own, which comes before that of the service. */
export function hasOwnUnsubscribe(content: EmailAdditions): boolean {
  return hasHeader(content, 'list-unsubscribe')
}

function hasHeader({ headers = {} }: EmailAdditions, wanted: string): boolean {
  return Object.keys(headers).some((name) => name.toLowerCase() === wanted)
}

/**
 * What a version becomes with values; variables without a value and a fallback take their examples.
 * @throws SvcError in the same cases as `sourceOf`, and for a content that a send would refuse.
 */
export function previewOf(
  row: VersionContent,
  { channel, ...use }: Pick<TemplateUse, 'locale' | 'variables'> & { channel: Channel },
  { texts, priceOf }: { texts: MarketingTexts | null; priceOf: PriceOf },
): TemplatePreview {
  const source = sourceIn(row, { channel, template: use }, texts)
  const variables = new Map(row.variables.map((one) => [one.name, one]))
  const { content, missing } = fillContent(channel, {
    ...source,
    lookUp: (name, field) => source.lookUp(name, field) ?? exampleOf(variables.get(name)),
  })
  // No number has an empty prefix, so this is the default price.
  const { encoding, segments, credits } = priceOf(channel, content)('')
  return {
    channel,
    locale: source.used.locale,
    content,
    missing: [...missing].slice(0, LIMITS.bulk_variables),
    ...{ encoding, segments, credits },
  }
}

/** @throws SvcError `validation_error` for an example that was stored before examples were checked. */
function exampleOf(variable: TemplateVariable | undefined): TemplateValue {
  if (!variable) return null
  const fault = exampleFault(variable)
  if (fault !== null) throw invalid('variables', fault)
  return (variable.example ?? null) as TemplateValue
}

/** The bulk with the content of the template, whose placeholders are filled in for each recipient. */
export function bulkOf(
  { template: _, ...request }: TemplateBulkRequest,
  { content }: TemplateSource,
): BulkRequest {
  return { ...request, content } as BulkRequest
}

function own(values: Readonly<Record<string, TemplateValue>>, name: string): TemplateValue {
  return Object.hasOwn(values, name) ? (values[name] ?? null) : null
}

function checkType({ name, type }: TemplateVariable, value: TemplateValue): void {
  if (value !== null && !isOfType(type, value))
    throw invalid('template.variables', `Variable ${name} must be a ${type}`)
}

/**
 * The variant for the locale or, in this order, a shorter locale, the default locale.
 * @throws SvcError `validation_error` if the channel has no variant.
 */
export function variantFor(
  { name, variants, default_locale }: Pick<VersionContent, 'name' | 'variants' | 'default_locale'>,
  channel: Channel,
  wanted: string = default_locale,
): StoredVariant {
  const ofChannel = variants.filter((one) => one.channel === channel)
  for (const locale of [...localesFrom(wanted), default_locale]) {
    const found = ofChannel.find((one) => one.locale === locale)
    if (found) return found
  }
  throw invalid('template.name', `Template ${name} has no variant for ${channel}`)
}

/** `de-Latn-AT`, `de-Latn`, `de`. */
function localesFrom(locale: string): string[] {
  const parts = locale.split('-')
  return parts.map((_, i) => parts.slice(0, parts.length - i).join('-'))
}

/** What a message gets of a variant: of an e-mail its last form. */
function contentOf(
  { category, name, plain_texts, htmls }: VersionContent,
  { channel, locale, content }: StoredVariant,
): Content {
  if (channel !== 'email') return content
  const { layout: _, preview_text: __, inline_css: ___, ...mail } = content as StoredEmail
  const html = htmls && Object.hasOwn(htmls, locale) && htmls[locale]
  const text = Object.hasOwn(plain_texts, locale) && plain_texts[locale]
  return {
    // Only previews show a layout, which has no subject.
    ...(category === 'layout' && { subject: name || 'Layout' }),
    ...mail,
    ...(html && { html }),
    ...(text && { text }),
  } as Content
}

/**
 * The template of a stored message, and its category: of a version that was removed `marketing`, so that the message is not
 * sent too early.
 */
export async function templateOf(
  { templates }: Pick<Reads, 'templates'>,
  {
    workspace_id,
    template: name,
    template_version: version,
    template_locale: locale,
  }: Pick<MessageRow, 'workspace_id' | 'template' | 'template_version' | 'template_locale'>,
): Promise<{ template: UsedTemplate | undefined; category: TemplateCategory }> {
  if (name === null || version === null || locale === null) {
    return { template: undefined, category: CATEGORY_DEFAULT }
  }
  const row = await templates.version(workspace_id, name, version)
  // Nothing is sent with a layout.
  const category = row && row.category !== 'layout' ? row.category : 'marketing'
  return { template: { name, version, locale }, category }
}

async function missing(
  templates: Reads['templates'],
  workspaceId: string,
  { name, version }: TemplateUse,
) {
  const known = await templates.byName(workspaceId, name)
  if (!known || known.deleted_at)
    return invalid('template.name', `No template has the name ${name}`)
  return known.version === null
    ? invalid('template.name', `Template ${name} is a draft: publish it first`)
    : invalid('template.version', `Template ${name} has no version ${version}`)
}
