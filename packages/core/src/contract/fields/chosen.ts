import * as z from 'zod'

/** A union. `choose` picks the option for a value, so that faults have the texts and paths of that option. */
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

/** Checks the length of the array before its items, because a body can hold a million items with a fault each. */
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

/** Keeps the schema as a description only: every value passes unchanged. */
export function unread<In>(schema: z.ZodType<unknown, In>): z.ZodType<unknown, In> {
  const run: z.core.$ZodType['_zod']['run'] = (payload) => payload
  schema._zod.parse = run
  schema._zod.run = run
  return schema
}
