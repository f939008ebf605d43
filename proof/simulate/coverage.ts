import { readdirSync, readFileSync } from 'node:fs'
import { Session } from 'node:inspector/promises'
import { findSourceMap } from 'node:module'
import { fileURLToPath } from 'node:url'
import ts from 'typescript'

/** The folders whose branches are counted, below `packages/core/src/`. */
const FOLDERS = ['rules', 'dispatch']
const SOURCES = new URL('../../packages/core/src/', import.meta.url)

/** Where a branch needs what a seed has not: the whole file, or the lines of these functions and texts. All other branches count as reachable. */
const OUT_OF_REACH: Readonly<Record<string, 'all' | readonly string[]>> = {
  // Threads. With one thread, `deliver` never fails, and each provider has a place in the gate of calls.
  'dispatch/pool.ts': 'all',
  'dispatch/worker.ts': 'all',
  'dispatch/dispatching.ts': ['openPerformer'],
  'dispatch/mail-files.ts': ['memoryOf'],
  'dispatch/delivery-lane.ts': [
    `const received = await performer.deliver(jobs, start_by_ms).catch((error) => {`,
    'is_unknown: answer === null && (!is_lost || losses.isExcused(delivery_id)),',
    'isExcused(deliveryId) {',
    'const count = (counts.get(deliveryId) ?? 0) + 1',
    'if (count >= LOST_MAX) return false',
    'if (counts.size > SLOTS && oldest !== undefined) counts.delete(oldest)',
  ],
  // PostgreSQL: partitions, the lock of a sweep, counters of several servers, and what another server queues.
  'rules/decide.ts': ['toleranceOf', 'accountChange', 'relativeEntry'],
  'dispatch/dispatcher.ts': [
    'storage.keepPartitions?.(partitions_ahead, now)',
    'if (added.length > 0)',
    'if (sweepCounters) {',
    'untilGone(() => sweepCounters(now, STEP_MAX))',
    'storage.hot.onWake?.((work) => {',
    "if (work !== 'deliveries') messages.wake()",
    "if (work !== 'messages') deliveries.wake()",
    "storage.alone('sweep', sweepAll)",
    "(error) => runtime.log.warn({ err: error }, 'sweeping failed'),",
  ],
  // PostgreSQL looks up nothing for keys without rows; SQLite stores an empty list.
  'rules/verify.ts': [
    'const recent = state.recent.get(keys.address) ?? []',
    'const recent = state.recent.get(address) ?? []',
    'const counted = counts.get(key) ?? []',
  ],
  'rules/step.ts': ['state.subscribers.get(workspace_id) ?? [],'],
  'rules/check-codes.ts': ['const theirs = subscribers.get(workspace_id) ?? []'],
  'rules/money.ts': ['const about = state.entries_about.get(message.id) ?? []'],
  'rules/settle-reports.ts': ['const attempts = state.attempts.get(message.id) ?? []'],
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

/** The branches of a file, and those that no step reached. */
interface FileCoverage {
  file: string
  count: number
  missed: number
  /** How many of the missed branches are out of reach, and the lines of the others. */
  unreachable: number
  left: number[]
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

/** The first and last lines of a file that are out of reach, from 0. */
function linesOutOfReach(name: string): [first: number, last: number][] {
  const listed = OUT_OF_REACH[name]
  if (!listed) return []
  if (listed === 'all') return [[0, Number.POSITIVE_INFINITY]]
  const text = readFileSync(new URL(name, SOURCES), 'utf8')
  const file = ts.createSourceFile(name, text, ts.ScriptTarget.ESNext, true)
  const lineOf = (at: number) => file.getLineAndCharacterOfPosition(at).line
  return listed.map((quote) => {
    const found = file.statements.find(
      (one) => ts.isFunctionDeclaration(one) && one.name?.text === quote,
    )
    if (found) return [lineOf(found.getStart(file)), lineOf(found.end)]
    const at = text.indexOf(quote)
    if (at === -1) throw new Error(`${name} has no ${quote}`)
    return [lineOf(at), lineOf(at)]
  })
}

/** The errors that say that the code broke a rule of its own. */
const BUGS = new Set(['Error', 'RangeError'])

/** Each `if` that only throws such an error: a program without a defect never does. */
function guardsIn(file: ts.SourceFile): ts.TextRange[] {
  const found: ts.TextRange[] = []
  function visit(node: ts.Node): void {
    if (ts.isIfStatement(node) && !node.elseStatement) {
      const then = node.thenStatement
      const only = ts.isBlock(then) && then.statements.length === 1 ? then.statements[0] : then
      const thrown = only && ts.isThrowStatement(only) ? only.expression : null
      if (thrown && ts.isNewExpression(thrown) && BUGS.has(thrown.expression.getText(file))) {
        found.push(node)
      }
    }
    ts.forEachChild(node, visit)
  }
  visit(file)
  return found
}

interface Range {
  startOffset: number
  endOffset: number
  count: number
}

/** The number of times that the text at an offset ran: that of the smallest range around it. V8 may forget the range of a module, which ran once. */
function countAt(ranges: readonly Range[], offset: number): number {
  const around = ranges.filter(
    ({ startOffset, endOffset }) => startOffset <= offset && offset < endOffset,
  )
  const size = ({ startOffset, endOffset }: Range) => endOffset - startOffset
  const module = { startOffset: 0, endOffset: Number.POSITIVE_INFINITY, count: 1 }
  return around.reduce((least, one) => (size(one) < size(least) ? one : least), module).count
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
  const guards = guardsIn(parsed)
  const outside = linesOutOfReach(file)
  const missed = notRun.map(({ at }) => {
    const { line, character } = parsed.getLineAndCharacterOfPosition(at)
    const entry = map?.findEntry(line, character)
    const own = entry && 'originalLine' in entry ? entry.originalLine : line
    const isUnreachable =
      guards.some(({ pos, end }) => pos <= at && at < end) ||
      outside.some(([first, last]) => first <= own && own <= last)
    return { line: own + 1, isUnreachable }
  })
  return {
    file,
    count: branches.length,
    missed: missed.length,
    unreachable: missed.filter(({ isUnreachable }) => isUnreachable).length,
    left: missed.flatMap(({ line, isUnreachable }) => (isUnreachable ? [] : line)),
  }
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
  const missedShare = ({ missed, count }: FileCoverage) => missed / Math.max(count, 1)
  return files.sort((a, b) => missedShare(b) - missedShare(a))
}

/** The coverage as text: the whole, then each file that has a branch that was not reached. */
export function coverageText(files: readonly FileCoverage[]): string {
  const line = (name: string, own: readonly FileCoverage[]) => {
    const count = own.reduce((sum, one) => sum + one.count, 0)
    const reached = count - own.reduce((sum, one) => sum + one.missed, 0)
    return `${((100 * reached) / count).toFixed(1)} % of branches (${reached} of ${count}) ${name}`
  }
  const unreachable = files.reduce((sum, one) => sum + one.unreachable, 0)
  const reachable = files.reduce((sum, one) => sum + one.count, 0) - unreachable
  const reached = files.reduce((sum, one) => sum + one.count - one.missed, 0)
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
      .filter(({ missed }) => missed > 0)
      .map((one) => {
        const lines = [...new Set(one.left)].sort((a, b) => a - b)
        const out = one.unreachable > 0 ? `; out of reach: ${one.unreachable}` : ''
        return `${line(one.file, [one])}${out}; not reached: ${lines.join(' ')}`
      }),
  ].join('\n')
}
