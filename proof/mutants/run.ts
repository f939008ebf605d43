import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, relative } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import type { Area } from './areas.ts'
import { instrument, type Mutant, sample } from './generate.ts'

/** What a process with tests works on. */
export interface Plan {
  texts: Record<string, string>
  mutants: readonly string[]
  /** The test files and folders in their order, and the files that are done. */
  tests: readonly string[]
  done: readonly string[]
  /** Mutants that a file did not notice, in the form `id file`. */
  tried: readonly string[]
  /** Which tests run, by their full names. */
  names: string
  postgres_url: string
  /** The file to which it appends what it does. */
  journal: string
}

/** A line of the journal: what begins, with the time it may take, or what it came to. */
export type Line =
  | { file: string; limit_ms: number; id?: string }
  | { file: string; id: string; by: string | null }
  | { file: string; done: true }
  /** The test that fails without a mutant, before or after the file's mutants. */
  | { file: string; unsound: string }

export interface AreaOptions {
  count: number
  seed: number
  postgres_url: string
  /** Only mutants of files whose path contains this. */
  only?: string
  /** Called with a test file that fails without a mutant: what it notices does not count. */
  onUnsound: (text: string) => void
}

/** The result of one mutant. */
export interface Fate {
  mutant: Mutant
  /** The test that failed, `its time`, or null if none did. */
  by: string | null
  /** Whether a test passes the changed place at all. */
  is_passed: boolean
}

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const LOOK_MS = 100
/** For vitest itself, before the first test file. */
const START_MAX_MS = 180_000

/**
 * Runs the tests of an area once for each of `count` of its mutants, chosen by `seed`.
 * @throws Error when the tests do not start.
 */
export async function runArea(
  area: Area,
  { count, seed, postgres_url, only = '', onUnsound }: AreaOptions,
): Promise<Fate[]> {
  const { texts, mutants } = await instrument(ROOT, area, only)
  const chosen = sample(mutants, count, seed)
  const folder = mkdtempSync(join(tmpdir(), 'svc-mutants-'))
  const by = new Map<string, { test: string | null; file: string }>()
  const done = new Set<string>()
  const tried = new Set<string>()
  try {
    for (let round = 0; ; round += 1) {
      const journal = join(folder, `journal-${round}`)
      const left = chosen.filter(({ id }) => !by.get(id)?.test).map(({ id }) => id)
      const { tests, names = '' } = area
      const plan: Plan = {
        texts,
        mutants: left,
        tests,
        done: [...done],
        tried: [...tried],
        names,
        postgres_url,
        journal,
      }
      const last = await runPlan(folder, plan)
      for (const line of readJournal(journal)) {
        if ('done' in line) done.add(relative(ROOT, line.file))
        if (!('by' in line)) continue
        if (!by.get(line.id)?.test) by.set(line.id, { test: line.by, file: line.file })
        tried.add(`${line.id} ${line.file}`)
      }
      for (const line of readJournal(journal)) {
        if (!('unsound' in line)) continue
        onUnsound(`${relative(ROOT, line.file)} fails without a mutant: ${line.unsound}`)
        done.add(relative(ROOT, line.file))
        // What it noticed before may be wrong.
        for (const each of by.values()) if (each.file === line.file) each.test = null
      }
      if (last === null) break
      by.set(last.id, { test: 'its time', file: last.file })
    }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
  return chosen.map((mutant) => ({
    mutant,
    by: by.get(mutant.id)?.test ?? null,
    is_passed: by.has(mutant.id),
  }))
}

/** The survivors of an area and the sum, and the percentage that was noticed. */
export function reportOf(
  { name }: Area,
  fates: readonly Fate[],
): { lines: string[]; percent: number } {
  const survivors = fates.filter(({ by }) => by === null)
  const lines = survivors.map(({ mutant, is_passed }) => {
    const { file, line, original, replacement } = mutant
    const change = `${oneLine(original)}  =>  ${oneLine(replacement)}`
    return `${file}:${line}  ${change}${is_passed ? '' : '  (no test runs it)'}`
  })
  const noticed = fates.length - survivors.length
  const percent = (100 * noticed) / fates.length
  const late = fates.filter(({ by }) => by === 'its time').length
  const share = `${noticed} of ${fates.length} noticed (${percent.toFixed(1)} %)`
  lines.push(`${name}: ${share}, ${late} of them by their time`)
  return { lines, percent }
}

function oneLine(text: string): string {
  return text.replace(/\s+/g, ' ').slice(0, 100)
}

/** Runs a process until it ends; returns the mutant that took too long or ended it. */
async function runPlan(folder: string, plan: Plan): Promise<{ id: string; file: string } | null> {
  const path = join(folder, 'plan.json')
  writeFileSync(path, JSON.stringify(plan))
  // Without the environment of the tests that started this process.
  const kept = Object.entries(process.env).filter(
    ([name]) => !/^(VITEST|TEST$|NODE_ENV$)/.test(name),
  )
  const child = spawn(
    process.execPath,
    [vitestOf(), 'run', '--root', ROOT, '--config', join(ROOT, 'proof/mutants/vitest.config.ts')],
    {
      cwd: ROOT,
      env: { ...Object.fromEntries(kept), SVC_MUTANTS_PLAN: path },
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe'],
    },
  )
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk) => {
      output = `${output}${chunk}`.slice(-10_000)
    })
  }
  const ended = once(child, 'close')
  const end = () => kill(child)
  process.on('exit', end)
  const line = await watch(child, plan.journal)
  if (child.exitCode === null) kill(child)
  await ended
  process.off('exit', end)
  if (line && ('done' in line || 'unsound' in line)) return null
  if (line && 'limit_ms' in line && line.id) return { id: line.id, file: line.file }
  throw new Error(`the tests ended early, after ${JSON.stringify(line)}\n${output}`)
}

/** Waits until the process ends or exceeds a limit; returns the last line of its journal. */
async function watch(child: ChildProcess, journal: string): Promise<Line | undefined> {
  let count = 0
  let since_ms = Date.now()
  for (;;) {
    const lines = readJournal(journal)
    if (lines.length > count) since_ms = Date.now()
    count = lines.length
    const last = lines.at(-1)
    const limit_ms = last && 'limit_ms' in last ? last.limit_ms : START_MAX_MS
    if (child.exitCode !== null || Date.now() - since_ms > limit_ms) return last
    await sleep(LOOK_MS)
  }
}

function readJournal(path: string): Line[] {
  if (!existsSync(path)) return []
  return readFileSync(path, 'utf8')
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line))
}

/** Ends the process with its children. */
function kill({ pid }: ChildProcess): void {
  if (pid === undefined) return
  try {
    process.kill(-pid, 'SIGKILL')
  } catch {
    // It ended by itself.
  }
}

function vitestOf(): string {
  return join(dirname(fileURLToPath(import.meta.resolve('vitest/package.json'))), 'vitest.mjs')
}
