import type { AcceptRequest } from '../rules/accept.ts'

/** The maximum number of rows that are inserted without a turn for other work: they take about 5 ms. */
const ROWS_MAX = 1_000

/** The same for the length of their contents, in UTF-16 code units: 2 million take about 10 ms. */
const LENGTH_MAX = 2 * 2 ** 20

type Message = AcceptRequest['messages'][number]

/** Whether the requests together exceed a slice, so that their rows are written in turns of the event loop. */
export function isLarge(requests: readonly AcceptRequest[]): boolean {
  let [rows, length] = [0, 0]
  for (const { messages, rejections } of requests) {
    rows += messages.length + rejections.length
    for (let i = 0; i < messages.length; i++) length += weightOf(messages[i] as Message)
    if (rows > ROWS_MAX || length > LENGTH_MAX) return true
  }
  return false
}

/** Divides rows into slices, in order, each with at least one row. */
export function slicesOf<Row>(
  rows: readonly Row[],
  weigh: (row: Row) => number = () => 0,
): Row[][] {
  const slices: Row[][] = []
  let length = 0
  for (const row of rows) {
    const weight = weigh(row)
    const last = slices.at(-1)
    if (last && last.length < ROWS_MAX && length + weight <= LENGTH_MAX) {
      last.push(row)
      length += weight
    } else {
      slices.push([row])
      length = weight
    }
  }
  return slices
}

/** The length of a message's content and metadata. */
export function weightOf({ content, metadata }: Message): number {
  return textLength(content) + textLength(metadata)
}

/** The length of all texts in a value. */
function textLength(value: unknown): number {
  if (typeof value === 'string') return value.length
  if (typeof value !== 'object' || value === null) return 0
  let length = 0
  for (const name in value) length += textLength((value as Record<string, unknown>)[name])
  return length
}
