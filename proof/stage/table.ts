/**
 * The lines of a Markdown table whose columns are as wide as their widest cell. The first row is the head.
 * @param areNumbers whether the columns after the first are aligned to the right.
 */
export function markdownOf(rows: readonly (readonly string[])[], { areNumbers = false } = {}) {
  const widths = (rows[0] ?? []).map((_, i) => Math.max(...rows.map((row) => row[i]?.length ?? 0)))
  const isRight = (i: number) => areNumbers && i > 0
  const lines = rows.map((row) => {
    const cells = widths.map((width, i) => row[i]?.[isRight(i) ? 'padStart' : 'padEnd'](width))
    return `| ${cells.join(' | ')} |`
  })
  const rules = widths.map(
    (width, i) => '-'.repeat(width + (isRight(i) ? 1 : 2)) + (isRight(i) ? ':' : ''),
  )
  return [lines[0] ?? '', `|${rules.join('|')}|`, ...lines.slice(1)]
}
