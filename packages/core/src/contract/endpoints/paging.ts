import * as z from 'zod'
import { text, uuid } from '../fields/fields.ts'
import { LIMITS } from '../limits.ts'

const WHOLE_NUMBER = /^\d{1,12}$/

/** The message for a page size out of range. Source: interface, Errors. */
export const LIMIT_TEXT = `Limit must be between 1 and ${LIMITS.page_size_max}`

/** The page number of a query, from 1. Queries consist of strings, so strings become numbers here and nowhere else. */
export const page = wholeNumber({
  max: LIMITS.page_max,
  byDefault: LIMITS.page_default,
  otherwise: 'Page must be a positive integer',
}).default(LIMITS.page_default)

/** The page size of a query. */
export const limit = wholeNumber({
  max: LIMITS.page_size_max,
  byDefault: LIMITS.page_size_default,
  otherwise: LIMIT_TEXT,
}).default(LIMITS.page_size_default)

/** The message for two positions in one request. */
const TWO_POSITIONS_TEXT = 'Give page or after, not both'

/** The position of a list whose items have ids. Any id is a position, also the id of an item that was removed since. */
const afterId = uuid.meta({
  description:
    'Only the items after the item with this id, in the order of the list; `next_after` of the previous page. Not with `page`.',
})

/** The position of a list whose items have no id, or are not in the order of their ids. */
export const afterText = text(LIMITS.cursor_length).meta({
  description:
    'The `next_after` of the previous page: only the items after that page. Not with `page`.',
})

/**
 * The query of a list: its filters, and `page` or `after`. Pages move while items are added; `after` does not, so it
 * neither repeats nor skips an item.
 */
export function listQuery<
  const Filters extends z.ZodRawShape,
  After extends z.ZodType<string, string> = typeof afterId,
>(filters: Filters, after: After = afterId as unknown as After) {
  return z
    .object({ ...filters, page: page.unwrap().optional(), limit, after: after.optional() })
    .check(({ value, issues }) => {
      const { after, page, cursor } = value as Record<string, unknown>
      if (after === undefined || (page ?? cursor) === undefined) return
      const message = page === undefined ? 'Give cursor or after, not both' : TWO_POSITIONS_TEXT
      issues.push({ code: 'custom', path: ['after'], message, input: after })
    })
}

/** The query of an export: its format and its part. */
export const exportQuery = {
  format: z.enum(['json', 'csv']).default('json'),
  limit: wholeNumber({
    max: LIMITS.export_rows,
    byDefault: LIMITS.export_rows,
    otherwise: `Limit must be between 1 and ${LIMITS.export_rows}`,
  })
    .default(LIMITS.export_rows)
    .meta({ description: 'The maximum number of rows. `after` continues.' }),
  after: uuid.optional().meta({
    description:
      'Only the rows after the row with this id: the last one of an earlier export, `next_after` in JSON.',
  }),
}

/** The `next_after` of an export as JSON. */
export const exportNext = z.string().nullable().meta({
  description:
    'The `after` that continues: after `limit` rows, or earlier if too many messages were examined that the filter does not select. Null if no rows follow.',
})

/** The `next_after` of a list's answer. */
export const nextAfter = z.string().nullable().meta({
  description: 'The `after` of the next page; null on the last page.',
})

/** A whole number of a query. */
export function wholeNumber({
  min = 1,
  max,
  byDefault,
  otherwise,
}: {
  min?: number
  max: number
  byDefault: number
  otherwise: string
}) {
  // The default is set twice, because OpenAPI describes the encoded form.
  const wire = z
    .string(otherwise)
    .meta({ type: 'integer', minimum: min, maximum: max, default: byDefault })
  return z.codec(wire, z.int().min(min).max(max), {
    decode: (value, ctx) => {
      const n = WHOLE_NUMBER.test(value) ? Number(value) : min - 1
      if (n >= min && n <= max) return n
      ctx.issues.push({ code: 'custom', message: otherwise, input: value })
      return z.NEVER
    },
    encode: (value) => String(value),
  })
}

/** The page of a list, and the totals. */
export const pagination = z
  .object({
    total: z.int().min(0),
    /** 1 with `after`. */
    page: z.int().min(1),
    pages: z.int().min(0),
    limit: z.int().min(1),
  })
  .meta({ id: 'Pagination' })

/** The page of a list, and the totals. */
export type Pagination = z.output<typeof pagination>

/** A part of a list: at most `limit` rows after the first `offset`. */
export interface Slice {
  limit: number
  offset: number
  /** Only rows after the row with this id, in the order of the list. */
  after?: string | undefined
}

/** The part of a list that a query selects. */
export function sliceOf({
  page = LIMITS.page_default,
  limit,
  after,
}: {
  page?: number | undefined
  limit: number
  after?: string | undefined
}): Slice {
  return { limit, offset: (page - 1) * limit, after }
}

/** The slice with one row more, which shows whether a page follows. */
export function withNext<S extends Slice>(slice: S): S {
  return { ...slice, limit: slice.limit + 1 }
}

/** The rows of a page, found with `withNext`, and the position of the next page; null on the last page. */
export function pageOf<Row>(
  found: readonly Row[],
  { limit }: Pick<Slice, 'limit'>,
  positionOf: (row: Row) => string,
): { rows: Row[]; next_after: string | null } {
  const rows = found.slice(0, limit)
  const last = rows.at(-1)
  return { rows, next_after: found.length > limit && last ? positionOf(last) : null }
}
