import { readdirSync, readFileSync } from 'node:fs'
import {
  configDefaults,
  defineConfig,
  type Plugin,
  type TestProjectInlineConfiguration,
  type ViteUserConfig,
} from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'
import { LEFT_OUT } from './test/all-cases.ts'

// Packages export their TypeScript under the condition `source`, so tests need no build, except those that start separate
// processes. Only that one condition is named: adding `import` makes CommonJS dependencies load their ESM halves and break.
const source = {
  ssr: { resolve: { conditions: ['source'] } },
  resolve: { conditions: ['source'] },
  plugins: [keysOfKept()],
} satisfies ViteUserConfig

const FILES = ['packages/*/src/**/*.test.ts', 'packages/*/test/**/*.test.ts', 'test/**/*.test.ts']

/** These replace modules, so no other file may share their process. */
const ALONE = [
  'packages/server/test/postgres/differential.test.ts',
  'packages/core/test/dispatch/pause-race.test.ts',
]

/** These need the longest. The last file of a run has the machine for itself, so they begin first. */
const LONGEST = [
  'core/test/postgres/month-detachment.test.ts',
  'test/simulate.test.ts',
  'core/test/storage.postgres.test.ts',
  'server/test/postgres/differential.test.ts',
  'test/interleave.test.ts',
  'test/docs/commands.test.ts',
  'core/test/postgres/partitions.test.ts',
  'test/slow-inputs.test.ts',
  'cli/test/doctor.test.ts',
  'test/power-cut.test.ts',
  'core/test/erasing/removing.test.ts',
  'test/crash-broadcast.test.ts',
  'core/test/storage.sqlite.test.ts',
  'test/failover.test.ts',
  'test/crash-replies.test.ts',
  'test/crash-postgres.test.ts',
  'cli/test/processes.test.ts',
  'server/test/fuzz.test.ts',
]

class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId }: TestSpecification) => {
      const found = LONGEST.findIndex((name) => moduleId.endsWith(name))
      return found === -1 ? LONGEST.length : found
    }
    return (await super.sort(files)).sort((a, b) => rank(a) - rank(b))
  }
}

function project(name: string, test: TestProjectInlineConfiguration['test']) {
  // They only end what hangs: on a machine that does other work, the longest test without a limit of its own took 39 s.
  const limits = {
    testTimeout: 180_000,
    hookTimeout: 180_000,
    expect: { poll: { timeout: 15_000 } },
  }
  // A third of the files waits most of its time: for databases that stand still, for peers, and for processes of their own.
  return { ...source, test: { name, maxWorkers: 5, ...limits, ...test } }
}

/**
 * A compiled module is kept for later runs under a key of its source and of these settings. Besides them, it depends on
 * TypeScript's options and on the files that the packages export.
 */
function keysOfKept(): Plugin {
  const folders = readdirSync('packages').map((name) => `packages/${name}/package.json`)
  const text = ['tsconfig.base.json', ...folders].map((file) => readFileSync(file, 'utf8')).join()
  const key = () => text
  return {
    name: 'keys of kept modules',
    configureVitest: (vitest) => vitest.experimental_defineCacheKeyGenerator(key),
  }
}

/** Loading the service again for each of 500 files took a third of the time, so they share their process. */
const SHARED: TestProjectInlineConfiguration['test'] = {
  isolate: false,
  setupFiles: ['test/nothing-left-behind.ts', 'packages/core/test/cheap-hashes.ts'],
  // If these are set, ink draws only the last frame of a view; it reads them once, at load.
  env: { CI: 'false', CONTINUOUS_INTEGRATION: 'false' },
}

export default defineConfig({
  ...source,
  test: {
    // To compile the modules took a third of the CPU of a run of one file. `vitest --clearCache` removes them.
    experimental: { fsModuleCache: true },
    reporters: ['default', './test/report-skipped.ts'],
    // Files in memory, and one PostgreSQL for the whole run.
    globalSetup: ['test/files-in-memory.ts', 'packages/core/test/postgres-server.ts'],
    sequence: { sequencer: LongestFirst },
    projects: [
      project('shared', {
        ...SHARED,
        include: FILES,
        exclude: [...configDefaults.exclude, ...LEFT_OUT, ...ALONE],
      }),
      project('alone', { include: ALONE, setupFiles: ['packages/core/test/cheap-hashes.ts'] }),
    ],
  },
})
