/** The `pagination` object of a list's answer; the page is 1 where the query has no page number. */
export function paginationOf(
  total: number,
  { page = 1, limit }: { page?: number | undefined; limit: number },
) {
  return { total, page, pages: Math.ceil(total / limit), limit }
}
