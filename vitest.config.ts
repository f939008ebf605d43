import { defineConfig } from 'vitest/config'

// Packages export their TypeScript under the condition `source`, so tests need no build. Only that one
// condition is named: adding `import` makes CommonJS dependencies load their ESM halves and break.
const source = { ssr: { resolve: { conditions: ['source'] } }, resolve: { conditions: ['source'] } }

export default defineConfig({
  ...source,
  test: {
    include: ['packages/*/src/**/*.test.ts', 'packages/*/test/**/*.test.ts', 'test/**/*.test.ts'],
    // One PostgreSQL for the whole run.
    globalSetup: ['packages/core/test/postgres-server.ts'],
    // vitest leaves one processor free, which on two halves the speed.
    maxWorkers: 2,
    testTimeout: 30_000,
    hookTimeout: 30_000,
  },
})
