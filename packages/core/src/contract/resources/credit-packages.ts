import * as z from 'zod'
import { issueText, pathText } from '../endpoints/issue-text.ts'
import { text } from '../fields/fields.ts'
import { units } from '../fields/units.ts'
import { LIMITS } from '../limits.ts'
import { type CreditPackage, creditPackage } from './billing.ts'

/** Reads credit packages from JSON text. @throws RangeError that names the package, the field and the fault. */
export function readCreditPackages(json: string): CreditPackage[] {
  const value = parsed(json)
  const worded = new Set<string>()
  const error = (issue: RawIssue) => {
    const text = textOf(issue)
    worded.add(text)
    return text
  }
  const result = packageSettings.safeParse(value, { error })
  if (result.success) return result.data
  const { path = [], message = 'it is not a list' } = result.error.issues[0] ?? {}
  // A message that the schema itself defines does not name its field.
  const field = worded.has(message) ? '' : pathText(path.slice(1))
  throw new RangeError([nameOf(value, path[0]), field, message].filter(Boolean).join(': '))
}

type RawIssue = z.core.$ZodRawIssue

/** The text of a fault. The path in the text starts at the package. */
function textOf(issue: RawIssue): string {
  const path = issue.path ?? []
  if (issue.code === 'invalid_type' && path.length === 0) return 'it is not a list'
  if (issue.code === 'invalid_type' && path.length === 1) return 'it is not an object'
  return issueText({ ...issue, path: path.slice(1) }).trim()
}

/** Names a package by its id, or by its place in the list if it has no id. */
function nameOf(value: unknown, place: PropertyKey | undefined): string {
  if (typeof place !== 'number' || !Array.isArray(value)) return ''
  const { id } = (value[place] ?? {}) as { id?: unknown }
  return typeof id === 'string' && id !== ''
    ? `package ${JSON.stringify(id)}`
    : `package ${place + 1} of the list`
}

function parsed(json: string): unknown {
  try {
    return JSON.parse(json)
  } catch {
    throw new RangeError('it is not valid JSON')
  }
}

const price = creditPackage.shape.price.extend({
  currency: z.string().regex(/^[A-Z]{3}$/, 'must be three capital letters, for example USD'),
})
const positive = creditPackage.shape.credits.refine((amount) => amount > 0, 'must be above 0')
const orNothing = creditPackage.shape.bonus_credits.refine((n) => n >= 0, 'must be 0 or above')

/** A package in the settings. It has the fields of the API; bonus and description are optional. */
const setting = z.strictObject({
  id: z
    .string()
    .regex(/^[\w.-]+$/, 'must be letters, digits, ".", "-" or "_"')
    .max(LIMITS.package_id_length),
  name: text(LIMITS.package_name_length),
  description: z.string().max(LIMITS.package_description_length).default(''),
  credits: positive,
  bonus_credits: orNothing.default(units(0)),
  price: z.strictObject(price.shape),
})

/** Packages whose form is `Package`: at most 100, each with an id of its own. */
function listOf<Package extends z.ZodType<{ id: string }>>(each: Package) {
  return z
    .array(each)
    .max(LIMITS.credit_packages)
    .refine(
      (packages) => new Set(packages.map(({ id }) => id)).size === packages.length,
      'has one id twice',
    )
}

/** The packages of the settings. */
const packageSettings = listOf(setting)

/** Packages as a program passes them, with amounts in micro-credits. */
export const soldPackages = listOf(
  z.strictObject({
    ...setting.shape,
    description: setting.shape.description.unwrap(),
    credits: creditPackage.shape.credits.out.refine((amount) => amount > 0, 'must be above 0'),
    bonus_credits: creditPackage.shape.bonus_credits.out.refine(
      (amount) => amount >= 0,
      'must be 0 or above',
    ),
  }),
)
