import type { Result } from './play.ts'

/** A table of the results: client, version, passed checks, and checks that the version has no function for. */
export function tableOf(results: readonly Result[]): string {
  const rows = results.map(({ client, version, checks }) => {
    const tried = checks.filter(({ exists }) => exists)
    const passed = tried.filter(({ fault }) => fault === null)
    const missing = checks.filter(({ exists }) => !exists).map(({ name }) => name)
    return [
      client.package?.name ?? client.name,
      version,
      checks.length === 0 ? '-' : `${passed.length} of ${tried.length}`,
      missing.join(', '),
    ]
  })
  const all = [['Client', 'Version', 'Passed', 'Not in this version'], ...rows]
  const widths = all[0]?.map((_, i) => Math.max(...all.map((row) => row[i]?.length ?? 0))) ?? []
  const lines = all.map((row) =>
    row
      .map((cell, i) => cell.padEnd(widths[i] ?? 0))
      .join('  ')
      .trimEnd(),
  )
  return lines.join('\n')
}
