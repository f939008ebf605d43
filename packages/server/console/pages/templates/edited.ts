import type { Template, TemplatesCreateBody, TemplateVersion } from '@svc/client'
import { session } from '../../shell/session.ts'
import { t } from '../../shell/text.ts'
import { wordOf } from '../../shell/words.ts'
import { objectIn } from '../compose/draft.ts'
import { type Fault, filled } from '../compose/filled.ts'
import { type Channel, channelName } from '../messages/channels.ts'
import type { AnyContent } from '../messages/content.tsx'

type Variable = NonNullable<TemplatesCreateBody['variables']>[number]

/** The types of variables and their names. */
export const TYPES = [
  ['text', t('Text')],
  ['number', t('Number')],
  ['boolean', t('Yes or no')],
  ['list', t('List')],
] as const

/** A variable as typed. */
export interface EditedVariable {
  name: string
  type: Variable['type']
  fallback: string
  example: string
  /** The stored variable: a value that was not typed over stays as it is. */
  was?: Variable
}

/** A text for one channel and one locale as typed. */
export interface EditedVariant {
  channel: Channel
  locale: string
  subject: string
  html: string
  text: string
  layout: string
  preview_text: string
  /** The other fields of the content, as JSON. */
  more: string
}

/** A draft as typed. */
export interface Edited {
  name: string
  description: string
  category: Template['category']
  /** Empty: the locale of the first variant. */
  default_locale: string
  variables: EditedVariable[]
  variants: EditedVariant[]
}

/** A variant without a content. */
export const newVariant = (channel: Channel, locale: string): EditedVariant => ({
  ...{ channel, locale, subject: '', html: '', text: '', layout: '', preview_text: '', more: '' },
})

/** The form of a template that is not stored. */
export const newTemplate = (): Edited => ({
  ...{ name: '', description: '', category: 'transactional', default_locale: '' },
  ...{ variables: [], variants: [newVariant('sms', 'en')] },
})

/** The form of a stored draft or of a version. */
export function editedOf(one: Template | TemplateVersion): Edited {
  const { name, description, category, default_locale } = one
  return {
    ...{ name, description: description ?? '', category, default_locale },
    variables: (one.variables as unknown as Variable[]).map((was) => ({
      ...{ name: was.name, type: was.type, was },
      ...{ fallback: textOf(was.fallback), example: textOf(was.example) },
    })),
    variants: one.variants.map(({ channel, locale, content }) => {
      const {
        subject = '',
        html = '',
        text = '',
        layout = '',
        preview_text = '',
        ...rest
      } = content as AnyContent & { layout?: string; preview_text?: string }
      const more = Object.keys(rest).length > 0 ? JSON.stringify(rest, null, 2) : ''
      return { channel, locale, subject, html, text, layout, preview_text, more }
    }),
  }
}

function textOf(value: unknown): string {
  return value === undefined ? '' : typeof value === 'string' ? value : JSON.stringify(value)
}

/** The value of a field of a variable; undefined for none. */
function typedValue({ type, was }: EditedVariable, text: string, before: unknown): unknown {
  if (was?.type === type && text === textOf(before)) return before
  if (text === '') return undefined
  if (type === 'text') return text
  try {
    return JSON.parse(text)
  } catch {
    // The service says of which type it must be.
    return text
  }
}

const variableOf = (one: EditedVariable) =>
  filledIn({
    ...{ name: one.name.trim(), type: one.type },
    fallback: one.type === 'list' ? undefined : typedValue(one, one.fallback, one.was?.fallback),
    example: typedValue(one, one.example, one.was?.example),
  }) as Variable

/** Without the fields that are undefined. */
function filledIn(fields: object): object {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined))
}

/** The variant in a request. `path`: of its content, for faults. */
function variantOf(one: EditedVariant, path: string, faults: Fault[]) {
  const { channel, locale, subject, html, text, layout, preview_text } = one
  const content = {
    ...objectIn(one.more, `${path}.more`, faults),
    ...filled({ subject, html, text, layout, preview_text }),
  }
  return { channel, locale, content }
}

/** The request that stores the form, and the faults that the page finds itself. */
export function requestOf({ variables, variants, description, category, default_locale }: Edited) {
  const faults: Fault[] = []
  const body = {
    description: description.trim(),
    category,
    ...(default_locale && { default_locale }),
    variables: variables.map(variableOf),
    variants: variants.map((one, i) => variantOf(one, `variants.${i}.content`, faults)),
  } as Omit<TemplatesCreateBody, 'name'> & { description: string }
  return { body, faults }
}

/** The request that previews one variant; null as long as it has too little content. Unnamed variables are left out. */
export function previewRequestOf({ category, variables, variants }: Edited, index: number) {
  const one = variants[index]
  if (!one || isBare(one, category)) return null
  const faults: Fault[] = []
  const variant = variantOf(one, '', faults)
  if (faults.length > 0) return null
  const template = {
    category,
    variables: named(variables).map(variableOf),
    variants: [variant],
  } as Omit<TemplatesCreateBody, 'name'>
  return { channel: one.channel, template }
}

/** A template of WhatsApp, by its name or by an id of the operator. */
export type WhatsappTemplate = { name?: string; id?: string; language?: string }

/** The template of WhatsApp that a text names; null for none, and while its fields are no JSON. */
export function whatsappTemplateOf({ channel, more }: EditedVariant): WhatsappTemplate | null {
  if (channel !== 'whatsapp') return null
  const { template } = (objectIn(more, '', []) ?? {}) as { template?: object }
  const { name, id, language } = { ...template } as Record<keyof WhatsappTemplate, unknown>
  const given = Object.entries({ name, id, language })
  const texts = given.filter(([, value]) => typeof value === 'string' && value !== '')
  const found: WhatsappTemplate = Object.fromEntries(texts)
  return (found.name ?? found.id) === undefined ? null : found
}

/** The variables that have a name. */
export const named = (variables: readonly EditedVariable[]) =>
  variables.filter(({ name }) => name.trim() !== '')

function isBare(
  { channel, subject, html, text, more }: EditedVariant,
  category: Edited['category'],
): boolean {
  if (channel === 'email') {
    return (subject === '' && category !== 'layout') || (html || text) === ''
  }
  return (text || more) === ''
}

export const isSame = (one: unknown, other: unknown) =>
  JSON.stringify(one) === JSON.stringify(other)

/** A form in lines that people can compare. */
export function linesOf({ variables, variants, ...one }: Edited): string[] {
  return [
    ...(one.description ? [t('Description: {description}', { description: one.description })] : []),
    t('Category: {category}', { category: wordOf(one.category) }),
    t('Default language: {default_locale}', { default_locale: one.default_locale }),
    ...variables.map((each) => {
      const { name, type, ...rest } = variableOf(each)
      return t('Variable {name} ({type}) {rest}', {
        name,
        type: wordOf(type),
        rest: JSON.stringify(rest),
      })
    }),
    ...variants.flatMap(({ channel, locale, subject, html, text, layout, preview_text, more }) => [
      t('{channel} in {locale}', { channel: channelName(channel), locale }),
      ...[
        subject && t('Subject: {subject}', { subject }),
        preview_text && t('Preview text: {preview_text}', { preview_text }),
        layout && t('Layout: {layout}', { layout }),
        ...[html, text, more],
      ]
        .filter(Boolean)
        .join('\n')
        .split(/\r?\n/)
        .map((line) => `  ${line}`),
    ]),
  ]
}

/** Changes that are not saved, so that they are there again when the person comes back to the template. */
const unsaved = new Map<string, { edited: Edited; base: Edited }>()

const keyOf = (name: string) => `${session.value?.user.id} ${session.value?.workspace_id} ${name}`

/** The changes of a template that are not saved, and the draft on which they are based; `''` names the new template. */
export const unsavedOf = (name: string) => unsaved.get(keyOf(name))

/** Keeps changes until the page is closed. */
export function keep(name: string, edited: Edited, base: Edited): void {
  if (isSame(edited, base)) unsaved.delete(keyOf(name))
  else unsaved.set(keyOf(name), { edited, base })
}

addEventListener('beforeunload', (event) => {
  if (unsaved.size > 0) event.preventDefault()
})
