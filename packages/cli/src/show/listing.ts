import type { Command } from 'commander'
import type { Cell, Output } from './output.ts'
import { counted } from './text.ts'

/** Adds `--page` and `--limit`; the contract sets their bounds. */
export function withPage(command: Command): Command {
  return command
    .option('--limit <n>', 'rows per page, 1 to 100 (default: 50)')
    .option('--page <n>', 'the page number (default: 1)')
}

/** The options of `withPage`. */
export interface PageOptions {
  page?: string
  limit?: string
}

/** The page of the options as a request has it. The server refuses what is not a number within its bounds. */
export function pageOf({ page, limit }: { page: string | undefined; limit: string | undefined }): {
  page?: number
  limit?: number
} {
  return {
    ...(page !== undefined && { page: Number(page) }),
    ...(limit !== undefined && { limit: Number(limit) }),
  }
}

/**
 * The page of the options, for a list that the command reads from the database.
 * @throws SvcError as the API, for what is not a number within its bounds.
 */
export async function decodePage({ page, limit }: PageOptions): Promise<DecodedPage> {
  const { api, decode } = await import('@svc/core/contract')
  return decode(api.api_keys.list.query, { page, limit })
}

interface DecodedPage {
  page?: number | undefined
  limit: number
}

/** Reads the rows of a page with `read`, and one row more, which shows whether there is a next page. */
export async function readPage<T>(
  { page = 1, limit }: DecodedPage,
  read: (slice: { limit: number; offset: number }) => Promise<readonly T[]>,
): Promise<{ shown: T[]; paging: Paging }> {
  const found = await read({ limit: limit + 1, offset: (page - 1) * limit })
  const more = found.length > limit ? `More: --page ${page + 1}` : null
  return { shown: found.slice(0, limit), paging: { is_empty: found.length === 0, more } }
}

/** Where a page stands in its list. */
interface Paging {
  /** Whether the list has no rows. */
  is_empty: boolean
  /** Names the option for the next page; null on the last page. */
  more: string | null
}

/** The place of a page that the API describes. With a noun it has the number of all rows. */
export function pagingOf(
  { total, page, pages }: { total: number; page: number; pages: number },
  noun?: string,
  plural?: string,
): Paging {
  const next = `--page ${page + 1} (of ${pages})`
  const text =
    noun === undefined ? `More: ${next}` : `${counted(total, noun, plural)}; more: ${next}`
  return { is_empty: total === 0, more: pages > page ? text : null }
}

/** Shows the rows of a list: a JSON document, or a table with notes for an empty list and for the next page. */
export function listing(
  output: Output,
  {
    json,
    headings,
    rows,
    none,
    paging = { is_empty: rows.length === 0, more: null },
  }: {
    /** Returns the JSON document. */
    json: () => unknown
    headings: readonly string[]
    rows: readonly (readonly Cell[])[]
    /** The note for an empty list. */
    none?: string
    /** Default: the list has one page. */
    paging?: Paging
  },
): void {
  if (output.isJson()) {
    output.document(json())
    return
  }
  output.table(headings, rows)
  if (paging.is_empty && none !== undefined) output.note(none)
  if (paging.more !== null) output.note(paging.more)
}
