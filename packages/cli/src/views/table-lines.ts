import type { Cell } from '../show/output.ts'
import { column, cut, printable, type Style, textWidth, wrapped } from '../show/text.ts'

const GAP = '  '
const COLUMN_MAX = 28
/** The minimum space for the last column. With less space it stands below the other columns. */
const LAST_MIN = 20

/** The lines of rows under headings. A line takes at most `columns` columns; the last column is wrapped. */
export function tableLines(
  headings: readonly string[],
  rows: readonly (readonly Cell[])[],
  columns: number,
  style: Style,
): string[] {
  const first = headings.length - 1
  const widths = headings
    .slice(0, first)
    .map((heading, i) =>
      Math.min(
        COLUMN_MAX,
        Math.max(...[heading, ...rows.map((row) => textOf(row[i]))].map(textWidth)),
      ),
    )
  const before = widths.reduce((sum, width) => sum + width + GAP.length, 0)
  const isBeside = columns - before >= LAST_MIN
  const head = headings.map((text, i) => column(text, widths[i] ?? textWidth(text))).join(GAP)
  const lines = rows.flatMap((row) => {
    const cells = widths.map((width, i) => styled(row[i], column(textOf(row[i]), width), style))
    const last = textOf(row[first])
    if (isBeside) {
      const [start = '', ...more] = wrapped(last, columns - before)
      return [[...cells, start].join(GAP), ...more.map((line) => ' '.repeat(before) + line)]
    }
    const plain = widths.map((width, i) => column(textOf(row[i]), width)).join(GAP)
    const below = last === '' ? [] : wrapped(last, columns - GAP.length)
    const above = before > columns ? cut(plain, columns) : cells.join(GAP)
    return [above, ...below.map((line) => GAP + line)]
  })
  return [style('dim', cut(head, columns)), ...lines]
}

function textOf(cell: Cell | undefined): string {
  if (cell === undefined) return ''
  return printable(typeof cell === 'string' ? cell : cell.text)
}

function styled(cell: Cell | undefined, text: string, style: Style): string {
  return cell === undefined || typeof cell === 'string' ? text : style(cell.style, text)
}
