import { explain } from '../process/failure.ts'
import type { OutputStream, ProcessIo } from '../process/process-io.ts'
import { printable, type Style, type StyleName, styleFor, textWidth } from './text.ts'

/** A value of a row; the output makes it printable. */
export type Cell = string | { text: string; style: StyleName }

/** The output of a command. */
export interface Output {
  /** Whether `--json` is set. In that case only `document` writes to stdout. */
  isJson(): boolean
  readonly isTerminal: boolean
  readonly style: Style
  /** Writes one JSON document on its own line. */
  document(value: unknown): void
  /** Writes a line for people. The caller must make foreign texts in it `printable`. */
  line(text?: string): void
  /** Writes a line for people to stderr. With `--json` it writes nothing. */
  note(text: string): void
  /** Writes one line of values. It separates them with tabs in a pipe and with two spaces on a terminal. */
  row(cells: readonly Cell[]): void
  /**
   * Writes rows to a pipe with tabs and without headings, and to a terminal under headings. A terminal shows times relative to
   * now, unless they are `exact`; columns that do not fit its width stand on a second line.
   */
  table(
    headings: readonly string[],
    rows: readonly (readonly Cell[])[],
    options?: { exact?: boolean },
  ): void
  /** Writes names and values, one pair on each line. Pairs without a value are left out. */
  fields(pairs: readonly (readonly [name: string, value: Cell | null])[]): void
  /** Reports the reason of a failure, with a hint for people. Returns the exit code. */
  failure(thrown: unknown, hint?: string): number
}

/** Writes to the streams of the run. It calls `isJson` each time, because the arguments may not be read yet. */
export function createOutput(io: ProcessIo, isJson: () => boolean): Output {
  const { stdout, stderr, env } = io
  const style = styleFor(stdout, env)
  const isTerminal = stdout.isTTY === true
  const write = (stream: OutputStream, text: string) => void stream.write(`${text}\n`)
  const row = (cells: readonly Cell[]) =>
    write(stdout, cells.map((cell) => cellText(cell, style)).join(isTerminal ? '  ' : '\t'))
  return {
    isJson,
    isTerminal,
    style,
    document: (value) => write(stdout, JSON.stringify(value)),
    line: (text = '') => write(stdout, text),
    note(text) {
      if (!isJson()) write(stderr, text)
    },
    row,
    table(headings, rows, { exact = false } = {}) {
      if (!isTerminal) return rows.forEach(row)
      const now = new Date()
      const shown = exact ? rows : rows.map((cells) => cells.map((cell) => relativeCell(cell, now)))
      for (const line of columns(headings, shown, style, stdout.columns)) write(stdout, line)
    },
    fields(pairs) {
      const rows = pairs.flatMap(([name, value]) => (value === null ? [] : [[name, value]]))
      if (!isTerminal) rows.forEach(row)
      else for (const line of columns(null, rows, style)) write(stdout, line)
    },
    failure(thrown, usageHint) {
      const { error, message, hint = usageHint, exit_code } = explain(thrown)
      if (isJson()) {
        write(stderr, JSON.stringify({ error, message }))
        return exit_code
      }
      const text = hint === undefined ? message : `${message.replace(/\.$/, '')} (${hint})`
      write(stderr, `${styleFor(stderr, env)('red', 'svc:')} ${printable(text)}`)
      return exit_code
    },
  }
}

/** The text of a cell, printable and styled. */
export function cellText(cell: Cell, style: Style): string {
  return typeof cell === 'string' ? printable(cell) : style(cell.style, printable(cell.text))
}

function columns(
  headings: readonly string[] | null,
  rows: readonly (readonly Cell[])[],
  style: Style,
  width = Number.POSITIVE_INFINITY,
): string[] {
  const head = headings ? [headings.map((text): Cell => ({ text, style: 'dim' }))] : []
  const all = [...head, ...rows]
  const widths: number[] = []
  for (const cells of all) {
    cells.forEach((cell, i) => {
      widths[i] = Math.max(widths[i] ?? 0, widthOf(cell))
    })
  }
  const groups = groupsOf(widths, width)
  return all.flatMap((cells) =>
    groups.flatMap(({ from, until }, n) => {
      const texts = cells.slice(from, until).map((cell, i) => {
        const padding = (widths[from + i] ?? 0) - widthOf(cell)
        return cellText(cell, style) + ' '.repeat(padding)
      })
      const line = texts.join(GAP).trimEnd()
      return n > 0 && line === '' ? [] : [n > 0 ? GAP + line : line]
    }),
  )
}

const GAP = '  '

/** The columns of each line of a row: as many as fit, and at least one. Later lines are indented. */
function groupsOf(widths: readonly number[], width: number): { from: number; until: number }[] {
  const groups = [{ from: 0, until: 0 }]
  let left = width
  for (const [i, needed] of widths.entries()) {
    const group = groups.at(-1) as { from: number; until: number }
    const isFirst = group.until === group.from
    if (!isFirst && needed > left) {
      groups.push({ from: i, until: i + 1 })
      left = width - GAP.length - needed - GAP.length
    } else {
      group.until = i + 1
      left -= needed + GAP.length
    }
  }
  return groups
}

function relativeCell(cell: Cell, now: Date): Cell {
  const text = typeof cell === 'string' ? cell : cell.text
  if (!INSTANT.test(text)) return cell
  const shown = relativeTime(new Date(text), now)
  return typeof cell === 'string' ? shown : { ...cell, text: shown }
}

function widthOf(cell: Cell): number {
  return textWidth(printable(typeof cell === 'string' ? cell : cell.text))
}

const MINUTE_S = 60
const HOUR_S = 60 * MINUTE_S
const DAY_S = 24 * HOUR_S

/** An instant as the API writes it. */
const INSTANT = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z$/

/** A time relative to now: `now`, `12 s ago`, `in 5 min`; after a week the date. */
export function relativeTime(at: Date, now: Date): string {
  const seconds = Math.round((at.getTime() - now.getTime()) / 1000)
  const size = Math.abs(seconds)
  if (size < 2) return 'now'
  if (size >= 7 * DAY_S) return at.toISOString().slice(0, 10)
  const [unit_s, unit] =
    size < MINUTE_S
      ? [1, 's']
      : size < HOUR_S
        ? [MINUTE_S, 'min']
        : size < DAY_S
          ? [HOUR_S, 'h']
          : [DAY_S, 'd']
  const text = `${Math.floor(size / (unit_s as number))} ${unit}`
  return seconds < 0 ? `${text} ago` : `in ${text}`
}
