import * as z from 'zod'

/** The root of the door: the value of `RESEND_BASE_URL` ends with it. */
export const ROOT = '/compat/resend'

/** The answers are Resend's, without an envelope. */
export const answer = { status: 200, enveloped: false, data: z.unknown() } as const

/** One id in a path. */
export const ONE_ID = z.object({ id: z.guid().overwrite((id) => id.toLowerCase()) })

const LIMIT_MAX = 100
const LIMIT_DEFAULT = 20
const LIMIT_TEXT = `The \`limit\` must be a number between 1 and ${LIMIT_MAX}.`

const position = z.guid('The position must be the id of an item.').optional()

/** The query of a list. Source: https://resend.com/docs/api-reference/pagination */
export const listQuery = listQueryOf(position)

/** The query of a list whose positions have this form. */
export function listQueryOf(form: z.ZodOptional<z.ZodType<string, string>>) {
  return z
    .object({
      limit: z
        .string(LIMIT_TEXT)
        .regex(/^\d{1,3}$/, LIMIT_TEXT)
        .transform(Number)
        .refine((limit) => limit >= 1 && limit <= LIMIT_MAX, LIMIT_TEXT)
        .default(LIMIT_DEFAULT),
      after: form,
      before: form,
    })
    .refine(({ after, before }) => after === undefined || before === undefined, {
      path: ['before'],
      error: 'Give `after` or `before`, not both.',
    })
}

/** A part of a list that is in memory, as a page of it. */
export function pageAmong<Item extends { id: string }>(
  items: readonly Item[],
  { limit, after, before }: z.output<typeof listQuery>,
): { object: 'list'; has_more: boolean; data: Item[] } {
  if (before !== undefined) {
    const newer = items.slice(
      0,
      Math.max(
        0,
        items.findIndex(({ id }) => id === before),
      ),
    )
    return { object: 'list', has_more: newer.length > limit, data: newer.slice(-limit) }
  }
  const from = after === undefined ? 0 : items.findIndex(({ id }) => id === after) + 1
  const older = after !== undefined && from === 0 ? [] : items.slice(from)
  return { object: 'list', has_more: older.length > limit, data: older.slice(0, limit) }
}
