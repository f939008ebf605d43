import type { Block, Page } from './pages.ts'

const SHELL = ['sh', 'console']

export function isShell(block: Block): boolean {
  return SHELL.includes(block.language)
}

/** SQL that is run, by the role that its first word names. */
export function isSql({ language, words }: Block): boolean {
  return language === 'sql' && words.length > 0
}

/**
 * A script with the commands of a page, each on its own line number, so that bash names the line of the page.
 * `before` returns commands for the line of a block's fence.
 */
export function scriptOf(page: Page, before: (block: Block) => string): string {
  const lines = page.lines.map(() => '')
  for (const block of page.blocks) {
    if (!isShell(block) && !isSql(block)) continue
    lines[block.line - 1] = before(block)
    if (isSql(block)) {
      lines[block.line - 1] = `sql ${block.words[0]} <<'SQL'`
      lines[block.line - 1 + block.code.split('\n').length] = 'SQL'
    }
    const code = block.language === 'console' ? typed(block.code) : block.code
    code.split('\n').forEach((text, i) => {
      if (text !== '') lines[block.line + i] = text
    })
  }
  return lines.join('\n')
}

/** The input of a shown session; its output becomes comments. */
function typed(session: string): string {
  return session.replaceAll(/^(?:\$ (.*)|(.+))$/gm, (_, command) => command ?? '')
}
