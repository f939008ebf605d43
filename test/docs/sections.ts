import type { Page } from './pages.ts'

/** The heading above a line. */
export function sectionOf(page: Page, line: number): string {
  const above = page.lines.slice(0, line).findLast((text) => /^#+ /.test(text))
  return above?.replace(/^#+ /, '') ?? ''
}
