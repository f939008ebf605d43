import * as z from 'zod'
import { isRecord, text } from '../fields/fields.ts'
import { LIMITS } from '../limits.ts'

/** A value of a template that is no list; null is the same as no value. */
export type TemplateScalar = string | number | boolean | null

/** An item of a list: a value, or an object with values, which may be lists again. */
export type TemplateItem = TemplateScalar | { readonly [name: string]: TemplateValue }

/** The value of a variable. */
export type TemplateValue = TemplateScalar | readonly TemplateItem[]

/** The values of variables, indexed by name. */
export type TemplateValues = Readonly<Record<string, TemplateValue>>

/** The types of variables. */
export const VARIABLE_TYPES = ['text', 'number', 'boolean', 'list'] as const

/** The type of a variable. */
export type VariableType = (typeof VARIABLE_TYPES)[number]

const TEMPLATE_NAME_TEXT =
  'The name of a template must be 1 to 100 lower-case letters, digits, "-", "_" or ".", and begin with a letter or a digit'

/** The name of a template. */
export const templateName = z
  .string()
  .regex(/^[a-z0-9][a-z0-9_.-]{0,99}$/, TEMPLATE_NAME_TEXT)
  .meta({ example: 'order-ready' })

const LOCALE = /^[A-Za-z]{2,8}(?:-[A-Za-z0-9]{1,8}){0,4}$/

/** A language tag of BCP 47, such as `de-AT`, in its usual spelling. */
export const locale = z
  .string()
  .refine(
    (given) => localeName(given) !== null,
    'A locale must be a language tag such as en or de-AT',
  )
  .overwrite((given) => localeName(given) ?? given)
  .meta({ example: 'de-AT' })

function localeName(given: string): string | null {
  if (given.length > LIMITS.language_length || !LOCALE.test(given)) return null
  try {
    return Intl.getCanonicalLocales(given)[0] ?? null
  } catch {
    return null
  }
}

/** The fault of a value; `depth`: the number of lists around it. Null for a `TemplateValue`. */
export function valueFault(name: string, value: unknown, depth = 0): string | null {
  if (value === null || typeof value === 'number' || typeof value === 'boolean') return null
  if (typeof value === 'string') {
    return value.length > LIMITS.bulk_variable_length
      ? `Variable ${name} must be at most ${LIMITS.bulk_variable_length} characters`
      : null
  }
  if (!Array.isArray(value))
    return `Variable ${name} must be a string, a number, a boolean or a list`
  if (depth >= LIMITS.template_depth) {
    return `Variable ${name} has more than ${LIMITS.template_depth} lists in one another`
  }
  if (value.length > LIMITS.template_list_items) {
    return `Variable ${name} must have at most ${LIMITS.template_list_items} items`
  }
  for (const item of value) {
    const fault = isRecord(item)
      ? valuesFault(item, depth + 1)
      : Array.isArray(item)
        ? `Variable ${name} has a list as an item: items are values or objects`
        : valueFault(name, item, depth + 1)
    if (fault !== null) return fault
  }
  return null
}

function valuesFault(values: Record<string, unknown>, depth = 0): string | null {
  const names = Object.keys(values)
  if (names.length > LIMITS.bulk_variables) {
    return `At most ${LIMITS.bulk_variables} variables are allowed`
  }
  for (const name of names) {
    if (name.length > LIMITS.bulk_variable_name_length) {
      return `Names of variables must be at most ${LIMITS.bulk_variable_name_length} characters`
    }
    const fault = valueFault(name, values[name], depth)
    if (fault !== null) return fault
  }
  return null
}

/** Whether a value may stand for a variable of the type. A number is a text too. */
export function isOfType(type: VariableType, value: TemplateValue): boolean {
  if (type === 'list') return Array.isArray(value)
  if (type === 'text') return typeof value === 'string' || typeof value === 'number'
  return typeof value === type
}

/** The values of a template's variables. */
export const templateValues = z
  .custom<TemplateValues>(isRecord, {
    error: (issue) => `${(issue.path ?? []).join('.')} must be an object`,
  })
  .superRefine((values, ctx) => {
    const message = valuesFault(values)
    if (message !== null) ctx.addIssue({ code: 'custom', message })
  })
  .meta({
    type: 'object',
    additionalProperties: true,
    maxProperties: LIMITS.bulk_variables,
    description: `Strings of at most ${LIMITS.bulk_variable_length} characters, numbers, booleans, and lists of at most ${LIMITS.template_list_items} such values or objects.`,
    example: { order_id: 'A1', items: [{ title: 'Tea', count: 2 }] },
  })

/** A stored template in place of `content`. */
export const templateUse = z
  .strictObject({
    name: templateName,
    locale: locale.optional().meta({
      description:
        'Default: the default locale of the template. A locale without a variant falls back: de-AT, de, the default locale.',
    }),
    version: z.int().min(1).optional().meta({ description: 'Default: the latest version.' }),
    variables: templateValues.optional(),
  })
  .meta({ id: 'TemplateUse' })

/** A stored template in place of `content`. */
export type TemplateUse = z.output<typeof templateUse>

/** The template of a message, and what was used of it. */
export const usedTemplate = z
  .object({
    name: text(LIMITS.template_name_length),
    version: z.int().min(1),
    locale: z.string().meta({ description: 'The locale of the variant that was used.' }),
  })
  .meta({ id: 'UsedTemplate', example: { name: 'order-ready', version: 3, locale: 'de' } })

/** The template of a message, and what was used of it. */
export type UsedTemplate = z.output<typeof usedTemplate>
