/**
 * Checks every regular expression in the packages' sources for inputs that make it slow (ReDoS), with recheck:
 *
 *   npm run regular-expressions
 *
 * There are no exceptions: rewrite an expression that is slow on any input. Exits with 1 when an expression is slow
 * or could not be checked in time.
 */

import { readdirSync, readFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { check } from 'recheck'
import ts from 'typescript'

const ROOT = fileURLToPath(new URL('..', import.meta.url))

/**
 * Slow is what reads many characters, not what takes long: on a busy machine, an expression without a fault also takes a second. An
 * attack has at most 300,000 characters; an expression without a fault reads each a few times.
 */
const BOUNDS = {
  timeout: 300_000,
  attackLimit: 50_000_000,
  attackTimeout: null,
  incubationTimeout: null,
  seedingTimeout: null,
} as const

/** Stands for a part of an expression that the file does not contain: a number between braces, or a letter. */
const UNKNOWN_PART = '1'

interface Expression {
  source: string
  flags: string
  /** File and line. */
  place: string
}

async function main(): Promise<void> {
  const expressions = sourceFiles().flatMap(expressionsIn)
  const byText = new Map(expressions.map((one) => [`/${one.source}/${one.flags}`, one]))
  const faults: string[] = []
  for (const [text, { source, flags, place }] of byText) {
    // The flags `d` and `v` do not change the time of a match, and the checker does not know them.
    const judged = await check(source, flags.replace(/[dv]/g, ''), BOUNDS)
    if (judged.status === 'safe') continue
    const why =
      judged.status === 'vulnerable'
        ? `${judged.complexity.summary}, attacked by ${judged.attack.pattern}`
        : `not judged (${judged.error.kind})`
    faults.push(`${place}: ${text} is ${why}`)
  }
  for (const fault of faults) console.error(fault)
  console.log(`${byText.size} regular expressions, ${faults.length} slow or not judged`)
  if (faults.length > 0 || byText.size === 0) process.exitCode = 1
}

function sourceFiles(): string[] {
  return readdirSync(join(ROOT, 'packages')).flatMap((name) =>
    readdirSync(join(ROOT, 'packages', name, 'src'), { recursive: true, encoding: 'utf8' })
      .filter((file) => /\.tsx?$/.test(file) && !/\.test\.tsx?$/.test(file))
      .map((file) => join(ROOT, 'packages', name, 'src', file)),
  )
}

function expressionsIn(file: string): Expression[] {
  const tree = ts.createSourceFile(file, readFileSync(file, 'utf8'), ts.ScriptTarget.Latest, true)
  const found: Expression[] = []
  const visit = (node: ts.Node): void => {
    const text = ts.isRegularExpressionLiteral(node) ? node.text : madeBy(node, tree)
    if (text !== null) {
      const end = text.lastIndexOf('/')
      const line = tree.getLineAndCharacterOfPosition(node.getStart()).line + 1
      const place = `${relative(ROOT, file)}:${line}`
      found.push({ source: text.slice(1, end), flags: text.slice(end + 1), place })
    }
    ts.forEachChild(node, visit)
  }
  visit(tree)
  return found
}

/** The literal form of a `new RegExp(…)`. */
function madeBy(node: ts.Node, tree: ts.SourceFile): string | null {
  if (!ts.isNewExpression(node) || node.expression.getText() !== 'RegExp') return null
  const [source, flags] = node.arguments ?? []
  const texts = constantTexts(tree)
  return `/${textOf(source, texts)}/${flags ? textOf(flags, texts) : ''}`
}

function textOf(node: ts.Expression | undefined, texts: ReadonlyMap<string, string>): string {
  if (node && ts.isStringLiteralLike(node)) return node.text
  if (node && ts.isIdentifier(node)) return texts.get(node.text) ?? UNKNOWN_PART
  if (!node || !ts.isTemplateExpression(node)) return UNKNOWN_PART
  const parts = node.templateSpans.map(
    ({ expression, literal }) => textOf(expression, texts) + literal.text,
  )
  return node.head.text + parts.join('')
}

/** The string constants of a file. */
function constantTexts(tree: ts.SourceFile): Map<string, string> {
  const texts = new Map<string, string>()
  for (const statement of tree.statements) {
    if (!ts.isVariableStatement(statement)) continue
    for (const { name, initializer } of statement.declarationList.declarations) {
      if (initializer && ts.isStringLiteralLike(initializer)) {
        texts.set(name.getText(), initializer.text)
      }
    }
  }
  return texts
}

await main()
