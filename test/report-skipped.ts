import { relative } from 'node:path'
import type { Reporter, TestModule, Vitest } from 'vitest/node'
import { LEFT_OUT, NAMED } from './all-cases.ts'

/** Lists the skipped tests after the summary (their titles name what is missing), and the files that only a run of all cases includes. */
export default class ReportSkipped implements Reporter {
  #isFiltered = false

  onInit({ config }: Vitest): void {
    this.#isFiltered = config.testNamePattern !== undefined
  }

  onTestRunEnd(modules: readonly TestModule[]): void {
    // `-t` skips all tests that it does not match.
    if (this.#isFiltered) return
    const lines = modules.flatMap(({ moduleId, children }) =>
      [...children.allTests('skipped')].map(
        ({ fullName }) => `  ${relative('', moduleId)} > ${fullName}`,
      ),
    )
    if (lines.length > 0) console.log(['Skipped:', ...lines, ''].join('\n'))
    if (NAMED.length > 0 || LEFT_OUT.length === 0) return
    const files = LEFT_OUT.map((file) => `  ${file}`)
    console.log(['Only with SVC_TEST_CASES=all:', ...files, ''].join('\n'))
  }
}
