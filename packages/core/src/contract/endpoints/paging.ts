import * as z from 'zod'
import { LIMITS } from '../limits.ts'

const WHOLE_NUMBER = /^\d{1,12}$/

/** The message for a page size out of range. Source: interface, Errors. */
export const LIMIT_TEXT = `Limit must be between 1 and ${LIMITS.page_size_max}`

/** The page number of a query, from 1. Queries consist of strings, so strings become numbers here and nowhere else. */
export const page = wholeNumber({
  max: LIMITS.page_max,
  byDefault: LIMITS.page_default,
  otherwise: 'Page must be a positive integer',
})

/** The page size of a query. */
export const limit = wholeNumber({
  max: LIMITS.page_size_max,
  byDefault: LIMITS.page_size_default,
  otherwise: LIMIT_TEXT,
})

function wholeNumber({
  max,
  byDefault,
  otherwise,
}: {
  max: number
  byDefault: number
  otherwise: string
}) {
  // The default is set twice, because OpenAPI describes the encoded form.
  const wire = z
    .string(otherwise)
    .meta({ type: 'integer', minimum: 1, maximum: max, default: byDefault })
  return z
    .codec(wire, z.int().min(1).max(max), {
      decode: (value, ctx) => {
        const n = WHOLE_NUMBER.test(value) ? Number(value) : 0
        if (n >= 1 && n <= max) return n
        ctx.issues.push({ code: 'custom', message: otherwise, input: value })
        return z.NEVER
      },
      encode: (value) => String(value),
    })
    .default(byDefault)
}

/** The page of a list, and the totals. */
export const pagination = z.object({
  total: z.int().min(0),
  page: z.int().min(1),
  pages: z.int().min(0),
  limit: z.int().min(1),
})

/** The page of a list, and the totals. */
export type Pagination = z.output<typeof pagination>

/** A part of a list: at most `limit` rows after the first `offset`. */
export interface Slice {
  limit: number
  offset: number
}
