import { readdirSync, readFileSync } from 'node:fs'
import { Session } from 'node:inspector/promises'
import { findSourceMap } from 'node:module'
import { fileURLToPath } from 'node:url'
import ts from 'typescript'

/** The folders whose branches are counted, below `packages/core/src/`. */
const FOLDERS = ['rules', 'dispatch']
const SOURCES = new URL('../../packages/core/src/', import.meta.url)

/** Files that one thread on SQLite never runs, and functions of others. All other branches count as reachable. */
const OUT_OF_REACH: Readonly<Record<string, 'all' | readonly string[]>> = {
  // Threads.
  'dispatch/pool.ts': 'all',
  'dispatch/worker.ts': 'all',
  'dispatch/dispatching.ts': ['openPerformer'],
  'dispatch/mail-files.ts': ['memoryOf'],
  // PostgreSQL.
  'rules/decide.ts': ['toleranceOf', 'accountChange', 'relativeEntry'],
}

const session = new Session()

/** Counts what runs in modules that are loaded after this call. */
export async function startCoverage(): Promise<void> {
  session.connect()
  await session.post('Profiler.enable')
  await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: true })
}

/** A branch of a text: where it is, and where it is not, because `if` without `else` has no text for the other case. */
interface Branch {
  at: number
  /** The offset of what runs before the choice, for a branch that has no text. */
  before?: number
}

/** The branches of a file, and the lines of those that no step reached. */
interface FileCoverage {
  file: string
  count: number
  missed: number[]
  /** How many of the missed branches are out of reach. */
  unreachable: number
}

const LOGICAL = new Set([
  ts.SyntaxKind.AmpersandAmpersandToken,
  ts.SyntaxKind.BarBarToken,
  ts.SyntaxKind.QuestionQuestionToken,
])

/** Both cases of each `if`, `?:`, `&&`, `||` and `??`, each `case`, each `catch`, and each function. */
function branchesOf(file: ts.SourceFile): Branch[] {
  const found: Branch[] = []
  const start = (node: ts.Node) => node.getStart(file)
  const add = (node: ts.Node) => void found.push({ at: start(node) })
  const addOther = (node: ts.Node, arm: ts.Node) =>
    void found.push({ at: start(arm), before: start(node) })
  function visit(node: ts.Node): void {
    if (ts.isIfStatement(node)) {
      add(node.thenStatement)
      if (node.elseStatement) add(node.elseStatement)
      else addOther(node, node.thenStatement)
    } else if (ts.isConditionalExpression(node)) {
      add(node.whenTrue)
      add(node.whenFalse)
    } else if (ts.isBinaryExpression(node) && LOGICAL.has(node.operatorToken.kind)) {
      add(node.right)
      addOther(node, node.right)
    } else if (ts.isCaseOrDefaultClause(node)) {
      // A case without statements falls through to the next one.
      const [first] = node.statements
      if (first) add(first)
    } else if (ts.isCatchClause(node)) add(node.block)
    else if (ts.isFunctionLike(node) && 'body' in node && node.body) add(node.body as ts.Node)
    ts.forEachChild(node, visit)
  }
  visit(file)
  return found
}

/** The texts of a file that are out of reach. */
function unreachableIn(name: string, file: ts.SourceFile): ts.TextRange[] {
  const functions = OUT_OF_REACH[name]
  if (!functions) return []
  if (functions === 'all') return [file]
  return file.statements.filter(
    (one) => ts.isFunctionDeclaration(one) && functions.includes(one.name?.text ?? ''),
  )
}

interface Range {
  startOffset: number
  endOffset: number
  count: number
}

/** The number of times that the text at an offset ran: that of the smallest range around it. */
function countAt(ranges: readonly Range[], offset: number): number {
  const around = ranges.filter(
    ({ startOffset, endOffset }) => startOffset <= offset && offset < endOffset,
  )
  const size = ({ startOffset, endOffset }: Range) => endOffset - startOffset
  return around.reduce((least, one) => (size(one) < size(least) ? one : least)).count
}

async function coverageOf(
  url: URL,
  scripts: ReadonlyMap<string, { scriptId: string; ranges: readonly Range[] }>,
): Promise<FileCoverage> {
  const file = url.href.slice(SOURCES.href.length)
  const script = scripts.get(url.href)
  const text = script
    ? (await session.post('Debugger.getScriptSource', { scriptId: script.scriptId })).scriptSource
    : readFileSync(url, 'utf8')
  const parsed = ts.createSourceFile(file, text, ts.ScriptTarget.ESNext, true)
  const branches = branchesOf(parsed)
  const map = findSourceMap(fileURLToPath(url))
  const notRun = branches.filter(({ at, before }) => {
    if (!script) return true
    const count = countAt(script.ranges, at)
    return before === undefined ? count === 0 : count >= countAt(script.ranges, before)
  })
  const outside = unreachableIn(file, parsed)
  const isOutside = ({ at }: Branch) => outside.some(({ pos, end }) => pos <= at && at < end)
  const missed = notRun.map(({ at }) => {
    const { line, character } = parsed.getLineAndCharacterOfPosition(at)
    const entry = map?.findEntry(line, character)
    return (entry && 'originalLine' in entry ? entry.originalLine : line) + 1
  })
  return { file, count: branches.length, missed, unreachable: notRun.filter(isOutside).length }
}

/** The branches of the rules and the dispatch that ran since `startCoverage`, the least covered files first. */
export async function readCoverage(): Promise<FileCoverage[]> {
  const { result } = await session.post('Profiler.takePreciseCoverage')
  await session.post('Debugger.enable')
  const scripts = new Map(
    result.map(({ url, scriptId, functions }) => [
      url.split('?')[0] as string,
      { scriptId, ranges: functions.flatMap(({ ranges }) => ranges) },
    ]),
  )
  const names = FOLDERS.flatMap((folder) =>
    readdirSync(new URL(folder, SOURCES), { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.ts') && !name.endsWith('.test.ts'))
      .map((name) => `${folder}/${name}`),
  )
  const files = await Promise.all(names.map((name) => coverageOf(new URL(name, SOURCES), scripts)))
  session.disconnect()
  const missedShare = ({ missed, count }: FileCoverage) => missed.length / Math.max(count, 1)
  return files.sort((a, b) => missedShare(b) - missedShare(a))
}

/** The coverage as text: the whole, then each file that has a branch that was not reached. */
export function coverageText(files: readonly FileCoverage[]): string {
  const line = (name: string, own: readonly FileCoverage[]) => {
    const count = own.reduce((sum, one) => sum + one.count, 0)
    const reached = count - own.reduce((sum, one) => sum + one.missed.length, 0)
    return `${((100 * reached) / count).toFixed(1)} % of branches (${reached} of ${count}) ${name}`
  }
  const unreachable = files.reduce((sum, one) => sum + one.unreachable, 0)
  const reachable = files.reduce((sum, one) => sum + one.count, 0) - unreachable
  const reached = files.reduce((sum, one) => sum + one.count - one.missed.length, 0)
  return [
    line('in all', files),
    `${((100 * reached) / reachable).toFixed(1)} % of the branches in reach (${reached} of ${reachable})`,
    ...FOLDERS.map((folder) =>
      line(
        `${folder}/`,
        files.filter(({ file }) => file.startsWith(folder)),
      ),
    ),
    ...files
      .filter(({ missed }) => missed.length > 0)
      .map((one) => {
        const lines = [...new Set(one.missed)].sort((a, b) => a - b)
        return `${line(one.file, [one])}; not reached: ${lines.join(' ')}`
      }),
  ].join('\n')
}
