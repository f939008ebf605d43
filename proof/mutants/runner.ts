import { appendFileSync, readFileSync } from 'node:fs'
import { type File, type Suite, startTests, type Task, type Test } from '@vitest/runner'
import { vi } from 'vitest'
import { VitestTestRunner } from 'vitest/runners'
import type { Line, Plan } from './run.ts'

/** What the switches of Stryker's instrumenter read and write. */
interface Switches {
  activeMutant?: string | undefined
  currentTestId?: string | undefined
  /** How often each mutant was passed: while modules load, and by each test or the hooks of each suite. */
  mutantCoverage: {
    static: Record<string, number>
    perTest: Record<string, Record<string, number>>
  }
  hitCount?: number
  hitLimit?: number
}

const held = globalThis as { __stryker__?: Switches }
held.__stryker__ ??= { mutantCoverage: { static: {}, perTest: {} } }
const switches = held.__stryker__

/** A loop that a mutant made endless ends after so many times the passes of the unchanged tests. */
const PASSES_MAX = 100
/** A run with a mutant may take this long, and so many times as long as the one without. */
const EXTRA_MS = 6_000
const TIMES_MAX = 5
/** Modules with a mutant that they pass as they load are loaded again. */
const LOAD_MS = 3_000
/** The part of the time of its tests in which the quickest of them try a mutant first. Most mutants need no others. */
const QUICK_PART = 0.1

const plan: Plan = JSON.parse(readFileSync(process.env.SVC_MUTANTS_PLAN as string, 'utf8'))

function journal(line: Line): void {
  appendFileSync(plan.journal, `${JSON.stringify(line)}\n`)
}

/** Runs each test file as usual, learns which mutants its tests pass, and runs these tests again for each mutant. */
export default class MutantRunner extends VitestTestRunner {
  onBeforeCollect([path]: string[]): void {
    journal({ file: path as string, limit_ms: 600_000 })
    // Modules load again, so that what they pass meanwhile is known for each file.
    vi.resetModules()
    switches.activeMutant = undefined
    switches.currentTestId = undefined
    for (const counts of Object.values(switches.mutantCoverage)) {
      for (const key of Object.keys(counts)) delete counts[key]
    }
  }

  override async onBeforeRunSuite(suite: Suite): Promise<void> {
    switches.currentTestId = suite.id
    await super.onBeforeRunSuite(suite)
  }

  override async onAfterRunSuite(suite: Suite): Promise<void> {
    await super.onAfterRunSuite(suite)
    switches.currentTestId = suite.suite?.id ?? suite.file.id
  }

  override async onBeforeRunTask(test: Test): Promise<void> {
    switches.currentTestId = test.id
    await super.onBeforeRunTask(test)
  }

  override onAfterRunTask(test: Test): void {
    switches.currentTestId = (test.suite ?? test.file).id
    super.onAfterRunTask(test)
  }

  override async onAfterRunFiles(files: File[] = []): Promise<void> {
    super.onAfterRunFiles()
    for (const file of files) await this.runMutants(file)
  }

  private async runMutants(file: File): Promise<void> {
    const path = file.filepath
    const broken = firstFailure(file)
    if (broken) return journal({ file: path, unsound: broken })
    const passes = structuredClone(switches.mutantCoverage)
    let is_changed = false
    for (const id of plan.mutants) {
      const is_static = passes.static[id] !== undefined
      // The hooks of a suite concern all its tests, and what modules do as they load all of the file.
      const passed = (task: Task) => is_static || passes.perTest[task.id]?.[id] !== undefined
      const tests = testsOf(file).filter((test) => withSuites(test).some(passed))
      if (noticed.has(id) || plan.tried.includes(`${id} ${path}`) || tests.length === 0) continue
      is_changed = true
      const counts = Object.values(passes.perTest).map((tasks) => tasks[id] ?? 0)
      switches.hitLimit = PASSES_MAX * counts.reduce((sum, count) => sum + count, 100)
      let by: string | null = null
      for (const stage of quickestFirst(tests)) {
        const ms = durationOf(stage) + (is_static ? LOAD_MS : 0)
        journal({ id, file: path, limit_ms: EXTRA_MS + TIMES_MAX * ms })
        if (is_static) vi.resetModules()
        switches.activeMutant = id
        switches.hitCount = 0
        by = await this.runOnce(path, new Set(stage.map((test) => test.id)))
        switches.activeMutant = undefined
        if (by) break
      }
      if (is_static) vi.resetModules()
      if (by) noticed.add(id)
      journal({ id, file: path, by })
    }
    // What mutants left behind in the process must not have made its tests fail.
    const left = is_changed ? await this.runOnce(path, null) : null
    journal(left ? { file: path, unsound: left } : { file: path, done: true })
  }

  /** Runs the tests of a file that are chosen, or all, up to the first that fails; returns its name. */
  private async runOnce(path: string, chosen: ReadonlySet<string> | null): Promise<string | null> {
    const once = new OneRun(this.config)
    once.chosen = chosen
    // What vitest gave to this runner.
    for (const key of ['moduleRunner', '_otel'] as const) {
      Reflect.set(once, key, Reflect.get(this, key))
    }
    const [file] = await startTests([path], once)
    return file ? firstFailure(file) : 'its load'
  }
}

const noticed = new Set<string>()

/** One run of a file that vitest hears nothing of. */
class OneRun extends VitestTestRunner {
  chosen: ReadonlySet<string> | null = null

  /** Also a test file is loaded anew, as a setup file is. */
  override importFile(path: string): unknown {
    return super.importFile(path, 'setup')
  }

  onCollected(files: File[]): void {
    if (this.chosen) for (const file of files) choose(file, this.chosen)
  }

  override onAfterRunTask(test: Test): void {
    super.onAfterRunTask(test)
    if (test.result?.state === 'fail') this.cancel('test-failure')
  }
}

/** Divides tests by their duration: the quickest, then the others. */
function quickestFirst(tests: readonly Test[]): Test[][] {
  const sorted = tests.toSorted((a, b) => durationOf([a]) - durationOf([b]))
  let left_ms = durationOf(tests) * QUICK_PART
  const first = sorted.findIndex((test) => {
    left_ms -= durationOf([test])
    return left_ms < 0
  })
  return [sorted.slice(0, first), sorted.slice(first)].filter(({ length }) => length > 0)
}

function durationOf(tests: readonly Test[]): number {
  return tests.reduce((sum, { result }) => sum + (result?.duration ?? 0), 0)
}

/** The test and the suites around it, with the file. */
function withSuites(test: Test): Task[] {
  const all: Task[] = [test, test.file]
  for (let { suite } = test; suite; { suite } = suite) all.push(suite)
  return all
}

/** Skips the tests that are not chosen. Returns whether any is left. */
function choose(suite: Suite, chosen: ReadonlySet<string>): boolean {
  let is_used = false
  for (const task of suite.tasks) {
    const keeps = task.type === 'suite' ? choose(task, chosen) : chosen.has(task.id)
    if (!keeps) task.mode = 'skip'
    is_used ||= keeps
  }
  return is_used
}

function testsOf(suite: Suite): Test[] {
  return suite.tasks.flatMap((task) => (task.type === 'suite' ? testsOf(task) : [task]))
}

function firstFailure(task: Task): string | null {
  const children = task.type === 'suite' ? task.tasks : []
  for (const child of children) {
    const name = firstFailure(child)
    if (name) return name
  }
  return task.result?.state === 'fail' ? task.name : null
}
