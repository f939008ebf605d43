import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { join, sep } from 'node:path'
import { Instrumenter } from '@stryker-mutator/instrumenter'
import type { Area } from './areas.ts'

/** One change of the code that `npm run mutants` may make. */
export interface Mutant {
  id: string
  /** Relative to the repository. */
  file: string
  line: number
  /** The kind of change, as Stryker names it. */
  kind: string
  /** The text that is replaced, and what replaces it. */
  original: string
  replacement: string
}

/** The sources of an area with all mutants in them, each behind a switch that is read at run time. */
export interface Instrumented {
  /** Text of each source by its absolute path. */
  texts: Record<string, string>
  mutants: readonly Mutant[]
}

/** Generates all mutants of an area, or of its files whose path contains `only`. Texts for people are left out: the arguments of plain errors and of the log. */
export async function instrument(
  root: string,
  { folder, except = [] }: Area,
  only: string,
): Promise<Instrumented> {
  const sources = readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.ts') && !path.endsWith('.test.ts') && !except.includes(path))
    .filter((path) => `${folder}/${path}`.includes(only))
    .sort()
  const files = sources.map((path) => {
    const name = join(root, folder, path)
    return { name, mutate: true, content: readFileSync(name, 'utf8') }
  })
  const options = { plugins: null, excludedMutations: [], ignorers: [TEXTS_FOR_PEOPLE] }
  const result = await new Instrumenter(SILENT).instrument(files, options)
  const contents = new Map(files.map(({ name, content }) => [name, content]))
  const texts = Object.fromEntries(result.files.map(({ name, content }) => [name, content]))
  const mutants = result.mutants
    .filter(({ status }) => status !== 'Ignored')
    .map(({ id, fileName, location, mutatorName, replacement }) => ({
      id,
      file: fileName.slice(root.length).split(sep).join('/').replace(/^\//, ''),
      line: location.start.line + 1,
      kind: mutatorName,
      original: textAt(contents.get(fileName) as string, location),
      replacement,
    }))
  return { texts, mutants }
}

interface Place {
  line: number
  column: number
}

function textAt(content: string, { start, end }: { start: Place; end: Place }): string {
  const lines = content.split('\n').slice(start.line, end.line + 1)
  const last = lines.length - 1
  lines[last] = lines[last]?.slice(0, end.column) ?? ''
  lines[0] = lines[0]?.slice(start.column) ?? ''
  return lines.join('\n')
}

/** A node of Babel's syntax tree, as far as it is read here. */
interface Node {
  type: string
  callee?: { name?: string; object?: { name?: string } }
}

const TEXTS_FOR_PEOPLE = {
  shouldIgnore(path: object): string | undefined {
    const { type, callee } = (path as { node: Node }).node
    const is_error = type === 'NewExpression' && /^(Type|Range)?Error$/.test(callee?.name ?? '')
    const is_log = type === 'CallExpression' && callee?.object?.name === 'log'
    return is_error || is_log ? 'a text for people' : undefined
  },
}

const silent = () => {}
const no = () => false
const SILENT = {
  isTraceEnabled: no,
  isDebugEnabled: no,
  isInfoEnabled: no,
  isWarnEnabled: no,
  isErrorEnabled: no,
  isFatalEnabled: no,
  trace: silent,
  debug: silent,
  info: silent,
  warn: silent,
  error: silent,
  fatal: silent,
}

/** `count` of the mutants, the same ones for a seed: one of each file in turn, so that a long file is not all. */
export function sample(mutants: readonly Mutant[], count: number, seed: number): Mutant[] {
  const files = [...new Set(mutants.map(({ file }) => file))]
  // By the place in its file alone, so that a change of one file chooses no others elsewhere.
  const queues = files.map((file) =>
    mutants
      .filter((mutant) => mutant.file === file)
      .map((mutant, index) => {
        const rank = createHash('sha256').update(`${seed} ${file} ${index}`).digest('hex')
        return { mutant, rank }
      })
      .sort((a, b) => (a.rank < b.rank ? -1 : 1)),
  )
  const chosen: Mutant[] = []
  while (chosen.length < Math.min(count, mutants.length)) {
    for (const queue of queues) {
      const next = queue.shift()
      if (next && chosen.length < count) chosen.push(next.mutant)
    }
  }
  return chosen
}
