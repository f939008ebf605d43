import {
  api,
  type Body,
  decode,
  type EmailContent,
  endpoint,
  invalid,
  LIMITS,
  type ListedTemplate,
  SvcError,
  type Template,
  type TemplateVariable,
} from '@svc/core/contract'
import type { DecodedCore } from '@svc/core/operate'
import * as z from 'zod'
import type { Handlers } from '../../routes/mount.ts'
import { BROADCAST_TEMPLATE } from './broadcasts.ts'
import { addresses, from, optional } from './fields.ts'
import { answer, listQueryOf, pageAmong, ROOT } from './tables.ts'

const access = { auth: 'api_key', scope: 'manage_contacts', rate: 'general', ...answer } as const
// A name that no template has is unknown, whatever its form.
const one = {
  params: z.object({ id: z.string().max(LIMITS.template_name_length) }),
  not_found: 'Template not found',
} as const

const text = z.string()
const variable = z.strictObject({
  key: text,
  type: z.enum(['string', 'number']),
  fallback_value: optional(z.union([z.string(), z.number()])),
})

const fields = {
  subject: optional(text),
  html: optional(text),
  text: optional(text),
  from: optional(from),
  reply_to: optional(addresses('reply_to', LIMITS.email_reply_to)),
  variables: optional(z.array(variable).max(LIMITS.bulk_variables)),
}
const name = text.max(LIMITS.template_description_length)

type Fields = z.output<z.ZodObject<typeof fields>>

/** The endpoints for templates. Source: https://resend.com/docs/api-reference/templates */
export const templateEndpoints = {
  create: endpoint({
    ...access,
    method: 'POST',
    path: `${ROOT}/templates`,
    body_limit: LIMITS.template_body_bytes,
    body: z.strictObject({ name, alias: optional(text), ...fields }),
    summary: 'Create a template as a draft',
  }),
  list: endpoint({
    ...access,
    method: 'GET',
    path: `${ROOT}/templates`,
    query: listQueryOf(text.max(LIMITS.template_name_length).optional()),
    summary: 'List templates, newest first',
  }),
  get: endpoint({
    ...access,
    ...one,
    method: 'GET',
    path: `${ROOT}/templates/:id`,
    summary: 'Get a template',
  }),
  update: endpoint({
    ...access,
    ...one,
    method: 'PATCH',
    path: `${ROOT}/templates/:id`,
    body_limit: LIMITS.template_body_bytes,
    body: z.strictObject({ name: optional(name), alias: optional(text), ...fields }),
    summary: 'Change the draft of a template',
  }),
  publish: endpoint({
    ...access,
    ...one,
    method: 'POST',
    path: `${ROOT}/templates/:id/publish`,
    summary: 'Publish the draft of a template',
  }),
  duplicate: endpoint({
    ...access,
    ...one,
    method: 'POST',
    path: `${ROOT}/templates/:id/duplicate`,
    summary: 'Copy the draft of a template',
  }),
  remove: endpoint({
    ...access,
    ...one,
    method: 'DELETE',
    path: `${ROOT}/templates/:id`,
    summary: 'Delete a template',
  }),
} as const

/** The locale of a template that was made here; Resend's templates have none. */
const LOCALE = 'en'

/** The size of a page of the core's list. */
const PAGE = 100

/** A template of Resend is a template here with its alias as the name, and one variant for e-mail. */
export function templateHandlers({
  templates,
}: Pick<DecodedCore, 'templates'>): Handlers<typeof templateEndpoints> {
  async function mailTemplate(workspaceId: string, id: string): Promise<Template> {
    const found = isName(id) ? await templates.get(workspaceId, id) : null
    if (!found || !isMailTemplate(found)) throw new SvcError('not_found', one.not_found)
    return found
  }

  /** All templates, newest first. */
  async function allOf(workspaceId: string): Promise<ListedTemplate[]> {
    const all: ListedTemplate[] = []
    let after: string | undefined
    do {
      const page = await templates.list(workspaceId, { limit: PAGE, offset: 0, after })
      all.push(...page.templates)
      after = page.next_after ?? undefined
    } while (after !== undefined)
    return all
  }

  /** The name, or else the name with the first number that no template has. */
  async function freeName(workspaceId: string, wanted: string): Promise<string> {
    const names = new Set((await allOf(workspaceId)).map(({ name }) => name))
    let free = wanted
    for (let n = 2; names.has(free); n++) free = `${wanted}-${n}`
    return free
  }

  return {
    async create({ workspace_id, body, actor }) {
      const { name: description, alias, ...given } = body
      const content = contentOf(given, { subject: description })
      const request = {
        name: alias ?? (await freeName(workspace_id, nameFrom(description))),
        description,
        variables: variablesOf(given) ?? [],
        variants: [{ channel: 'email', locale: LOCALE, content }],
      }
      const made = await templates.create(
        workspace_id,
        decode(api.templates.create.body, request),
        actor,
      )
      return { object: 'template', id: made.name }
    },
    async list({ workspace_id, query }) {
      const mails = (await allOf(workspace_id)).filter(
        (one) => isMailTemplate(one) && !BROADCAST_TEMPLATE.test(one.name),
      )
      return pageAmong(mails.map(summaryOf), query)
    },
    async get({ workspace_id, params }) {
      return recordOf(await mailTemplate(workspace_id, params.id))
    },
    async update({ workspace_id, params, body, actor }) {
      const before = await mailTemplate(workspace_id, params.id)
      const { name: description, alias, ...given } = body
      if (alias !== undefined && alias !== before.name) {
        throw invalid('alias', 'The `alias` of a template cannot change.')
      }
      const changed = mailOf(before)
      const content = contentOf(given, changed.content as EmailContent)
      const variables = variablesOf(given)
      const request = {
        ...(description !== undefined && { description }),
        ...(variables && { variables }),
        variants: before.variants.map((one) => (one === changed ? { ...one, content } : one)),
      }
      await templates.update(
        workspace_id,
        before.name,
        decode(api.templates.update.body, request) as Body<typeof api.templates.update>,
        actor,
      )
      return { object: 'template', id: before.name }
    },
    async publish({ workspace_id, params, actor }) {
      const { name } = await mailTemplate(workspace_id, params.id)
      await templates.publish(workspace_id, name, {}, actor)
      return { object: 'template', id: name }
    },
    async duplicate({ workspace_id, params, actor }) {
      const { name, description, category, default_locale, variables, variants } =
        await mailTemplate(workspace_id, params.id)
      const copy = await freeName(workspace_id, `${name.slice(0, NAME_LENGTH)}-copy`)
      const request = {
        ...{ name: copy, category, default_locale, variables, variants },
        ...(description !== null && { description }),
      }
      await templates.create(workspace_id, decode(api.templates.create.body, request), actor)
      return { object: 'template', id: copy }
    },
    async remove({ workspace_id, params, actor }) {
      const { name } = await mailTemplate(workspace_id, params.id)
      await templates.delete(workspace_id, name, actor)
      return { object: 'template', id: name, deleted: true }
    },
  }
}

/** Room for `-copy-999` in the longest name. */
const NAME_LENGTH = LIMITS.template_name_length - 9

function isName(id: string): boolean {
  return api.templates.get.params.shape.name.safeParse(id).success
}

/** `Order confirmation` → `order-confirmation`. */
function nameFrom(name: string): string {
  const plain = name
    .normalize('NFKD')
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
  return plain.slice(0, NAME_LENGTH).replace(/^-|-$/g, '') || 'template'
}

/** Resend has no layouts. */
function isMailTemplate({ category, variants }: Pick<ListedTemplate, 'category' | 'variants'>) {
  return category !== 'layout' && variants.some(isMail)
}

function isMail({ channel }: { channel: string }): boolean {
  return channel === 'email'
}

/** The variant that Resend's fields are about. */
function mailOf({ variants, default_locale }: Template): Template['variants'][number] {
  const found = variants.find((one) => isMail(one) && one.locale === default_locale)
  if (!found) throw new SvcError('not_found', one.not_found)
  return found
}

function contentOf(
  { subject, html, text, from, reply_to }: Fields,
  before: Partial<EmailContent>,
): Partial<EmailContent> {
  return {
    ...before,
    ...(subject !== undefined && { subject: toPlaceholders(subject) }),
    ...(html !== undefined && { html: toPlaceholders(html) }),
    ...(text !== undefined && { text: toPlaceholders(text) }),
    ...(from && { from_address: from.address }),
    ...(reply_to && { reply_to }),
  }
}

const TRIPLE = /\{\{\{([^{}]*)\}\}\}/g
const DOUBLE = /\{\{([^{}|#/\s]+)\}\}/g

/** Resend's placeholders have three braces. */
function toPlaceholders(text: string): string {
  return text.replace(TRIPLE, '{{$1}}')
}

function fromPlaceholders(text: string): string {
  return text.replace(DOUBLE, (all, name: string) => (name === 'else' ? all : `{{{${name}}}}`))
}

function variablesOf({ variables }: Fields) {
  return variables?.map(({ key, type, fallback_value }) => ({
    name: key,
    type: type === 'number' ? 'number' : 'text',
    ...(fallback_value !== undefined && { fallback: fallback_value }),
  }))
}

function summaryOf({
  name,
  description,
  version,
  published_at,
  created_at,
  updated_at,
}: Omit<ListedTemplate, 'variants'>) {
  return {
    id: name,
    name: description ?? name,
    alias: name,
    status: version === null ? 'draft' : 'published',
    published_at: published_at?.toISOString() ?? null,
    created_at: created_at.toISOString(),
    updated_at: updated_at.toISOString(),
  }
}

function recordOf(found: Template) {
  const { subject, html, text, from_address, reply_to } = mailOf(found).content as EmailContent
  return {
    object: 'template',
    ...summaryOf(found),
    current_version_id: `${found.name}:${found.version ?? 0}`,
    has_unpublished_versions: found.is_changed,
    subject: fromPlaceholders(subject),
    html: fromPlaceholders(html ?? ''),
    text: text === undefined ? null : fromPlaceholders(text),
    from: from_address ?? null,
    reply_to: typeof reply_to === 'string' ? [reply_to] : (reply_to ?? null),
    variables: found.variables.map((one) => variableOf(one, found)),
  }
}

function variableOf(
  { name, type, fallback }: TemplateVariable,
  { created_at, updated_at }: Template,
) {
  return {
    key: name,
    type: type === 'number' ? 'number' : 'string',
    fallback_value:
      fallback === undefined ? null : typeof fallback === 'boolean' ? String(fallback) : fallback,
    created_at: created_at.toISOString(),
    updated_at: updated_at.toISOString(),
  }
}
