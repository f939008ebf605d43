import { defineConfig } from 'tsup'
import { packageBuild } from '../../scripts/tsup.ts'

export default defineConfig(
  // The file a worker thread starts with: not an export, but loaded by its path.
  packageBuild({ entry: { 'dispatch/worker': './src/dispatch/worker.ts' } }),
)
