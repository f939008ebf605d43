/** The limit and offset of a page. */
export function sliceOf({ page, limit }: { page: number; limit: number }): {
  limit: number
  offset: number
} {
  return { limit, offset: (page - 1) * limit }
}

/** The `pagination` object of a list's answer. */
export function paginationOf(total: number, { page, limit }: { page: number; limit: number }) {
  return { total, page, pages: Math.ceil(total / limit), limit }
}
