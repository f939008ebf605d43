import { configDefaults, defineConfig, type TestProjectInlineConfiguration } from 'vitest/config'

// Packages export their TypeScript under the condition `source`, so tests need no build, except those that start separate
// processes. Only that one condition is named: adding `import` makes CommonJS dependencies load their ESM halves and break.
const source = { ssr: { resolve: { conditions: ['source'] } }, resolve: { conditions: ['source'] } }

const FILES = ['packages/*/src/**/*.test.ts', 'packages/*/test/**/*.test.ts', 'test/**/*.test.ts']

/** These replace modules, so no other file may share their process. */
const ALONE = ['packages/server/test/postgres/differential.test.ts']

function project(name: string, test: TestProjectInlineConfiguration['test']) {
  // The default of a poll, 1 s, is too short for a machine that does other work.
  const limits = { testTimeout: 60_000, hookTimeout: 60_000, expect: { poll: { timeout: 15_000 } } }
  return { ...source, test: { name, ...limits, ...test } }
}

export default defineConfig({
  ...source,
  test: {
    reporters: ['default', './test/report-skipped.ts'],
    // One PostgreSQL for the whole run.
    globalSetup: ['packages/core/test/postgres-server.ts'],
    // Tests wait for half of their time: on two processors three workers need 434 s, two need 595 s.
    maxWorkers: 3,
    projects: [
      // Loading the service again for each of 300 files took a third of the time.
      project('shared', {
        include: FILES,
        exclude: [...configDefaults.exclude, ...ALONE],
        isolate: false,
        setupFiles: ['test/nothing-left-behind.ts', 'packages/core/test/cheap-hashes.ts'],
        // If these are set, ink draws only the last frame of a view; it reads them once, at load.
        env: { CI: 'false', CONTINUOUS_INTEGRATION: 'false' },
      }),
      project('alone', { include: ALONE }),
    ],
  },
})
