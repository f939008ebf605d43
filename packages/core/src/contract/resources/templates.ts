import * as z from 'zod'
import { endpoint } from '../endpoints/endpoint.ts'
import { afterText, listQuery, nextAfter, pagination } from '../endpoints/paging.ts'
import { credits, text, timestamp, uuid } from '../fields/fields.ts'
import { LIMITS } from '../limits.ts'
import { CHANNELS, type Channel, type Content, storedContents } from './content.ts'
import { SMS_ENCODINGS } from './message.ts'
import {
  isOfType,
  locale,
  type TemplateValue,
  templateName,
  templateValues,
  VARIABLE_TYPES,
  valueFault,
} from './template-use.ts'

export * from './template-use.ts'

/** What the messages of a template are for. */
export const TEMPLATE_CATEGORIES = ['marketing', 'transactional'] as const

/** What the messages of a template are for. */
export type TemplateCategory = (typeof TEMPLATE_CATEGORIES)[number]

const VARIABLE_NAME = /^[\p{L}\p{N}_][\p{L}\p{M}\p{N}_.-]*$/u

const scalar = z.union([z.string().max(LIMITS.bulk_variable_length), z.number(), z.boolean()])

const templateVariable = z.strictObject({
  name: text(LIMITS.bulk_variable_name_length)
    // Tools of others read patterns without the flag for Unicode, so the document has none.
    .refine(
      (name) => VARIABLE_NAME.test(name),
      'The name of a variable must be letters, digits, "_", "." or "-"',
    )
    .meta({ example: 'order_id' }),
  type: z.enum(VARIABLE_TYPES),
  fallback: scalar.optional().meta({
    description: 'The value without one in the request. Not for a list.',
  }),
  example: z.unknown().optional().meta({
    description: 'A value of the type, for previews; not used to send.',
  }),
})

/** A declared variable of a template. */
export type TemplateVariable = z.output<typeof templateVariable>

const variables = z
  .array(templateVariable)
  .max(LIMITS.bulk_variables)
  .superRefine((list, ctx) => {
    const names = new Set<string>()
    for (const [index, { name, type, fallback, example }] of list.entries()) {
      const fault = (field: string, message: string) =>
        ctx.addIssue({ code: 'custom', path: [index, field], message })
      if (names.has(name)) fault('name', `Variable ${name} is declared twice`)
      names.add(name)
      if (fallback !== undefined && typeof fallback !== TYPE_OF[type]) {
        fault('fallback', `The fallback of ${name} must be a ${type}`)
      }
      const length = JSON.stringify(example)?.length ?? 0
      const wrong =
        length > LIMITS.bulk_variable_length
          ? `The example must be at most ${LIMITS.bulk_variable_length} characters`
          : exampleFault({ name, type, example })
      if (wrong !== null) fault('example', wrong)
    }
  })

/** Why a preview cannot use an example; null if it can. */
export function exampleFault({
  name,
  type,
  example = null,
}: Pick<TemplateVariable, 'name' | 'type' | 'example'>): string | null {
  if (example === null) return null
  const fault = valueFault(name, example)
  if (fault !== null) return `The example of ${name} cannot be used: ${fault}`
  const isGood = isOfType(type, example as TemplateValue)
  return isGood ? null : `The example of ${name} must be a ${type}`
}

const TYPE_OF = { text: 'string', number: 'number', boolean: 'boolean', list: '' } as const

function variantOf<const C extends Channel>(channel: C) {
  return z.strictObject({
    channel: z.literal(channel),
    locale,
    content: storedContents[channel],
  })
}

const variant = z
  .discriminatedUnion('channel', [
    variantOf('sms'),
    variantOf('whatsapp'),
    variantOf('email'),
    variantOf('voice'),
  ])
  .meta({ id: 'TemplateVariant' })

/** The content of a template for one channel and one locale. */
export interface TemplateVariant {
  channel: Channel
  locale: string
  content: Content
}

const variants = z
  .array(variant)
  .min(1)
  .max(LIMITS.template_variants)
  .superRefine((list, ctx) => {
    const seen = new Set<string>()
    for (const [index, { channel, locale }] of list.entries()) {
      const key = `${channel} ${locale}`
      if (seen.has(key)) {
        const message = `There are two variants for ${channel} in ${locale}`
        ctx.addIssue({ code: 'custom', path: [index], message })
      }
      seen.add(key)
    }
  })
  .meta({ description: 'One for each channel and locale, with placeholders.' })

const category = z.enum([...TEMPLATE_CATEGORIES, 'layout']).meta({
  description:
    'What the messages are for. A `layout` is sent by no message: it is the HTML around the e-mails of other templates, with `{{content}}` at their place.',
})
const description = text(LIMITS.template_description_length)
const defaultLocale = locale.meta({
  description:
    'The last locale of the fall-back, which every channel of the template must have. Default: the locale of the first variant.',
  example: 'en',
})

const storedVariant = z.object({
  channel: z.enum(CHANNELS),
  locale: z.string(),
  // Content that was validated in the request is not validated again in the answer.
  content: z
    .custom<Content>()
    .meta({ type: 'object', additionalProperties: true, example: { text: 'Hi {{name}}' } }),
})

const storedVariable = z
  .custom<TemplateVariable>()
  .meta({ type: 'object', additionalProperties: true, example: { name: 'name', type: 'text' } })

const ofTemplate = {
  name: z.string().meta({ example: 'order-ready' }),
  description: z.string().nullable(),
  category,
  default_locale: z.string(),
  variables: z.array(storedVariable),
  variants: z.array(storedVariant),
}

/** The record of a template: its draft, and which version is the latest. */
export const template = z
  .object({
    id: uuid,
    ...ofTemplate,
    version: z.int().nullable().meta({
      description: 'The latest version, which messages use; null before the first one.',
    }),
    is_changed: z.boolean().meta({
      description: 'Whether the draft differs from the latest version.',
    }),
    published_at: timestamp.nullable(),
    created_at: timestamp,
    updated_at: timestamp,
  })
  .meta({ id: 'Template' })

/** The record of a template. */
export type Template = z.output<typeof template>

/** A template in a list: its variants without their contents. */
export const listedTemplate = z
  .object({
    ...template.shape,
    variants: z.array(storedVariant.omit({ content: true })),
  })
  .omit({ variables: true })
  .meta({ id: 'ListedTemplate' })

/** A template in a list. */
export type ListedTemplate = z.output<typeof listedTemplate>

/** An immutable version of a template. */
export const templateVersion = z
  .object({ ...ofTemplate, version: z.int().min(1), published_at: timestamp })
  .meta({ id: 'TemplateVersion' })

/** An immutable version of a template. */
export type TemplateVersion = z.output<typeof templateVersion>

/** A version in a list: without variables and variants. */
export const listedVersion = templateVersion
  .omit({ variables: true, variants: true })
  .meta({ id: 'ListedTemplateVersion' })

/** A version in a list. */
export type ListedVersion = z.output<typeof listedVersion>

const newTemplate = z.object({
  name: templateName,
  description: description.optional(),
  category: category.default('transactional'),
  default_locale: defaultLocale.optional(),
  variables: variables.default(() => []),
  variants,
})

const pushedTemplates = z
  .array(newTemplate)
  .min(1)
  .max(LIMITS.template_push)
  .superRefine((list, ctx) => {
    const names = new Set<string>()
    for (const [index, { name }] of list.entries()) {
      const message = `There are two templates with the name ${name}`
      if (names.has(name)) ctx.addIssue({ code: 'custom', path: [index, 'name'], message })
      names.add(name)
    }
  })

/** What a push does to the draft of a template. */
export const TEMPLATE_CHANGES = ['created', 'updated', 'unchanged'] as const

/** What a push did, or would do, to one template. */
export const pushedTemplate = z
  .object({
    name: z.string().meta({ example: 'order-ready' }),
    change: z.enum(TEMPLATE_CHANGES),
    changed: z.array(z.string()).meta({
      description: 'The fields of the draft that changed.',
      example: ['variants'],
    }),
    is_published: z.boolean().meta({ description: 'Whether it became a new version.' }),
    version: z.int().nullable().meta({ description: 'The latest version afterwards.' }),
  })
  .meta({ id: 'PushedTemplate' })

/** What a push did, or would do, to one template. */
export type PushedTemplate = z.output<typeof pushedTemplate>

/** A template with the values of a preview filled in. */
export const templatePreview = z
  .object({
    channel: z.enum(CHANNELS),
    locale: z.string().meta({ description: 'The locale of the variant that was used.' }),
    content: z
      .custom<Content>()
      .meta({ type: 'object', additionalProperties: true, example: { text: 'Hi Asha' } }),
    missing: z.array(z.string()).meta({
      description: `The variables without a value, at most ${LIMITS.bulk_variables}. Their places are empty; a send would be refused.`,
      example: ['order_id'],
    }),
    encoding: z.enum(SMS_ENCODINGS).nullable(),
    segments: z.int().nullable().meta({ description: 'Only for sms.' }),
    credits: credits.meta({
      description:
        'The price of one message at the default price of its channel. Some prefixes of numbers may have another price.',
    }),
  })
  .meta({ id: 'TemplatePreview' })

/** A template with the values of a preview filled in. */
export type TemplatePreview = z.output<typeof templatePreview>

const access = { auth: 'jwt_or_api_key', scope: 'manage_contacts', rate: 'general' } as const
const NOT_FOUND = 'Template not found'
const one = { params: z.object({ name: templateName }), not_found: NOT_FOUND } as const

/** Stored templates. */
export const templates = {
  create: endpoint({
    ...access,
    method: 'POST',
    path: '/api/v1/templates',
    status: 201,
    body_limit: LIMITS.template_body_bytes,
    body: newTemplate,
    data: z.object({ template }),
    summary: 'Create a template as a draft',
    description: 'Messages use it once it is published.',
  }),
  push: endpoint({
    ...access,
    method: 'POST',
    path: '/api/v1/templates/push',
    status: 200,
    body_limit: LIMITS.template_push_bytes,
    body: z.object({
      templates: pushedTemplates,
      publish: z.boolean().default(true).meta({
        description: 'Whether drafts that differ from their latest version are published.',
      }),
      dry_run: z.boolean().default(false).meta({
        description: 'Whether the request is only checked, and the answer says what it would do.',
      }),
    }),
    data: z.object({ templates: z.array(pushedTemplate) }),
    summary: 'Create, change and publish templates together',
    description:
      'All of them or, on an error, none. A template of the workspace that the request does not name stays as it is. The order of variants does not count as a change.',
  }),
  preview: endpoint({
    ...access,
    needs: 'read',
    method: 'POST',
    path: '/api/v1/templates/preview',
    status: 200,
    body_limit: LIMITS.template_push_bytes,
    body: z
      .object({
        name: templateName.optional(),
        version: z.int().min(1).optional().meta({ description: 'Default: the draft.' }),
        template: newTemplate.omit({ name: true, description: true }).optional().meta({
          description: 'A template that is not stored, in place of `name`.',
        }),
        layouts: pushedTemplates.optional().meta({
          description:
            'Layouts of `template` that are not stored, such as those of the same push. They come before the published ones.',
        }),
        channel: z.enum(CHANNELS),
        locale: locale.optional(),
        variables: templateValues.optional(),
      })
      .refine(({ name, template }) => (name === undefined) !== (template === undefined), {
        error: 'Give exactly one of name and template',
      })
      .refine(({ name, version }) => version === undefined || name !== undefined, {
        path: ['version'],
        error: 'version needs name',
      })
      .refine(({ layouts, template }) => layouts === undefined || template !== undefined, {
        path: ['layouts'],
        error: 'layouts needs template',
      }),
    data: z.object({ preview: templatePreview }),
    failures: ['validation_error'],
    summary: 'Show what a template becomes with values',
    description:
      'The same content, to the byte, as a send with these values. A variable without a value and without a fallback takes its example. Nothing is stored or sent.',
  }),
  list: endpoint({
    ...access,
    method: 'GET',
    path: '/api/v1/templates',
    status: 200,
    query: listQuery({}),
    data: z.object({ templates: z.array(listedTemplate), pagination, next_after: nextAfter }),
    summary: 'List templates, newest first',
  }),
  get: endpoint({
    ...access,
    ...one,
    method: 'GET',
    path: '/api/v1/templates/:name',
    status: 200,
    data: z.object({ template }),
    summary: 'Get one template with its draft',
  }),
  update: endpoint({
    ...access,
    ...one,
    method: 'PUT',
    path: '/api/v1/templates/:name',
    status: 200,
    body_limit: LIMITS.template_body_bytes,
    body: z.object({
      description: description.nullable().optional(),
      category: category.optional(),
      default_locale: defaultLocale.optional(),
      variables: variables.optional(),
      variants: variants.optional(),
    }),
    data: z.object({ template }),
    summary: 'Change the draft of a template',
    description:
      'Changes the fields given. `variables` and `variants` replace their whole list. Messages use the latest version until the draft is published.',
  }),
  publish: endpoint({
    ...access,
    ...one,
    method: 'POST',
    path: '/api/v1/templates/:name/publish',
    status: 201,
    body: z.object({
      version: z.int().min(1).optional().meta({
        description:
          'An earlier version: it becomes the draft and is published again, under a new number.',
      }),
    }),
    data: z.object({ version: templateVersion }),
    failures: ['validation_error'],
    summary: 'Publish the draft as a new version',
    description:
      'A version never changes. A draft that equals the latest version makes no new one: the answer has the latest.',
  }),
  versions: endpoint({
    ...access,
    ...one,
    method: 'GET',
    path: '/api/v1/templates/:name/versions',
    status: 200,
    query: listQuery({}, afterText),
    data: z.object({ versions: z.array(listedVersion), pagination, next_after: nextAfter }),
    summary: 'List the versions of a template, newest first',
    description: 'Also of a deleted template.',
  }),
  version: endpoint({
    ...access,
    method: 'GET',
    path: '/api/v1/templates/:name/versions/:version',
    status: 200,
    params: z.object({
      name: templateName,
      version: z
        .string()
        .regex(/^[1-9]\d{0,8}$/)
        .meta({ example: '3' }),
    }),
    not_found: NOT_FOUND,
    data: z.object({ version: templateVersion }),
    summary: 'Get one version of a template',
    description:
      'Also of a deleted template, so that the version of an old message stays readable.',
  }),
  delete: endpoint({
    ...access,
    ...one,
    method: 'DELETE',
    path: '/api/v1/templates/:name',
    status: 200,
    data: z.object({ message: z.string() }),
    summary: 'Delete a template',
    description:
      'Messages cannot use it any more. Its versions stay readable until the workspace needs their space.',
  }),
} as const

/** What providers of WhatsApp say about a template. */
export const APPROVAL_STATES = [
  'approved',
  'pending',
  'refused',
  'missing',
  'unchecked',
  'unavailable',
] as const

/**
 * The state of a WhatsApp template at its providers. `refused`: it is rejected, paused or disabled; `missing`: no provider has it;
 * `unchecked`: a provider lists no templates; `unavailable`: no provider could be asked.
 */
export const templateApproval = z.object({
  state: z.enum(APPROVAL_STATES),
  /** The word of the provider for its state, and for the reason of a rejection. */
  status: z.string().nullable(),
  reason: z.string().nullable(),
  /** When the providers were asked; null: they were not. */
  checked_at: timestamp.nullable(),
})

/** The state of a WhatsApp template at its providers. */
export type TemplateApproval = z.output<typeof templateApproval>

const approvedName = text(LIMITS.whatsapp_template_name_length).optional()

/** A template of a WhatsApp content. */
export const approvalQuery = z.object({
  name: approvedName,
  id: approvedName,
  language: text(LIMITS.language_length).optional(),
  /** Asks the providers again, at most once a minute. */
  refresh: z.boolean().optional(),
})

/** A template of a WhatsApp content. */
export type ApprovalQuery = z.output<typeof approvalQuery>
