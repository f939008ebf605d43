import { configDefaults, defineConfig, type TestProjectInlineConfiguration } from 'vitest/config'

// Packages export their TypeScript under the condition `source`, so tests need no build. Only that one
// condition is named: adding `import` makes CommonJS dependencies load their ESM halves and break.
const source = { ssr: { resolve: { conditions: ['source'] } }, resolve: { conditions: ['source'] } }

const FILES = ['packages/*/src/**/*.test.ts', 'packages/*/test/**/*.test.ts', 'test/**/*.test.ts']

/** Those that put another module in the place of one: whoever shared their process would get it too. */
const ALONE = ['packages/server/test/postgres/differential.test.ts']

function project(name: string, test: TestProjectInlineConfiguration['test']) {
  return { ...source, test: { name, testTimeout: 30_000, hookTimeout: 30_000, ...test } }
}

export default defineConfig({
  ...source,
  test: {
    reporters: ['default', './test/report-skipped.ts'],
    // One PostgreSQL for the whole run.
    globalSetup: ['packages/core/test/postgres-server.ts'],
    // vitest leaves one processor free, which on two halves the speed.
    maxWorkers: 2,
    projects: [
      // Loading the service anew for each of 300 files took a third of the time.
      project('shared', {
        include: FILES,
        exclude: [...configDefaults.exclude, ...ALONE],
        isolate: false,
        setupFiles: ['test/nothing-left-behind.ts'],
        // Where these are set, ink draws the last frame of a view alone; it looks once, when it is loaded.
        env: { CI: 'false', CONTINUOUS_INTEGRATION: 'false' },
      }),
      project('alone', { include: ALONE }),
    ],
  },
})
