import { defineConfig } from 'tsup'
import { packageBuild } from '../../scripts/tsup.ts'

export default defineConfig(
  // The files that threads start with: not exports, but loaded by their paths.
  packageBuild({
    entry: {
      'dispatch/worker': './src/dispatch/worker.ts',
      'storage/sqlite/reader-worker': './src/storage/sqlite/reader-worker.ts',
    },
  }),
)
