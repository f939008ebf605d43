import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'
import type { Plan } from './run.ts'

const plan: Plan = JSON.parse(readFileSync(process.env.SVC_MUTANTS_PLAN as string, 'utf8'))

/** A mutant that a quick test notices needs no slow one. */
class UnitTestsFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId }: TestSpecification) => (moduleId.includes('/src/') ? 0 : 1)
    return (await super.sort(files)).sort((a, b) => rank(a) - rank(b))
  }
}

// Tests run from source as in the repository's own settings, but in one process, and load the sources with mutants.
export default defineConfig({
  ssr: { resolve: { conditions: ['source'] } },
  resolve: { conditions: ['source'] },
  plugins: [
    {
      name: 'mutants',
      enforce: 'pre',
      load: (id) => plan.texts[id.replace(/\?.*$/, '')],
    },
  ],
  test: {
    include: [...plan.tests],
    ...(plan.names ? { testNamePattern: new RegExp(plan.names) } : {}),
    exclude: ['**/node_modules/**', ...plan.done],
    runner: fileURLToPath(new URL('runner.ts', import.meta.url)),
    setupFiles: ['packages/core/test/cheap-hashes.ts'],
    provide: {
      postgresUrl: plan.postgres_url,
      postgresTemplate: `svc_template_${process.pid}`,
    },
    pool: 'forks',
    isolate: false,
    sequence: { sequencer: UnitTestsFirst },
    fileParallelism: false,
    testTimeout: 60_000,
    hookTimeout: 60_000,
    expect: { poll: { timeout: 15_000 } },
    dangerouslyIgnoreUnhandledErrors: true,
    silent: true,
  },
})
