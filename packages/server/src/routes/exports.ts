import { Readable } from 'node:stream'
import { ExportBound } from '@svc/core'
import { LIMITS, SvcError } from '@svc/core/contract'
import type { FastifyReply } from 'fastify'

/** What an export streams. */
export interface Exported<Row> {
  reply: FastifyReply
  workspace_id: string
  format: 'json' | 'csv'
  /** The name of the file and of the list in JSON. */
  name: string
  /**
   * The rows in pages; each page is read when the client has taken the ones before it. An `ExportBound` ends a JSON with the position
   * that continues. A CSV cannot say it: the error is answered before the first row, and later the connection is closed.
   */
  pages: AsyncIterable<readonly Row[]>
  /** The maximum number of rows. */
  limit: number
  /** The first line of the CSV. */
  header: string
  csv(rows: readonly Row[]): string
  json(row: Row): unknown
  /** The `after` that continues behind a row. */
  positionOf(row: Row): string
}

/** Streams a table to the client. @throws SvcError `rate_limit_exceeded` while too many exports are in flight. */
export type Export = <Row>(exported: Exported<Row>) => Readable

/** Makes the exports of one process. */
export function createExports(): Export {
  const inFlight = new Map<string, number>()
  let all = 0

  /** Counts an export until the connection or the stream closes. */
  function begin(workspaceId: string): () => void {
    const own = inFlight.get(workspaceId) ?? 0
    if (own >= LIMITS.exports_per_workspace || all >= LIMITS.exports) throw busy()
    inFlight.set(workspaceId, own + 1)
    all += 1
    let isOpen = true
    return () => {
      if (!isOpen) return
      isOpen = false
      all -= 1
      const left = (inFlight.get(workspaceId) ?? 1) - 1
      if (left > 0) inFlight.set(workspaceId, left)
      else inFlight.delete(workspaceId)
    }
  }

  return (exported) => {
    const { reply, workspace_id, format, name } = exported
    const end = begin(workspace_id)
    const texts = format === 'csv' ? csvOf(exported) : jsonOf(exported)
    // In bytes: a stream of objects would read 16 pages ahead of the client.
    const stream = Readable.from(texts, { objectMode: false })
    stream.once('close', end)
    // The client left: the page that is being read is the last one.
    reply.raw.once('close', () => stream.destroy())
    if (reply.raw.destroyed) stream.destroy()
    const type = format === 'csv' ? 'text/csv' : 'application/json'
    reply.header('content-type', `${type}; charset=utf-8`)
    reply.header('content-disposition', `attachment; filename="${name}.${format}"`)
    return stream
  }
}

function busy(): SvcError {
  const max = LIMITS.exports_per_workspace
  return new SvcError(
    'rate_limit_exceeded',
    `Too many exports are in flight (at most ${max} of a workspace). Please try again when one has ended.`,
    { retry_after_s: 5 },
  )
}

async function* csvOf<Row>({ pages, header, csv }: Exported<Row>): AsyncGenerator<string> {
  let head = header
  for await (const rows of pages) {
    // Without rows nothing is written: the yield ends the export of a client that left, and an error can still be answered.
    const text = rows.length > 0 ? head + csv(rows) : ''
    yield text
    if (text) head = ''
  }
  if (head) yield head
}

/** The envelope in pieces, one for each page. */
async function* jsonOf<Row>({
  pages,
  name,
  limit,
  json,
  positionOf,
}: Exported<Row>): AsyncGenerator<string> {
  let head = `{"success":true,"data":{"${name}":[`
  let count = 0
  let next: string | null = null
  try {
    for await (const rows of pages) {
      const texts = rows.map((row) => JSON.stringify(json(row)))
      const separator = count > 0 && texts.length > 0 ? ',' : ''
      // The space is for a page without rows: a silent connection would be closed.
      yield `${head}${separator}${texts.join(',') || ' '}`
      head = ''
      count += rows.length
      const last = rows.at(-1)
      if (last !== undefined && count >= limit) next = positionOf(last)
    }
  } catch (error) {
    if (!(error instanceof ExportBound)) throw error
    next = error.after
  }
  yield `${head}],"next_after":${JSON.stringify(next)}}}`
}
