import type { CheckResult, ConformanceReport } from './conformance.ts'

/**
 * Formats a report as JUnit XML for build servers. A failed `should` is not a failure in JUnit,
 * but appears in the output.
 */
export function junitOf({ checks, failed, duration_ms }: ConformanceReport): string {
  const missed = checks.filter(isUnrun).length
  const counts = `tests="${checks.length}" failures="${failed}" errors="0" skipped="${missed}"`
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    `<testsuites ${counts} time="${seconds(duration_ms)}">`,
    `  <testsuite name="webhook receiver" ${counts} time="${seconds(duration_ms)}">`,
    ...checks.map((check) => `    ${testcaseOf(check)}`),
    '  </testsuite>',
    '</testsuites>',
    '',
  ].join('\n')
}

function testcaseOf(check: CheckResult): string {
  const { name, description, duration_ms } = check
  const open = `<testcase classname="webhook receiver" name="${escaped(`${name}: ${description}`)}" time="${seconds(duration_ms)}"`
  const inside = insideOf(check)
  return inside === '' ? `${open}/>` : `${open}>${inside}</testcase>`
}

function insideOf(check: CheckResult): string {
  const text = escaped(`It ${check.found}. ${check.mend}`)
  if (check.outcome === 'failed') {
    return `<failure message="${escaped(`It ${check.found}`)}">${text}</failure>`
  }
  if (check.outcome === 'warned') return `<system-out>${text}</system-out>`
  return isUnrun(check) ? `<skipped message="${escaped(check.found ?? '')}"/>` : ''
}

function isUnrun({ outcome }: CheckResult): boolean {
  return outcome === 'skipped' || outcome === 'not_reached'
}

function seconds(ms: number): string {
  return (ms / 1000).toFixed(3)
}

const ENTITIES: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' }

/** Removes characters that XML does not allow. */
function escaped(text: string): string {
  return text
    .replace(/[^\t\n\r\u0020-\ud7ff\ue000-\ufffd]/gu, '')
    .replace(/[&<>"]/g, (character) => ENTITIES[character] ?? character)
}
