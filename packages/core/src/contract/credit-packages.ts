import { z } from 'zod'
import { type CreditPackage, creditPackage } from './billing.ts'
import { text } from './fields.ts'
import { LIMITS } from './limits.ts'
import { units } from './units.ts'

const price = creditPackage.shape.price.extend({
  currency: z.string().regex(/^[A-Z]{3}$/, 'must be three capital letters, for example USD'),
})
const positive = creditPackage.shape.credits.refine((amount) => amount > 0, 'must be above 0')
const orNothing = creditPackage.shape.bonus_credits.refine((n) => n >= 0, 'must be 0 or above')

/** A package as the operator writes it: what the API shows, with the bonus and the description left out at will. */
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

const settings = z
  .array(setting)
  .max(LIMITS.credit_packages)
  .refine(
    (packages) => new Set(packages.map(({ id }) => id)).size === packages.length,
    'has one id twice',
  )

/**
 * Reads credit packages off JSON text.
 * @throws RangeError that says what is wrong, and where.
 */
export function readCreditPackages(json: string): CreditPackage[] {
  const result = settings.safeParse(parsed(json))
  if (result.success) return result.data
  const { path, message } = result.error.issues[0] ?? {
    path: [],
    message: 'is no list of packages',
  }
  throw new RangeError([path.join('.'), message].filter(Boolean).join(': '))
}

function parsed(json: string): unknown {
  try {
    return JSON.parse(json)
  } catch {
    throw new RangeError('it is no JSON')
  }
}
