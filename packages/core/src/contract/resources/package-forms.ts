import * as z from 'zod'
import { text } from '../fields/fields.ts'
import { units } from '../fields/units.ts'
import { LIMITS } from '../limits.ts'
import { creditPackage } from './billing.ts'

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
export const packageSettings = listOf(setting)

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
