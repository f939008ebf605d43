import { defineConfig } from 'tsup'
import { packageBuild } from '../../scripts/tsup.ts'

export default defineConfig(
  // The file that a thread starts with: not an export, but loaded by its path.
  packageBuild({ entry: { 'compat/smtp/mail-worker': './src/compat/smtp/mail-worker.ts' } }),
)
