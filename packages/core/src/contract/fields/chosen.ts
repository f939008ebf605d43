import * as z from 'zod'

/**
 * A union of which `choose` picks the option by a look at the value. Its faults are then told as that option tells
 * them, with their paths, where a plain union only says that no option fits.
 */
export function chosen<const Options extends readonly [z.ZodType, z.ZodType, ...z.ZodType[]]>(
  options: Options,
  choose: (value: unknown) => Options[number],
): z.ZodUnion<Options> {
  const union = z.union(options)
  const run: z.core.$ZodType['_zod']['run'] = (payload, ctx) =>
    choose(payload.value)._zod.run(payload, ctx)
  union._zod.parse = run
  union._zod.run = run
  return union
}

/**
 * The array schema, with its length looked at before its items: a body can hold a million of them, and each that is
 * wrong would be told.
 */
export function notLongerThan<A extends z.ZodArray>(array: A, max: number, message: string): A {
  const { run } = array._zod
  array._zod.run = (payload, ctx) => {
    const { value } = payload
    if (!Array.isArray(value) || value.length <= max) return run(payload, ctx)
    payload.issues.push({ code: 'custom', message, input: value.length, inst: array })
    return payload
  }
  return array
}

/** The schema as a description alone: every value passes it as it is, for others to read. */
export function unread<In>(schema: z.ZodType<unknown, In>): z.ZodType<unknown, In> {
  const run: z.core.$ZodType['_zod']['run'] = (payload) => payload
  schema._zod.parse = run
  schema._zod.run = run
  return schema
}
