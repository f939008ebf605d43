import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'
import type { Plan } from './run.ts'

const plan: Plan = JSON.parse(readFileSync(process.env.SVC_MUTANTS_PLAN as string, 'utf8'))

/** In the order of the plan. */
class QuickestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId }: TestSpecification) =>
      plan.tests.findIndex((test) => moduleId.includes(`/${test}`))
    return files.sort((a, b) => rank(a) - rank(b) || (a.moduleId < b.moduleId ? -1 : 1))
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
    include: plan.tests.map((test) => (test.endsWith('.ts') ? test : `${test}/**/*.test.ts`)),
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
    sequence: { sequencer: QuickestFirst },
    fileParallelism: false,
    testTimeout: 60_000,
    hookTimeout: 60_000,
    expect: { poll: { timeout: 15_000 } },
    dangerouslyIgnoreUnhandledErrors: true,
    silent: true,
  },
})
